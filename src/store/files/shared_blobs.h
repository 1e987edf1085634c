/* shared_blobs.h - blobs that many logs name, once per store: <dir>/blobs/<sha256>.
 *
 * System prompts and tool lists are the same in most conversations. A log names them by their hash,
 * and which logs name a blob is decided by reading the logs: there is no second list that could
 * disagree with them. A blob that was put stays until it is released, named or not, so that there
 * is time to append the event that names it.
 *
 * Collecting removes the blobs that no log names, in the store or its trash. It works for one
 * purge: what the purged log named is looked for in the others, until all of it was found. A mark
 * in the directory, a file collect_*, says that this is to be done; if the process ends before, the
 * next start collects everything.
 *
 * shared_take and shared_release are for the loop thread and never wait for a disk; the others are
 * for pool threads. */
#pragma once

#include "base/map.h"
#include "store/backend/file_store.h"

#define SHARED_KNOWN_MAX 4096 /* blobs that are remembered as whole; others are read again */

struct shared_blobs;

struct shared_blobs *shared_new(struct files *f);
void shared_free(struct shared_blobs *s);

/* Holds a blob that this process knows to be there; false: it has to be put. */
bool shared_take(struct shared_blobs *s, str sha256);
/* Writes the blob unless it is there and whole, and holds it. */
int shared_put(struct shared_blobs *s, struct arena *a, str bytes, str *ret_sha256, struct err *e);
void shared_release(struct shared_blobs *s, str sha256);
int shared_get(const struct shared_blobs *s, struct arena *a, str sha256, str *ret_bytes,
               struct err *e);

/* Around every job that copies or moves a log: a log that is in neither place would not be read. */
void shared_enter(struct shared_blobs *s);
void shared_leave(struct shared_blobs *s);

/* The blobs that purged logs name. All of these do nothing for a store without shared blobs. */
struct shared_purge {
    struct shared_blobs *shared; /* may be NULL */
    struct arena arena;
    struct map names;
    const char *mark; /* NULL: nothing is to be collected */
};

void shared_purge_init(struct shared_purge *p, struct shared_blobs *s);
void shared_purge_done(struct shared_purge *p);
/* Before: the logs that will be removed, then the mark. A log that cannot be read names nothing. */
void shared_purge_add(struct shared_purge *p, const char *log);
int shared_purge_begin(struct shared_purge *p);
/* After: removes the blobs that no other log names, then the mark. */
int shared_purge_end(struct shared_purge *p);

/* A purge was interrupted: all blobs that no log names are to be removed. */
bool shared_is_marked(const struct shared_blobs *s);
int shared_collect_all(struct shared_blobs *s);
