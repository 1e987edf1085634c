/* deltas.h - streamed text for watchers, a few pieces at a time.
 *
 * A frame costs each watcher a write, however little is in it, and models send many small
 * pieces. So the first piece goes out at once, and what follows within DELTAS_PACE_MS goes
 * out together. Nothing is reordered: a piece of another type first sends what waits, and
 * whoever publishes anything else calls deltas_flush before. Loop thread only. */
#pragma once

#include "base/buf.h"
#include "loop/timer.h"

#define DELTAS_PACE_MS   25
#define DELTAS_BYTES_MAX (64u * 1024) /* that wait; more goes out at once */

/* type: "text.delta", "reasoning.delta"; a literal. */
typedef void (*deltas_fn)(void *ctx, str type, str text);

struct deltas {
    struct timer pace; /* runs while pieces have to wait */
    struct buf waiting;
    str type; /* of what waits */
    deltas_fn publish;
    void *ctx;
};

void deltas_init(struct deltas *d, struct loop *l, deltas_fn publish, void *ctx);
void deltas_done(struct deltas *d); /* publishes nothing */

void deltas_add(struct deltas *d, str type, str text);
void deltas_flush(struct deltas *d);
