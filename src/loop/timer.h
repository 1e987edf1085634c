/* timer.h - one-shot timers in plain structs.
 *
 * All timers of a loop share one libuv timer under a heap, so starting and stopping are
 * synchronous: after timer_stop the callback is not called and the memory may be freed. Loop
 * thread only. Delays are capped at 2^53 ms, so that no overflow makes a timer fire early. */
#pragma once

#include "loop/loop.h"

struct timer {
    struct loop *loop;
    loop_fn fn;
    void *ctx;
    uint64_t due_ms;
    uint64_t seq;     /* equal times fire in the order they were started */
    size_t heap_slot; /* 1-based; 0 = not running */
};

void timer_init(struct timer *t, struct loop *l, loop_fn fn, void *ctx);
void timer_start(struct timer *t, uint64_t delay_ms); /* restarts a running one */
void timer_stop(struct timer *t);
static inline bool timer_active(const struct timer *t)
{
    return t->heap_slot != 0;
}
