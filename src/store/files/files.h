/* files.h - what the file stores share: logs on disk, their blobs, trash and caches.
 *
 * A layout (file_store.h) says where things are; the rest is the same for all. Private to store/.
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
