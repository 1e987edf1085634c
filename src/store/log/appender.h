/* appender.h - durable, ordered writes to many small logs.
 *
 * Every log has a queue of tasks. A pool thread takes all appends that wait for one log,
 * writes them with one writev and syncs once, so that many writers share the cost of a
 * sync; tasks of one log are done in the order they were submitted. All functions are for
 * the loop thread, `prepare` and `run` are called on a pool thread, `done` on the loop.
 *
 * Where syncs are frequent, all logs of a directory share one: what was appended to them goes
 * into a journal (journal.h), and they are synced themselves when it is full, when they are
 * idle or closed, and before anything but an append is done to them (commit.h).
 *
 * A log is opened by its first task, locked (flock) against other processes, repaired
 * (recover.h), kept open while it is in use and closed when idle. Failed writes are taken
 * back by cutting the log to its known length. A failed sync fails the log for good: the
 * kernel may have dropped the pages, so trying again could acknowledge what is lost. */
#pragma once

#include "loop/pool.h"
#include "store/event/io.h"

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
    const char *path;  /* the log's key */
    const void *owner; /* appender_release */
    enum log_sync sync;
    const char *journal_dir; /* where <path> lies and a journal may be kept; NULL = never */
};

enum log_task_kind {
    LOG_CREATE, /* makes the log with these lines; -EEXIST */
    LOG_APPEND, /* -ENOENT */
    LOG_RUN,    /* `run` alone with the log: deletes, renames */
};

/* Embedded in the caller's own struct, which lives until `done`. */
struct log_task {
    struct list_node node;
    enum log_task_kind kind;
    bool needs_lock; /* LOG_RUN: the log exists and nobody else may write it meanwhile */
    bool spares_log; /* LOG_RUN: works beside the log, which may stay open */
    str *lines;      /* each with its line feed; only read after prepare */
    size_t n;
    size_t bytes; /* about how much the lines hold, for the ceiling */
    /* Makes the final lines, on the pool thread, right before they are written. May be NULL. */
    int (*prepare)(struct log_task *t, const struct store_io *io);
    struct chain *chain; /* of the log, for `prepare` of an append */
    int (*run)(struct log_task *t, const struct store_io *io);
    void (*done)(struct log_task *t);

    /* the answer */
    uint64_t start; /* where the first line begins */
    struct err err;
};

struct appender_conf { /* 0 or NULL = the default */
    unsigned threads;
    const struct store_io *io;
    unsigned journal_after; /* syncs of the logs of one directory within APPENDER_INTERVAL_MS */
    size_t journal_bytes;   /* of each half */
};

#define APPENDER_JOURNAL_AFTER 64

struct appender *appender_new(struct loop *l, unsigned threads);
struct appender *appender_new_with(struct loop *l, const struct appender_conf *conf);
/* Nothing may be queued; closes what is still open. */
void appender_free(struct appender *a);
const struct store_io *appender_io(const struct appender *a);

void appender_submit(struct appender *a, const struct log_spec *spec, struct log_task *t);

/* The acknowledged length of a log that is open here: readers look no further. False when
 * it is not open. */
bool appender_end(const struct appender *a, const char *path, uint64_t *ret_end);

/* Closes and unlocks all logs of an owner, then calls done (never before returning). */
void appender_release(struct appender *a, const void *owner, loop_fn done, void *ctx);
