/* file_find.h - searches the text of files, with a full-text index that is made while searching.
 *
 * {cache_dir}/files.db has the tables of index.db (index_db.h). A row of `log` is a file: its id is
 * the SHA-256 of the bytes, so a row never becomes wrong. A row of `message` is a piece of a file,
 * about 4 KiB that end with a line. A search first adds the files that are missing in the index,
 * as far as its time allows, and then looks at the files that it may look at and at no others.
 * Without an index the files are read. Deleting the database loses nothing. */
#pragma once

#include "store/backend/file_store.h"

#define FILE_FIND_NAME "files.db" /* in the cache directory */

/* Work of a store_op with in.file_query; sets out.file_hits. Blocking. */
void file_find(struct store_op *op);
