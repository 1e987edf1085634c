/* pg_file_table.h - files of workspaces in the database (attach/file_table.h): nb_file (the bytes
 * of a file exist), nb_file_piece (the bytes, FILE_PIECE each), nb_file_giver (who gave them).
 *
 * The row in nb_file is the lock: storing and removing bytes begin with it. Pieces of
 * bytes that a conversation names, and that nobody gave lately, are removed, because nb_blob has
 * these bytes too. */
#pragma once

#include "attach/file_table.h"
#include "store/postgres/database.h"

#define FILE_PIECE (1024u * 1024) /* never changes: two versions of nb may store the same bytes */

struct pg_file_table {
    struct file_table table;
    struct database *db; /* borrowed; open when the table is used */
};

void pg_file_table_init(struct pg_file_table *t, struct database *db);
