/* deltas.h - batches streamed text for watchers.
 *
 * Every frame costs each watcher one write, however short it is, and models send many small
 * pieces. So the first piece is published immediately, and the pieces of the following
 * DELTAS_PACE_MS are published together. Nothing is reordered: a piece of another type flushes the
 * batch first, and code that publishes anything else calls deltas_flush before. Loop thread only.
 */
#pragma once

#include "base/buf.h"
#include "loop/timer.h"

#define DELTAS_PACE_MS   25
#define DELTAS_BYTES_MAX (64u * 1024) /* of a batch; a larger one is published immediately */

/* type: of vocabulary.h; never freed. */
typedef void (*deltas_fn)(void *ctx, str type, str text);

struct deltas {
    struct timer pace; /* runs while pieces are collected */
    struct buf waiting;
    str type; /* of the collected pieces */
    deltas_fn publish;
    void *ctx;
};

void deltas_init(struct deltas *d, struct loop *l, deltas_fn publish, void *ctx);
void deltas_done(struct deltas *d); /* publishes nothing */

void deltas_add(struct deltas *d, str type, str text);
void deltas_flush(struct deltas *d);
