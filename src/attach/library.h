/* library.h - the files of a workspace on disk. Blocking: pool threads.
 *
 *   <dir>/<first two digits>/<sha256>               the bytes
 *   <dir>/<first two digits>/<sha256>.<user>.json   who gave them: name, type, time
 *   <dir>/new_<random>                              an upload in progress
 *
 * Bytes are stored once, however often they are given. A conversation whose log names a file has a
 * hard link to its bytes among its blobs (store/event/blobs.h): the number of links of the bytes is
 * the number of references. Bytes without a reference go after LIBRARY_KEEP_MS, or when the last
 * person who gave them removes them. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define LIBRARY_KEEP_MS  (24 * 3600 * 1000LL)
#define LIBRARY_LIST_MAX 1000u
#define LIBRARY_ID_LEN   69u /* file_ and 64 digits */

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

/* Makes the complete and synced file `temp` a file of the library, given by this person. `temp` is
 * gone afterwards, also on failure. *ret_is_new: its bytes were not there before. */
int library_keep(struct arena *a, const char *dir, const char *temp, str user_id, str sha256,
                 const struct attached *what, bool *ret_is_new, struct err *e);
/* -ENOENT: this person has given no such file, or its bytes are gone. */
int library_find(struct arena *a, const char *dir, str user_id, str sha256, struct attached *ret,
                 struct err *e);
/* Newest first, at most LIBRARY_LIST_MAX. */
int library_list(struct arena *a, const char *dir, str user_id, struct attached **ret,
                 size_t *ret_n, struct err *e);
/* The bytes go too if nobody else has given them and no conversation names them. */
int library_remove(struct arena *a, const char *dir, str user_id, str sha256, uint64_t *ret_freed,
                   struct err *e);
/* Removes what nothing refers to any more; returns the bytes that are kept. */
uint64_t library_sweep(const char *dir, int64_t now_ms);
