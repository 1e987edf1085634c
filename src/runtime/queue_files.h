/* queue_files.h - files of queued messages, so that a restart does not lose them.
 *
 * One file per message, {dir}/<id>.json; or a document in the store, if several servers use that. A
 * pool thread makes the changes one after the other, in the order of the calls. Loop thread only.
 */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "base/log.h"
#include "loop/pool.h"
#include "store/store.h"

#define QUEUE_FILES_MAX 1000                /* restored at a start */
#define QUEUE_FILE_MAX  (16u * 1024 * 1024) /* a request of a megabyte, changed, all escaped */

struct queue_files {
    struct pool *pool;
    struct logger *log;
    char *dir;           /* NULL = not stored: changes succeed and do nothing */
    struct store *store; /* instead of dir; or NULL */
    struct list_node ops;
    bool is_busy; /* the first operation is in progress */
    loop_fn on_idle;
    void *ctx;
};

struct queue_file_op; /* a change that is not durable yet */
typedef void (*queue_files_fn)(void *ctx, const struct err *err); /* err: NULL when it is durable */

/* on_idle is called whenever the last operation is done. */
void queue_files_init(struct queue_files *p, struct pool *pool, struct logger *log, loop_fn on_idle,
                      void *ctx);
void queue_files_use(struct queue_files *p,
                     const char *dir); /* copied; created when first needed */
void queue_files_use_store(struct queue_files *p, struct store *s); /* instead; borrowed */
bool queue_files_is_idle(const struct queue_files *p);
bool queue_files_is_changing(const struct queue_files *p, str id); /* in the store */
void queue_files_done(struct queue_files *p);                      /* when idle */

/* Copied; fn may be NULL and is never called before these return. Removing a file that does not
 * exist succeeds. */
struct queue_file_op *queue_files_write(struct queue_files *p, str id, str text, queue_files_fn fn,
                                        void *ctx);
struct queue_file_op *queue_files_remove(struct queue_files *p, str id, queue_files_fn fn,
                                         void *ctx);
void queue_files_forget(struct queue_file_op *op); /* no callback; the change is still made */

/* Calls fn with the text of every file, in any order; blocking, for the start. */
typedef void (*queue_files_file_fn)(void *ctx, str path, str text);
void queue_files_load(struct queue_files *p, queue_files_file_fn fn, void *ctx);
