/* change_impl.h - a change of a bundle in progress. Private to change.c and configure.c.
 *
 * `write` runs on the pool and stores its failure in err. After success, `await` is called on the
 * loop every LOOK_MS with the present bundle (or NULL) until it finishes the op. */
#pragma once

#include "bundle/change.h"
#include "loop/timer.h"

struct bundle_change_op {
    struct list_node node;     /* in by->ops */
    struct bundle_changer *by; /* NULL after bundle_changer_done */
    struct arena arena;
    const char *settings_path;   /* a copy: the pool may use it after `by` has ended */
    const char *credentials_dir; /* or NULL */
    const struct json *entry;    /* for a bundle that is added */
    str name;
    str text;             /* bundle_change_text */
    bundle_changed_fn fn; /* NULL = cancelled, no callback */
    void *ctx;
    void (*write)(struct bundle_change_op *op);
    void (*written)(struct bundle_change_op *op); /* loop thread, before `await`; may finish it */
    void (*await)(struct bundle_change_op *op, struct bundle *b);
    void *state; /* for configure.c */
    struct err err;
    uint64_t until_ms;
    bool is_rollback, is_writing;
    struct deed *deed; /* NULL = not recorded */
    struct timer timer;
    struct job job;
};

struct bundle_change_op *bundle_change_new(struct bundle_changer *c, bundle_changed_fn fn,
                                           void *ctx);
/* Begins to write; with op->err it fails, in the next turn of the loop. */
void bundle_change_begin(struct bundle_change_op *op);
void bundle_change_wait(struct bundle_change_op *op); /* for the next call of await */
void bundle_change_finish(struct bundle_change_op *op, struct bundle *b);
