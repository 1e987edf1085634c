/* files.h - code that the file stores share: logs on disk, their blobs, trash and caches.
 *
 * A layout (file_store.h) defines the paths; everything else is the same for all. Private to
 * store/.
 */
#pragma once

#include "store/files/cache.h"

int files_open(struct store *s, const struct file_layout *layout, struct err *e);
void files_close(struct store *s);

void files_create(struct store_op *op);
void files_append(struct store_op *op);
void files_get(struct store_op *op);
void files_read(struct store_op *op);
int files_scan(struct store *s, str id, store_line_fn fn, void *ctx, struct err *e);
void files_put_blob(struct store_op *op);
int files_blob_fd(struct store *s, struct arena *a, str id, str sha256);
void files_get_blob(struct store_op *op);
bool files_take_shared(struct store_op *op);
void files_put_shared(struct store_op *op);
void files_get_shared(struct store_op *op);
void files_release_shared(struct store *s, str sha256);
void files_fork(struct store_op *op);

/* The parts of a fork; pool thread. fork_copy_lines writes line 1 and the lines of the source that
 * belong to the fork, in the layout and with the chain of op; fork_link_blobs hard-links all blobs.
 */
int fork_copy_lines(struct store_op *op, const struct store_io *io, int from, off_t limit, int to,
                    str header);
int fork_link_blobs(struct store_op *op, const struct store_io *io, const char *from,
                    const char *to);

/* Checks, spills and chains op->lines[from..] and stores the lines to write in op->task.lines. Pool
 * thread. */
int files_prepare(struct store_op *op, size_t from, const char *blob_dir, struct chain *chain);

/* Submits op->task for the log at op->path; `done` is called on the loop thread. */
void files_submit(struct store_op *op, enum log_task_kind kind, void (*done)(struct log_task *t));
struct store_op *files_op(struct log_task *t);
/* For `done`: ends the call; files_changed tells the index before. */
void files_done(struct log_task *t);
void files_changed(struct log_task *t);

/* Sets op->path and op->limit; false (and an error in op) when the log does not exist. */
bool files_locate(struct store_op *op, str id);

/* Calls fn for all lines of a log from `from` on, including a last line that only lacks its line
 * feed (if this process does not write the log). Blocking. Adds to *overlong the lines that are too
 * long to read. */
int files_each_line(const struct file_layout *layout, int fd, off_t from, off_t limit,
                    bool is_bounded, store_line_fn fn, void *ctx, int64_t *overlong);
