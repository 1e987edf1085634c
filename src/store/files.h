/* files.h - what the file stores share: logs on disk, their blobs, trash and caches.
 *
 * A layout says where things are; the rest is the same for all. Private to store/. */
#pragma once

#include "base/map.h"
#include "store/backend.h"
#include "store/cache.h"

struct files;
struct index;

struct file_layout {
    /* Path of the log of a conversation. Must not block; NULL when there is none (-ENOENT). */
    const char *(*path)(struct files *f, struct arena *a, str id);
    /* Directory of its blobs. */
    const char *(*blob_dir)(struct files *f, struct arena *a, str id);

    /* The rest may be NULL: lines on disk are events as they are. */

    /* The line on disk that stands for an event; both with their line feed. */
    str (*record)(struct files *f, struct arena *a, str id, str event);
    /* The event that a line on disk stands for: part of it, or in the arena. Pure. */
    str (*event)(struct arena *a, str line);
    /* With the lines of an append checked and not yet written. */
    int (*before_append)(struct files *f, struct store_op *op, struct err *e);
    /* The file of notes beside the log, which other programs write too, and the event of one of
     * its lines: empty when the line is not a note. Both or neither; as path and event. */
    const char *(*notes_path)(struct files *f, struct arena *a, str id);
    str (*note_event)(struct arena *a, str line);
    void (*closed)(struct files *f); /* frees `own` */
    bool is_journalled;              /* all logs lie in conf.dir as <id>.jsonl (journal.h) */
};

struct files { /* store.impl of a file store */
    struct store *store;
    const struct file_layout *layout;
    const struct store_io *io;
    struct cache cache;
    struct index *index; /* NULL: none, list and search read everything */
    void *own;           /* the layout's */
};

static inline str files_event(const struct file_layout *l, struct arena *a, str line)
{
    return l->event ? l->event(a, line) : line;
}

int files_open(struct store *s, const struct file_layout *layout, struct err *e);
void files_close(struct store *s);

void files_create(struct store_op *op);
void files_append(struct store_op *op);
void files_get(struct store_op *op);
void files_read(struct store_op *op);
int files_scan(struct store *s, str id, store_line_fn fn, void *ctx, struct err *e);
void files_put_blob(struct store_op *op);
void files_get_blob(struct store_op *op);
void files_fork(struct store_op *op);

/* What a fork is made of; pool thread. Writes line 1 and the lines of the source that belong
 * to the fork, as op's layout and chain want them; hard-links all blobs. */
int fork_copy_lines(struct store_op *op, const struct store_io *io, int from, off_t limit, int to,
                    str header);
int fork_link_blobs(struct store_op *op, const struct store_io *io, const char *from,
                    const char *to);

/* Checks, spills and seals op->lines[from..] and leaves what is to be written in t->lines.
 * Pool thread. */
int files_prepare(struct store_op *op, size_t from, const char *blob_dir, struct chain *chain);

/* Submits op->task for the log at op->path, with `done` on the loop thread. */
void files_submit(struct store_op *op, enum log_task_kind kind, void (*done)(struct log_task *t));
struct store_op *files_op(struct log_task *t);

/* Sets op->path and op->limit; false (and an error in op) when there is no such log. */
bool files_locate(struct store_op *op, str id);

/* All lines of a log from `from` on, the last one also when it only lacks its line feed
 * (if nobody here writes the log). Blocking. Adds to *overlong the lines that could not be
 * read for their length. */
int files_each_line(const struct file_layout *layout, int fd, off_t from, off_t limit,
                    bool is_bounded, store_line_fn fn, void *ctx, int64_t *overlong);

/* Opens a log for reading: an fd and its size, or -ENOENT, -EISDIR, ... with a message. */
int files_open_log(const char *path, uint64_t limit, off_t *ret_limit, struct err *e);
