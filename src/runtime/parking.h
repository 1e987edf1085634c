/* parking.h - files of messages that wait for their turn, so that they outlive the server.
 *
 * One file per message, {dir}/<id>.json. Changes are made one after the other, in the order
 * they were asked for, by a pool thread. Loop thread only. */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "base/log.h"
#include "loop/pool.h"

#define PARKING_FILES_MAX 1000                /* taken up again at a start */
#define PARKING_FILE_MAX  (16u * 1024 * 1024) /* a request of a megabyte, changed, all escaped */

struct parking {
    struct pool *pool;
    struct logger *log;
    char *dir; /* NULL = kept nowhere: changes succeed and do nothing */
    struct list_node ops;
    bool is_busy; /* with the first of them */
    loop_fn on_idle;
    void *ctx;
};

struct parking_op;                                            /* a change that is not durable yet */
typedef void (*parking_fn)(void *ctx, const struct err *err); /* err: NULL when it is */

/* on_idle is called whenever nothing is left to be done. */
void parking_init(struct parking *p, struct pool *pool, struct logger *log, loop_fn on_idle,
                  void *ctx);
void parking_use(struct parking *p, const char *dir); /* copied; made when first needed */
bool parking_is_idle(const struct parking *p);
void parking_done(struct parking *p); /* when idle */

/* Copied; fn may be NULL and is never called before they return. A file that is not there
 * counts as removed. */
struct parking_op *parking_write(struct parking *p, str id, str text, parking_fn fn, void *ctx);
struct parking_op *parking_remove(struct parking *p, str id, parking_fn fn, void *ctx);
void parking_forget(struct parking_op *op); /* it is still made, unheard */

/* Calls fn with the text of every file, in no order; blocking, for the start. */
typedef void (*parking_file_fn)(void *ctx, str path, str text);
void parking_load(struct parking *p, parking_file_fn fn, void *ctx);
