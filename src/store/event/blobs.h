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

#include "attach/file_place.h"
#include "base/arena.h"
#include "base/json/json.h"
#include "store/event/event.h"
#include "store/event/io.h"

#define BLOB_MAX_BYTES (256u * 1024 * 1024)

/* blobs_put keeps a blob of the same size, blobs_write replaces what is there. */
int blobs_put(struct arena *a, const struct store_io *io, const char *dir, str bytes,
              str *ret_sha256, struct err *e);
int blobs_write(struct arena *a, const struct store_io *io, const char *dir, str sha256, str bytes,
                struct err *e);
/* -ENOENT; -EIO when the content does not match its name. */
int blobs_get(struct arena *a, const char *dir, str sha256, str *ret_bytes, struct err *e);

/* Where the blobs of one conversation are: a directory (blob_dir), or a database. */
struct blob_place {
    int (*put)(const struct blob_place *p, struct arena *a, str bytes, str *ret_sha256,
               struct err *e);
    int (*get)(const struct blob_place *p, struct arena *a, str sha256, str *ret_bytes,
               struct err *e);
    /* At most `max` bytes of its beginning, and its size. STR_NONE: it is not there. */
    str (*begin)(const struct blob_place *p, struct arena *a, str sha256, size_t max,
                 uint64_t *ret_size);
    bool (*has)(const struct blob_place *p, struct arena *a, str sha256);
    /* Takes the file `from`, whose content has this hash. */
    int (*keep_file)(const struct blob_place *p, struct arena *a, const char *from, str sha256,
                     struct err *e);
};

struct blob_dir {
    struct blob_place place;
    const struct store_io *io; /* NULL: only for reading */
    const char *dir;
};
struct blob_dir blobs_in_dir(const struct store_io *io, const char *dir); /* borrows both */

/* Replaces *line (with its line feed) when it has a member to spill. */
int blobs_spill(struct arena *a, const struct blob_place *p, str *line, struct err *e);
/* The line (without line feed) with its values restored. A reference whose blob is missing or
 * damaged is kept. */
str blobs_restore(struct arena *a, const struct blob_place *p, str line);

/* ---- file_parts.c: files that a message names (parts of user.message with `file`), or that a tool
 * has made (`files` of tool.done) ----
 *
 * A part {"type", "file": "file_<sha256>", "name", "mimeType", "bytes"} never has the content
 * itself, and may have a "view" {"file", "mimeType", "bytes", ...}: the file as models get it
 * (media/media.h). Before the line is written, both get a hard link among the blobs of the
 * conversation: from then on the conversation has them, with the life, the forks and the trash of
 * its other blobs.
 *
 * Reads with store_range.with_files put the content into the part, from the view if there is one:
 * `data` (base64) for a picture, and for a PDF the PDF itself; `text` for a text. A text that is
 * too long has only its beginning there, and `shown`, the bytes of it. A file beyond the
 * ceilings of its message has no content there. */

#define FILE_TEXT_MAX     (256u * 1024) /* one text, whole */
#define FILE_TEXTS_MAX    (512u * 1024) /* all texts of a message */
#define FILE_BEGIN_BYTES  (16u * 1024)  /* of a text that is too long */
#define FILE_PICTURE_MAX  3750000u /* bytes: 5 MB as base64, which the strictest provider takes */
#define FILE_DOCUMENT_MAX (8u * 1024 * 1024) /* a larger one is sent as text */
/* All pictures and documents of a message. Providers take no request with more, and each of them is
 * in memory several times while the request is made. */
#define FILE_DATA_MAX (24u * 1024 * 1024)

/* The parts of an event that may name files; NULL: there are none. */
const struct json *file_parts_of(enum event_type type, const struct json *event);
/* Number i of 2 * parts->len: files and views in turn. False where there is none. */
bool file_parts_name(const struct json *parts, size_t i, str *ret_sha256);
struct json file_parts_make(struct arena *a, const struct attached *f);
/* A file that is not in `files` is left out: a log that comes from elsewhere names such. In a new
 * message it is -ESTALE: it was there when the message came. files->dir NULL: there are none. */
int file_parts_link(struct arena *a, const struct blob_place *p, const struct file_place *files,
                    str line, bool is_new, struct err *e);
str file_parts_restore(struct arena *a, const struct blob_place *p, str line);
/* The files that a line names, at most max; returns how many. Their strings live in the arena. */
size_t file_parts_read(struct arena *a, str line, struct attached *ret, size_t max);
