/* blobs.h - large values beside a log, named by their content: <dir>/<sha256>.
 *
 * A blob is written to a temporary file, synced, and renamed, so a file named by a sha256 is
 * complete and durable. An event is written only after the blobs that it names.
 *
 * Spilling. In a tool.done event, every member whose JSON text is larger than
 * STORE_SPILL_BYTES is replaced by {"$blob":"<sha256>","bytes":n,"preview":"...","parts":[...]},
 * where the blob holds exactly that JSON text and the parts say what is in it (parts.h). A member
 * that already looks like such a reference is spilled whatever its size, so that restoring is
 * exact. Streams and plain reads show the reference; store_range.with_blobs restores the value.
 * Pool threads. */
#pragma once

#include "base/arena.h"
#include "store/event/io.h"

#define BLOB_MAX_BYTES (256u * 1024 * 1024)

int blobs_put(struct arena *a, const struct store_io *io, const char *dir, str bytes,
              str *ret_sha256, struct err *e);
/* -ENOENT; -EIO when the content does not match its name. */
int blobs_get(struct arena *a, const char *dir, str sha256, str *ret_bytes, struct err *e);

/* Replaces *line (with its line feed) when it has a member to spill. */
int blobs_spill(struct arena *a, const struct store_io *io, const char *dir, str *line,
                struct err *e);
/* The line (without line feed) with its values restored. A reference whose blob is missing or
 * damaged is kept. */
str blobs_restore(struct arena *a, const char *dir, str line);

/* ---- file_parts.c: files that a message names, parts of user.message with `file` ----
 *
 * A part {"type", "file": "file_<sha256>", "name", "mimeType", "bytes"} never has the content
 * itself. Before the line is written, the file gets a hard link among the blobs of the
 * conversation: from then on the conversation has it, with the life, the forks and the trash of its
 * other blobs. Reads with store_range.with_files put the content into the part, as models get it:
 * `data` (base64) for a picture, `text` for a text, cut to FILE_TEXT_MAX. */

#define FILE_TEXT_MAX    (256u * 1024)
#define FILE_PICTURE_MAX 3750000u /* bytes; what providers take, before it becomes base64 */

/* A file that is not in files_dir is left out: a log that comes from elsewhere names such. */
int file_parts_link(struct arena *a, const struct store_io *io, const char *files_dir,
                    const char *blob_dir, str line, struct err *e);
str file_parts_restore(struct arena *a, const char *blob_dir, str line);
