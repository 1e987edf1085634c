/* appender_impl.h - the parts of the appender: queues (appender.c), the work of pool threads on
 * a log (log_work.c), and logs that share a sync (commit.c). Private to these files.
 *
 * Who may touch a struct log: the loop thread owns the queue, the lists and everything about
 * idleness. The fields under "worker" belong to the pool thread while is_busy is set, and to the
 * loop thread otherwise. The hand-over through the pool is the only synchronisation, so no
 * lock is needed. The loop thread therefore reads `end`, `is_open` and `has_failed`, which are
 * copies that log_finish takes from `file`, whenever a job may be running.
 *
 * Invariants between two callbacks of the loop:
 *   is_busy          exactly one job holds the log: its own, or that of its commit group
 *   batch not empty  implies is_busy
 *   ready linked     implies a task in the queue and not is_busy, except in commit_group.logs */
#pragma once

#include "base/map.h"
#include "loop/timer.h"
#include "store/integrity.h"
#include "store/log/appender.h"
#include "store/log/commit.h"
#include "store/log/log_file.h"

struct appender {
    struct loop *loop;
    struct pool *pool;
    struct appender_conf conf; /* defaults filled in */
    struct map logs;           /* path -> struct log */
    struct list_node lru;      /* least recently used first */
    struct list_node groups;   /* struct commit_group */
    struct list_node releases;
    struct list_node ready;         /* logs with tasks and without a job */
    struct deferred flush;          /* starts jobs after all tasks of this loop turn arrived */
    struct deferred check_releases; /* ends releases whose last job is done */
    struct timer tick;
};

enum log_step { STEP_WRITE, STEP_SYNC, STEP_CLOSE };

struct log {
    struct appender *appender;
    const void *owner;
    struct commit_group *group; /* NULL: synced separately, or not at all */
    unsigned halves;            /* bit n: half n of the journal holds unsynced lines of this log */
    struct list_node lru;
    struct list_node queue;
    struct list_node ready; /* in appender.ready or commit_group.waiting */
    size_t queued, queued_bytes;
    size_t queued_patient; /* tasks that may wait */
    uint64_t used_ms;
    bool is_busy; /* a job holds the log */
    uint64_t end; /* acknowledged length; valid while is_open, or once has_failed */
    bool is_open, has_failed;

    struct job job; /* worker */
    struct list_node batch;
    enum log_step step;
    struct log_file file;
    struct chain chain;     /* state after the last append */
    unsigned chain_opening; /* file.openings at that time; 0 = the chain must be read again */
};

/* ---- appender.c, on the loop thread ---- */

/* Moves the appends at the head of the queue, or one other task, into the batch. */
void log_take_batch(struct log *l);
void log_start(struct log *l, enum log_step step); /* submits a job for this log only */
/* After a job: updates the log, starts the next job, then calls `done` of the batch. May free
 * the log. */
void log_finish(struct log *l);

/* ---- log_work.c, on a pool thread ---- */

void log_work(struct log *l);

/* The two halves of an append. log_write_batch writes the lines of the batch to the log; false
 * when nothing was written, and then every task has its error. The lines become durable by
 * log_sync_batch, which syncs the log, or are already durable in a journal: log_mark_journaled. */
bool log_write_batch(struct log *l);
bool log_is_creation(const struct log *l); /* the batch creates the log */
bool log_create_batch(struct log *l);      /* as log_write_batch, for such a batch */
void log_sync_batch(struct log *l);
void log_mark_journaled(struct log *l);
