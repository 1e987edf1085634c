/* appender_impl.h - the parts of the appender: queues (appender.c), what pool threads do with
 * a log (log_work.c), and the logs that share a sync (commit.c). Private to them.
 *
 * Who may touch a struct log: the loop thread owns the queue and everything about idleness; the
 * fields under "worker" belong to the pool thread while is_busy, and to the loop thread
 * otherwise. The hand-over through the pool is the only synchronisation, so there is no lock. */
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
    struct appender_conf conf; /* nothing left to default */
    struct map logs;           /* path -> struct log */
    struct list_node lru;      /* least recently used first */
    struct list_node groups;   /* struct commit_group */
    struct list_node releases;
    struct list_node ready; /* logs with tasks and nobody at work on them */
    struct deferred flush;  /* starts them, once all of this turn's tasks are there */
    struct deferred settle; /* looks after releases */
    struct timer tick;
};

enum log_step { STEP_WRITE, STEP_SYNC, STEP_CLOSE };

struct log {
    struct appender *appender;
    const void *owner;
    struct commit_group *group; /* NULL: always synced by itself, or not at all */
    unsigned halves;            /* of the group's journal that hold what is dirty here; bits */
    struct list_node lru;
    struct list_node queue;
    struct list_node ready; /* in appender.ready or commit_group.waiting */
    size_t queued, queued_bytes;
    uint64_t used_ms;
    bool is_busy; /* a job is under way */
    uint64_t end; /* acknowledged length; valid while is_open, or once has_failed */
    bool is_open, has_failed;

    struct job job; /* worker */
    struct list_node batch;
    enum log_step step;
    struct log_file file;
    struct chain chain;     /* where the last append left it */
    unsigned chain_opening; /* the opening of the file that it belongs to; 0 = none */
};

/* ---- appender.c, on the loop thread ---- */

void log_take_batch(struct log *l); /* the appends at the head of the queue, or one other task */
void log_start(struct log *l, enum log_step step); /* a job of its own */
void log_finish(struct log *l); /* after a job: what was acknowledged, what comes next */

/* ---- log_work.c, on a pool thread ---- */

void log_work(struct log *l);

/* The appends of the batch, in parts. log_put writes them to the log; false when nothing was
 * written, and every task knows why. Then either log_settle, which syncs the log, or log_entrust,
 * when a journal has them. */
bool log_put(struct log *l);
void log_settle(struct log *l);
void log_entrust(struct log *l);
