/* pool.h - threads for what may block: fdatasync, SQLite, hashing, directory scans.
 *
 * A job is embedded in the caller's own struct. `work` runs on a pool thread and must touch
 * nothing but that struct; `done` then runs on the loop thread. Jobs start in the order
 * they were submitted. Threads are created on first need, up to the maximum; they have small
 * stacks (256 KiB) and block all signals. All functions here are for the loop thread. */
#pragma once

#include "loop/loop.h"

struct pool;

struct job {
    struct list_node node;       /* the pool's */
    void (*work)(struct job *j); /* pool thread */
    void (*done)(struct job *j); /* loop thread */
    struct pool *pool;           /* set by pool_submit */
};

struct pool *pool_new(struct loop *l, const char *name, unsigned max_threads);
void pool_submit(struct pool *p, struct job *j); /* j must stay until its `done` */
void pool_run(struct pool *p, struct job *j, void (*work)(struct job *j),
              void (*done)(struct job *j)); /* sets both, then pool_submit */
/* Runs the pool's threads at a low priority, so that long computations, such as password hashes,
 * do not delay the loop thread and other pools. Call it before the first job. */
void pool_give_way(struct pool *p);

/* Waits for all submitted jobs, delivers their `done`, ends the threads. May be called from
 * inside a `done`. Accepts NULL. */
void pool_free(struct pool *p);
