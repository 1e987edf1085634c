/* appender.h - durable, ordered writes to many small logs.
 *
 * Every log has a queue of tasks. A pool thread takes all appends that wait for one log,
 * writes them with one writev and syncs once, so that many writers share the cost of a
 * sync; tasks of one log finish in the order in which they were submitted. All functions are
 * for the loop thread, `prepare` and `run` are called on a pool thread, `done` on the loop.
 *
 * While syncs are frequent, all logs of a directory share one sync: the appended lines are also
 * written to a journal (journal.h), and only the journal is synced. The logs themselves are
 * synced when the journal is full, when they are idle or closed, and before any task that is
 * not an append (commit.h).
 *
 * The first task of a log opens the file, locks it (flock) against other processes and repairs
 * it (recover.h). The log stays open while it is in use and is closed when idle. A failed write
 * is undone by truncating the log to its last known length. A failed sync makes the log fail
 * permanently: the kernel may have dropped the pages, so that a later sync could report success
 * for data that is lost.
 *
 * The life of a log (struct log in appender_impl.h):
 *
 *               submit           on_flush: own job, or job of the group
 *     (absent) --------> READY ------------------------------> BUSY
 *                        ^   ^                                 |  |
 *                        |   +---- job done, tasks queued -----+  |
 *                        |                                        | job done, queue empty
 *                        +------ submit ------ OPEN <-------------+
 *                                               |
 *     (freed) <--- job done --- BUSY closing <--+  idle, evicted or released
 *
 * A log that failed permanently stays in the map after it is closed, so that later tasks get the
 * error instead of a second chance to write. Releasing its owner frees it; creating a new file
 * in its place clears the failure.
 *
 * Order of callbacks after a job: the log is updated first (its acknowledged end, its next job),
 * then `done` is called for each task of the batch in the order of submission. `done` may submit
 * again or release the owner. No `done` is called from inside appender_submit. */
#pragma once

#include "loop/pool.h"
#include "store/event/io.h"
#include "store/log/dir_changes.h"

struct chain; /* integrity.h */

struct appender;
struct log_task;

#define APPENDER_OPEN_MAX    256                 /* logs kept open and locked */
#define APPENDER_QUEUE_BYTES (64u * 1024 * 1024) /* waiting for one log */
#define APPENDER_BATCH_TASKS 1024                /* written and synced together */
#define APPENDER_IDLE_MS     30000
#define APPENDER_INTERVAL_MS 1000 /* between syncs of a log with LOG_SYNC_INTERVAL */

enum log_sync { LOG_SYNC_ALWAYS, LOG_SYNC_INTERVAL, LOG_SYNC_NEVER };

struct log_spec {
    const char *path;  /* the key of the log */
    const void *owner; /* for appender_release */
    enum log_sync sync;
    const char *journal_dir; /* the directory of <path>, if it may have a journal; NULL = none */
    struct dir_changes
        *changes; /* of that directory; outlives the logs of the owner. NULL = none */
};

enum log_task_kind {
    LOG_CREATE, /* creates the log with these lines; -EEXIST */
    LOG_APPEND, /* -ENOENT */
    LOG_RUN,    /* calls `run` while no other task uses the log: delete, rename */
};

/* Embedded in a struct of the caller, which must live until `done`. */
struct log_task {
    struct list_node node;
    enum log_task_kind kind;
    bool needs_lock; /* LOG_RUN: opens and locks the log first, so that no other process writes */
    bool spares_log; /* LOG_RUN: `run` does not touch the log file, which may stay open */
    bool may_wait;   /* LOG_APPEND: nobody waits for it, so it may wait for a sync to share */
    str *lines;      /* each with its line feed; read only after `prepare` */
    size_t n;
    size_t bytes; /* approximate size of the lines, for APPENDER_QUEUE_BYTES */
    /* Makes the final lines, on the pool thread, right before they are written. May be NULL. */
    int (*prepare)(struct log_task *t, const struct store_io *io);
    struct chain *chain; /* of the log, for `prepare` of an append */
    int (*run)(struct log_task *t, const struct store_io *io);
    void (*done)(struct log_task *t);

    /* the result */
    uint64_t start; /* offset of the first line in the log */
    dev_t dev;      /* LOG_CREATE: of the new log */
    ino_t ino;
    struct err err;
};

struct appender_conf { /* 0 or NULL = the default */
    unsigned threads;
    const struct store_io *io;
    unsigned journal_after; /* syncs in one directory within APPENDER_INTERVAL_MS that create a
                               journal */
    size_t journal_bytes;   /* of each half */
};

#define APPENDER_JOURNAL_AFTER 64

struct appender *appender_new(struct loop *l, unsigned threads);
struct appender *appender_new_with(struct loop *l, const struct appender_conf *conf);
/* No task may be queued. Closes the logs that are still open; blocking. */
void appender_free(struct appender *a);
const struct store_io *appender_io(const struct appender *a);

void appender_submit(struct appender *a, const struct log_spec *spec, struct log_task *t);

/* The acknowledged length of a log that is open here: readers must not read beyond it. False
 * when the log is not open. */
bool appender_end(const struct appender *a, const char *path, uint64_t *ret_end);

/* Closes and unlocks all logs of an owner, then calls done (never before returning). */
void appender_release(struct appender *a, const void *owner, loop_fn done, void *ctx);
