/* pool.h - threads for what may block: fdatasync, SQLite, hashing, directory scans.
 *
 * A job is embedded in the caller's own struct. `work` runs on a pool thread and must touch
 * nothing but that struct; `done` then runs on the loop thread. Jobs start in the order
 * they were submitted. Threads are created on first need, up to the maximum. */
#pragma once

#include "loop/loop.h"

struct pool;

struct job {
    struct list_node node;
    void (*work)(struct job *j); /* pool thread */
    void (*done)(struct job *j); /* loop thread */
    struct pool *pool;
};

struct pool *pool_new(struct loop *l, const char *name, unsigned max_threads);
void pool_submit(struct pool *p, struct job *j);
size_t pool_pending(const struct pool *p); /* submitted and not yet done */

/* Waits for all submitted jobs, delivers their `done`, ends the threads. Loop thread. */
void pool_free(struct pool *p);
