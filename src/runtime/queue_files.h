/* queue_files.h - files of messages that wait for their turn, so that they outlive the server.
 *
 * One file per message, {dir}/<id>.json. Changes are made one after the other, in the order
 * they were asked for, by a pool thread. Loop thread only. */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "base/log.h"
#include "loop/pool.h"

#define QUEUE_FILES_MAX 1000                /* taken up again at a start */
#define QUEUE_FILE_MAX  (16u * 1024 * 1024) /* a request of a megabyte, changed, all escaped */

struct queue_files {
    struct pool *pool;
    struct logger *log;
    char *dir; /* NULL = kept nowhere: changes succeed and do nothing */
    struct list_node ops;
    bool is_busy; /* with the first of them */
    loop_fn on_idle;
    void *ctx;
};

struct queue_file_op; /* a change that is not durable yet */
typedef void (*queue_files_fn)(void *ctx, const struct err *err); /* err: NULL when it is */

/* on_idle is called whenever nothing is left to be done. */
void queue_files_init(struct queue_files *p, struct pool *pool, struct logger *log, loop_fn on_idle,
                      void *ctx);
void queue_files_use(struct queue_files *p, const char *dir); /* copied; made when first needed */
bool queue_files_is_idle(const struct queue_files *p);
void queue_files_done(struct queue_files *p); /* when idle */

/* Copied; fn may be NULL and is never called before they return. A file that is not there
 * counts as removed. */
struct queue_file_op *queue_files_write(struct queue_files *p, str id, str text, queue_files_fn fn,
                                        void *ctx);
struct queue_file_op *queue_files_remove(struct queue_files *p, str id, queue_files_fn fn,
                                         void *ctx);
void queue_files_forget(struct queue_file_op *op); /* it is still made, unheard */

/* Calls fn with the text of every file, in no order; blocking, for the start. */
typedef void (*queue_files_file_fn)(void *ctx, str path, str text);
void queue_files_load(struct queue_files *p, queue_files_file_fn fn, void *ctx);
