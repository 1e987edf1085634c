/* commit.h - the logs of one directory that share a sync, and the journal they share it through.
 *
 * A group counts the appends that could share a sync. When such appends are frequent, it creates a
 * journal. From then on the appends of one loop turn to all its logs are one job: each log is
 * written, one batch of the journal is synced, all appends are acknowledged. When such appends are
 * rare again, the logs are synced and the journal is removed, so that a quiet directory holds only
 * logs. An append that does not fit into the journal, or that the journal fails to store, is
 * synced in its own log.
 *
 *                journal_after syncs              on_journal_opened
 *     DIRECT ------------------------> OPENING ---------------------> SHARED
 *       ^ ^                               |                             |
 *       | +---------- failed -------------+      quiet, owner released, |
 *       |                                        or a batch failed      v
 *       +------- REMOVING <------ all logs synced ------------------ ENDING
 *
 *     SHARED, ENDING --- a log cannot be synced ---> KEPT   (until the owner is released)
 *
 * Who may touch what: the loop thread changes `state`, `waiting`, `dirty` and log.halves. While
 * is_busy is set, one job of the group uses `journal`, `err` and the logs in `logs`, each of which
 * is busy as well. The loop thread switches journal halves only between two jobs.
 *
 * An append that nobody waits for (log_task.may_wait, such as a title) starts no shared job: it is
 * written with the next one, or after COMMIT_WAIT_MS. Without a journal nothing waits.
 *
 * Order in a shared job (commit.c share_batch, then on_batch_shared): write every log; sync the
 * journal; on failure sync each log instead; on the loop thread mark the halves, change the state
 * of the group, and only then call log_finish for each log, which calls the callbacks.
 *
 * A new log is written and linked without a sync; a record that begins at offset 0 says that it was
 * created, and replay creates it again if its entry in the directory was lost. Replay cannot know
 * that a log was deleted since then. So a log that the journal has created is moved or deleted only
 * after the journal has ended: the task waits in `waiting`, and the group ends its journal.
 *
 * A half of the journal may be overwritten only when dirty[half] is 0: each log with lines in that
 * half has been synced. Private to the appender; loop thread. */
#pragma once

#include "base/map.h"
#include "loop/pool.h"
#include "loop/timer.h"
#include "store/log/journal.h"
#include "store/log/log_file.h"

#define COMMIT_LOG_BYTES (8u * 1024) /* of one log in a batch; more is synced in the log itself */
#define COMMIT_LOGS      256         /* in one batch */
#define COMMIT_QUIET     8           /* a tick with fewer commits is quiet */
#define COMMIT_QUIET_FOR 3           /* quiet ticks until the journal is removed */
#define COMMIT_WAIT_MS   100         /* of appends that may wait */
#define COMMIT_REST_MS   10000       /* without use, until a log in the journal is synced */
#define COMMIT_RETRY_MS  60000       /* from a failure to the next journal */

struct appender;
struct dir_changes;
struct log;
struct log_spec;

enum commit_state {
    COMMIT_DIRECT,   /* no journal; each log is synced separately */
    COMMIT_OPENING,  /* a job creates the journal; appends are still direct */
    COMMIT_SHARED,   /* small appends are written to the journal */
    COMMIT_ENDING,   /* logs in the journal are being synced; appends are direct */
    COMMIT_REMOVING, /* a job deletes the journal */
    COMMIT_KEPT,     /* a log could not be synced: the journal stays for the next start */
};

struct commit_group {
    struct list_node node; /* in appender.groups */
    struct appender *appender;
    const void *owner;
    char *dir;
    struct dir_changes *changes; /* of dir: the directory of the journal comes and goes */
    enum commit_state state;
    bool is_busy;
    struct list_node waiting; /* logs for the next commit */
    struct timer wait;        /* runs while all of those may wait */
    unsigned syncs;           /* since the last tick: shared jobs, or syncs that could be shared */
    unsigned quiet;           /* quiet ticks in a row */
    uint64_t not_before_ms;   /* no new journal before this time */
    size_t dirty[2];          /* logs with unsynced lines in each half */
    struct map created;       /* names of logs -> bits of the halves that say they were created */
    int old_half;             /* its records are valid until the first batch is in it; -1 = none */
    bool has_leftover;        /* a journal could not be removed: the next start replays it */
    struct new_entries entries;

    struct job job;        /* worker */
    struct list_node logs; /* of the batch under way */
    struct journal journal;
    struct err err;
};

/* The group of an owner's logs in spec->journal_dir; created when there is none. */
struct commit_group *commit_group_for(struct appender *a, const struct log_spec *spec);

/* Queues a log with tasks for the next shared sync, or until its journal has ended; false when the
 * log must be synced separately. A log that could share, but whose group has no journal, is
 * counted. */
bool commit_try_share(struct log *l);
/* The journal that says that this log was created stays for the next start, which would create it
 * again: the log must not be moved or deleted. */
bool commit_refuses(const struct log *l, struct err *e);
void commit_flush(struct appender *a); /* starts a job for the queued logs of each group */

/* After every job of a log: true when the group needs the log synced and has started that job. */
bool commit_after_job(struct log *l);
void commit_forget(struct log *l); /* the log is closed and about to be freed */

bool commit_tick(struct appender *a); /* false: no journal needs another tick */
/* Frees the groups of an owner whose logs are closed. False: call again when a job is done. */
bool commit_release(struct appender *a, const void *owner);
void commit_free(struct commit_group *g); /* blocking; no job may be under way */
