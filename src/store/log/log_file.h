/* log_file.h - one log open for writing: its lock, its length, its failure.
 *
 * Used by the appender; one thread at a time. Error messages name the file and what to do.
 * Information for the operator (an incomplete last line, a replaced file) is stored in `notice`,
 * and log_file_report logs it on the loop thread.
 *
 *     closed --open/create--> open --write--> unsynced > 0 --sync-----------> clean
 *                                                         --mark_journaled--> is_dirty
 *     is_dirty --flush, close--> clean, or (sync fails) is_lost and failure set permanently
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "store/event/io.h"

/* The entries of new logs in one directory: one sync of the directory serves all that were made
 * before it. Any thread. */
struct new_entries {
    pthread_mutex_t syncing;
    _Atomic uint64_t made, synced; /* so far */
};

void new_entries_init(struct new_entries *n);
void new_entries_done(struct new_entries *n);

struct log_file {
    const struct store_io *io;
    char *path;
    struct new_entries *entries; /* of its directory; NULL: every creation is synced immediately */
    uint64_t entry;    /* number of its unsynced entry in the directory; 0 = it is synced */
    int fd;            /* -1 = closed */
    unsigned openings; /* counter: distinguishes this opening from earlier ones */
    dev_t dev;
    ino_t ino;
    off_t length;   /* acknowledged: all bytes before it were written completely */
    off_t unsynced; /* bytes behind `length` from log_file_write, not yet synced or journaled */
    bool syncs, syncs_later;
    bool is_anchored; /* synced since it was opened or truncated: records of a journal may follow */
    bool is_dirty;    /* acknowledged bytes are not synced: syncs_later, or a journal has them */
    bool is_lost;     /* a sync failed: another sync cannot make the dirty bytes durable */
    struct err failure; /* set = failed permanently */
    struct err notice;
};

void log_file_init(struct log_file *f, const struct store_io *io, const char *path, bool syncs);
void log_file_done(struct log_file *f); /* the file must be closed */

/* Creates the log with all lines or not at all: a temporary file is written and synced, then
 * linked to the path. Leaves the log open. -EEXIST. */
int log_file_create(struct log_file *f, const str *lines, size_t n, struct err *e);
/* The same without a sync: the lines are unsynced, as after log_file_write, and so is the entry in
 * the directory. A creation that can then neither be journaled nor synced is undone. */
int log_file_create_unsynced(struct log_file *f, const str *lines, size_t n, struct err *e);
void log_file_undo_creation(struct log_file *f);

/* Opens and repairs the log. If it is already open, checks that the path still names that file.
 * -ENOENT, -EBUSY when another process has locked it, or the permanent failure. */
int log_file_open(struct log_file *f, struct err *e);

/* Writes all bytes, or undoes the write. The bytes are acknowledged by log_file_sync or
 * log_file_mark_journaled. */
int log_file_write(struct log_file *f, struct iovec *iov, size_t n, struct err *e);
int log_file_sync(struct log_file *f, struct err *e); /* syncs only if `syncs` is set */
void log_file_mark_journaled(struct log_file *f);     /* a journal holds the bytes durably */
void log_file_flush(struct log_file *f);              /* syncs if is_dirty */
void log_file_close(struct log_file *f);              /* flushes first */

static inline bool log_file_is_open(const struct log_file *f)
{
    return f->fd >= 0;
}
static inline bool log_file_failed(const struct log_file *f)
{
    return f->failure.code != 0;
}
static inline bool log_file_needs_sync(const struct log_file *f)
{
    return f->is_dirty && !f->is_lost;
}
/* The id of the process that holds the lock of the log at fd; 0 when there is none or it is not
 * known. */
int log_file_writer(int fd);
void log_file_report(struct log_file *f, struct logger *log);
