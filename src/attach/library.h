/* library.h - the files of a workspace on disk. Blocking: pool threads.
 *
 *   <dir>/<first two digits>/<sha256>               the bytes
 *   <dir>/<first two digits>/<sha256>.<user>.json   who gave them: name, type, time
 *   <dir>/<first two digits>/<sha256>.thumb         a small version of a picture or a PDF
 *   <dir>/<first two digits>/<sha256>.page-<n>-<s>  page n of a PDF, s pixels on its longer side
 *   <dir>/new_<random>                              an upload in progress
 *   <dir>/part_<random>                             one that comes in several requests (partial.h)
 *
 * Bytes are stored once, however often they are given. A conversation whose log names a file has a
 * hard link to its bytes among its blobs (store/event/blobs.h): the number of links of the bytes is
 * the number of references.
 *
 * Bytes without a reference stay for LIBRARY_KEEP_MS after each person who gave them did so (the
 * time of the description), or until the last of these removes them. A person who sends them in a
 * message gives up that time: then they go with the last conversation that has them. Bytes that nb
 * made have a time of their own. A project that has bytes is one who gave them, too, by its id; it
 * keeps them until it removes them. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define LIBRARY_KEEP_MS  (24 * 3600 * 1000LL)
#define LIBRARY_PAGES_MS (3600 * 1000LL) /* a picture of a page that nobody looks at */
#define LIBRARY_LIST_MAX 1000u
#define FILE_URI         "nb://files/" /* and the id: a file as a resource of MCP */

/* A file that a person has given. */
struct attached {
    str id, name, mime;
    uint64_t bytes;
    uint32_t width, height; /* of a picture, in pixels; 0 = unknown */
    int64_t at_ms;
};

/* file_<sha256>; false when it is not. */
bool library_id_sha(str id, str *ret_sha256);
str library_id(struct arena *a, str sha256);

const char *library_path(struct arena *a, const char *dir, str sha256);

/* A message of this person names the bytes, which have no time of grace any more from this person.
 * Empty: a tool's result names them, made in the name of a person that it does not name; this is
 * the one who gave them, or unknown when several have. */
void library_mark_named(struct arena *a, const char *dir, str sha256, str user_id);

/* Makes the complete and synced file `temp` a file of the library, given by this person. `temp` is
 * gone afterwards, also on failure. *ret_is_new: its bytes were not there before. */
int library_keep(struct arena *a, const char *dir, const char *temp, str user_id, str sha256,
                 const struct attached *what, bool *ret_is_new, struct err *e);
/* Bytes that nb made of a file (media/media.h): nobody has given them, so they stay only while a
 * conversation names them, and for LIBRARY_KEEP_MS. */
int library_add(struct arena *a, const char *dir, str bytes, str *ret_sha256, bool *ret_is_new,
                struct err *e);
/* A copy of bytes that are kept elsewhere (file_place.h): nobody is said to have given them. `temp`
 * is gone afterwards. */
int library_copy(struct arena *a, const char *dir, const char *temp, str sha256, uint64_t bytes,
                 struct err *e);
void library_drop_copy(struct arena *a, const char *dir, str sha256);
const char *library_thumb_path(struct arena *a, const char *dir, str sha256);
const char *library_page_path(struct arena *a, const char *dir, str sha256, uint32_t page,
                              uint32_t side);
/* -ENOENT: this person has given no such file, or its bytes are gone. Bytes that no conversation
 * has are kept for LIBRARY_KEEP_MS from now on, because somebody is about to use them. */
int library_find(struct arena *a, const char *dir, str user_id, str sha256, struct attached *ret,
                 struct err *e);
/* Newest first, at most LIBRARY_LIST_MAX. */
int library_list(struct arena *a, const char *dir, str user_id, struct attached **ret,
                 size_t *ret_n, struct err *e);
/* The bytes go too if nobody else has given them and no conversation names them. */
int library_remove(struct arena *a, const char *dir, str user_id, str sha256, uint64_t *ret_freed,
                   struct err *e);
/* A file of one who gave it becomes one of another, too. */
int library_share(struct arena *a, const char *dir, str from_id, str sha256, str to_id,
                  struct attached *ret, struct err *e);
/* One that keeps bytes without a limit of time: a project. */
bool library_is_keeper(str giver_id);
/* A person or a project. */
bool library_giver_ok(str giver_id);
/* Removes what nothing refers to any more, and pictures of pages that are old. */
struct library_size {
    uint64_t bytes; /* of files that are kept */
    uint64_t pages; /* of pictures of pages */
} library_sweep(const char *dir, int64_t now_ms);
