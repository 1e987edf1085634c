/* log_file.h - one log open for writing: its lock, its length, its failure.
 *
 * Used by the appender; one thread at a time. Messages name the file and what to do. What
 * an operator should know (a torn tail, a lost file) gathers in `notice`, and is logged by
 * log_file_report on the loop thread. */
#pragma once

#include "base/log.h"
#include "store/event/io.h"

struct log_file {
    const struct store_io *io;
    char *path;
    int fd;            /* -1 = closed */
    unsigned openings; /* how often; tells this opening from an earlier one */
    dev_t dev;
    ino_t ino;
    off_t length;   /* known good: everything before it was written whole */
    off_t unsynced; /* written and not yet synced, by log_file_write */
    bool syncs, syncs_later;
    bool is_anchored;   /* was synced since it was opened or cut: a journal may go on from there */
    bool is_dirty;      /* written and not synced: with syncs_later, or entrusted to a journal */
    bool is_lost;       /* a sync failed: what is dirty gets no safer by another one */
    struct err failure; /* set = failed for good */
    struct err notice;
};

void log_file_init(struct log_file *f, const struct store_io *io, const char *path, bool syncs);
void log_file_done(struct log_file *f); /* the file must be closed */

/* Makes the log whole or not at all: lines are written and synced under another name, which
 * is then linked to its place. Leaves it open. -EEXIST. */
int log_file_create(struct log_file *f, const str *lines, size_t n, struct err *e);

/* Opens and repairs, or makes sure that what is open is still the file at that path.
 * -ENOENT, -EBUSY when another process has it, or the failure. */
int log_file_open(struct log_file *f, struct err *e);

/* Writes, or takes everything back. What was written is durable once it is synced or marked as
 * journaled. */
int log_file_write(struct log_file *f, struct iovec *iov, size_t n, struct err *e);
int log_file_sync(struct log_file *f, struct err *e); /* syncs if this log does */
void log_file_mark_journaled(struct log_file *f);     /* a journal has it, safe on disk */
void log_file_flush(struct log_file *f);              /* what is dirty */
void log_file_close(struct log_file *f);              /* syncs first */

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
/* The process that has the log at fd open for writing; 0 when there is none or it is unknown. */
int log_file_writer(int fd);
void log_file_report(struct log_file *f, struct logger *log);
