/* file_parts.h - files that a message names: parts of user.message with `file`.
 *
 * A part {"type", "file": "file_<sha256>", "name", "mimeType", "bytes"} never has the content
 * itself. Before the line is written, the file gets a hard link among the blobs of the
 * conversation: from then on the conversation has it, with the life, the forks and the trash of its
 * other blobs. Reads with store_range.with_files put the content into the part, as models get it:
 * `data` (base64) for a picture, `text` for a text, cut to FILE_TEXT_MAX. Pool threads. */
#pragma once

#include "base/arena.h"
#include "store/event/io.h"

#define FILE_TEXT_MAX    (256u * 1024)
#define FILE_PICTURE_MAX 3750000u /* bytes; what providers take, before it becomes base64 */

/* A file that is not in files_dir is left out: a log that comes from elsewhere names such. */
int file_parts_link(struct arena *a, const struct store_io *io, const char *files_dir,
                    const char *blob_dir, str line, struct err *e);
str file_parts_restore(struct arena *a, const char *blob_dir, str line);
