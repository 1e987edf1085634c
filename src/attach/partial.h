/* partial.h - a file that comes in several requests, on disk until it is complete. Blocking: pool
 * threads.
 *
 *   <dir>/part_<random>        the bytes so far; their number is the offset of the next ones
 *   <dir>/part_<random>.json   who sends it, its name, how large it will be
 *
 * Nothing is kept in memory, so an upload outlives the server. The one who writes, or removes,
 * holds a lock on the bytes (os/lock.h): there is never a second writer. One that gets no byte for
 * PARTIAL_KEEP_MS is gone. A person has at most PARTIAL_MAX of them: a further one takes the place
 * of the one that was left alone the longest. */
#pragma once

#include "attach/library.h"

#define PARTIAL_MAX     8u
#define PARTIAL_KEEP_MS (24 * 3600 * 1000LL)

struct partial {
    str id, name;
    uint64_t bytes;  /* when it is complete */
    uint64_t offset; /* bytes that are there */
    int64_t expires_ms;
};

/* *ret_freed: bytes that were reserved for uploads which had to go. -EUSERS: all that this person
 * has are being written. */
int partial_make(struct arena *a, const char *dir, str user_id, str name, uint64_t bytes,
                 struct partial *ret, uint64_t *ret_freed, struct err *e);
/* -ENOENT: it does not exist, has expired, or is somebody else's. */
int partial_find(struct arena *a, const char *dir, str user_id, str id, struct partial *ret,
                 struct err *e);
/* For writing behind `offset`; lock_close(*ret_fd) ends it. -ENOENT as above; -EBUSY: somebody
 * writes; -ESTALE: the offset is not that of the upload. */
int partial_open(struct arena *a, const char *dir, str user_id, str id, uint64_t offset,
                 struct partial *ret, int *ret_fd, struct err *e);
const char *partial_path(struct arena *a, const char *dir, str id);
/* The bytes have become a file of the library, or are gone: forgets the rest. */
void partial_forget(struct arena *a, const char *dir, str id);
/* *ret_freed as above. -ENOENT, -EBUSY. */
int partial_remove(struct arena *a, const char *dir, str user_id, str id, uint64_t *ret_freed,
                   struct err *e);
/* Removes what has expired; returns the bytes that are reserved for the rest. */
uint64_t partial_sweep(const char *dir, int64_t now_ms);
