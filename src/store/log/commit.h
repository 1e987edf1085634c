/* commit.h - the logs of one directory that share a sync, and the journal they share it through.
 *
 * A group counts what could be shared. When that is frequent it has a journal made, and from
 * then on a turn's appends to all its logs are one job: each log is written, one batch of the
 * journal is synced, all are acknowledged. When they are rare again the logs are synced and the
 * journal is removed, so that a quiet directory holds nothing but logs. What does not fit, or the
 * journal cannot take, is synced by itself. Private to the appender; loop thread. */
#pragma once

#include "loop/pool.h"
#include "store/log/journal.h"

#define COMMIT_LOG_BYTES (8u * 1024) /* of one log; more is worth a sync, less is not worth one */
#define COMMIT_LOGS      256
#define COMMIT_QUIET     8     /* commits within a tick; fewer are rare */
#define COMMIT_QUIET_FOR 3     /* ticks until the journal goes */
#define COMMIT_RETRY_MS  60000 /* after a failure there is no journal for so long */

struct appender;
struct log;

enum commit_state {
    COMMIT_DIRECT,   /* no journal */
    COMMIT_OPENING,  /* it is being made; direct meanwhile */
    COMMIT_SHARED,   /* appends go into it */
    COMMIT_ENDING,   /* its logs are being synced; then it is removed */
    COMMIT_REMOVING, /* as it says */
    COMMIT_KEPT,     /* a log could not be synced: the journal stays for the next start */
};

struct commit_group {
    struct list_node node; /* in appender.groups */
    struct appender *appender;
    const void *owner;
    char *dir;
    enum commit_state state;
    bool is_busy;
    struct list_node waiting; /* logs for the next commit */
    unsigned syncs;           /* that could be shared, or commits; since the last tick */
    unsigned quiet;           /* ticks */
    uint64_t not_before_ms;
    size_t dirty[2]; /* logs with something unsynced in each half */

    struct job job; /* worker */
    struct list_node logs;
    struct journal journal;
    struct err err;
};

/* The group of an owner's logs in `dir`; made when there is none. */
struct commit_group *commit_group_for(struct appender *a, const void *owner, const char *dir);

/* Takes a log that has something to do, if it may share a sync; counts it if it might have. */
bool commit_takes(struct log *l);
void commit_flush(struct appender *a); /* starts what was taken */

/* After every job of a log: true when its group has to have it synced first, and started that. */
bool commit_after(struct log *l);
void commit_forget(struct log *l); /* it is closed and goes */

bool commit_tick(struct appender *a); /* false: there is no journal that needs another tick */
/* Ends the groups of an owner, whose logs are closed. False: come again when a job is done. */
bool commit_release(struct appender *a, const void *owner);
void commit_free(struct commit_group *g); /* blocking; no job is under way */
