/* change_impl.h - a change of a bundle under way. Private to change.c and configure.c.
 *
 * `write` runs on the pool and leaves its failure in err. When it has succeeded, `await` is called
 * on the loop every LOOK_MS with the bundle as it is then (or NULL) until it finishes the op. */
#pragma once

#include "bundle/change.h"
#include "loop/timer.h"

struct bundle_change_op {
    struct list_node node;     /* in by->ops */
    struct bundle_changer *by; /* NULL once it is done with */
    struct arena arena;
    const char *settings_path;   /* its own: the pool may be at it when by has gone */
    const char *credentials_dir; /* or NULL */
    const struct json *entry;    /* of a bundle that is added */
    str name;
    str text;             /* bundle_change_text */
    bundle_changed_fn fn; /* NULL = nobody listens any more */
    void *ctx;
    void (*write)(struct bundle_change_op *op);
    void (*written)(struct bundle_change_op *op); /* loop thread, before `await`; may finish it */
    void (*await)(struct bundle_change_op *op, struct bundle *b);
    void *state; /* of configure.c */
    struct err err;
    uint64_t until_ms;
    bool is_rollback, is_writing;
    struct deed *deed; /* NULL = not recorded */
    struct timer timer;
    struct job job;
};

struct bundle_change_op *bundle_change_new(struct bundle_changer *c, bundle_changed_fn fn,
                                           void *ctx);
void bundle_change_write(struct bundle_change_op *op);
void bundle_change_wait(struct bundle_change_op *op); /* for the next look */
/* With op->err; in a turn of its own. */
void bundle_change_fail_later(struct bundle_change_op *op);
void bundle_change_finish(struct bundle_change_op *op, struct bundle *b);
