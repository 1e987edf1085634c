#include "loop/timer.h"

#include <assert.h>
#include <stdlib.h>

#include "loop/internal.h"

/* The alarm is set once per turn, just before the loop sleeps (timers_arm), not by start and
 * stop: libuv runs a timer that is restarted without a delay again in the same turn, which
 * would delay I/O. */

#define DELAY_MAX_MS (UINT64_C(1) << 53)

static bool is_before(const struct timer *a, const struct timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->seq < b->seq;
}

static void place(struct timer_heap *h, size_t slot, struct timer *t)
{
    h->at[slot] = t;
    t->heap_slot = slot;
}

/* Moves t from a free `slot` to where it belongs, first up, then down. */
static void sift(struct timer_heap *h, size_t slot, struct timer *t)
{
    while (slot > 1 && is_before(t, h->at[slot / 2])) {
        place(h, slot, h->at[slot / 2]);
        slot /= 2;
    }
    for (size_t child; (child = slot * 2) <= h->len; slot = child) {
        if (child < h->len && is_before(h->at[child + 1], h->at[child]))
            child++;
        if (is_before(t, h->at[child]))
            break;
        place(h, slot, h->at[child]);
    }
    place(h, slot, t);
}

static void heap_add(struct timer_heap *h, struct timer *t)
{
    if (h->len + 1 >= h->cap) {
        h->cap = h->cap ? h->cap * 2 : 16;
        h->at = xrealloc(h->at, h->cap * sizeof(struct timer *));
    }
    h->len++;
    sift(h, h->len, t);
}

static void heap_remove(struct timer_heap *h, struct timer *t)
{
    size_t slot = t->heap_slot;
    struct timer *last = h->at[h->len--];
    t->heap_slot = 0;
    if (last != t)
        sift(h, slot, last);
}

void timer_init(struct timer *t, struct loop *l, loop_fn fn, void *ctx)
{
    *t = (struct timer){.loop = l, .fn = fn, .ctx = ctx};
}

void timer_start(struct timer *t, uint64_t delay_ms)
{
    struct loop *l = t->loop;
    assert(loop_is_mine(l));
    timer_stop(t);
    /* The loop's idea of now is as old as the turn; a timer must not fire early. */
    uv_update_time(&l->uv);
    t->due_ms = uv_now(&l->uv) + (delay_ms < DELAY_MAX_MS ? delay_ms : DELAY_MAX_MS);
    t->seq = ++l->timers.seq;
    heap_add(&l->timers, t);
}

void timer_stop(struct timer *t)
{
    if (t->heap_slot == 0)
        return;
    assert(loop_is_mine(t->loop));
    heap_remove(&t->loop->timers, t);
}

/* Fires what is due now. A timer started by a callback waits for the next turn, however
 * short its delay. */
static void on_alarm(uv_timer_t *alarm)
{
    struct loop *l = alarm->data;
    struct timer_heap *h = &l->timers;
    uint64_t now = uv_now(&l->uv), newest = h->seq;
    while (h->len > 0 && h->at[1]->due_ms <= now && h->at[1]->seq <= newest) {
        struct timer *t = h->at[1];
        heap_remove(h, t);
        t->fn(t->ctx);
    }
}

void timers_arm(struct loop *l)
{
    if (l->timers.len == 0) {
        uv_timer_stop(&l->alarm);
        return;
    }
    uv_update_time(&l->uv);
    uint64_t now = uv_now(&l->uv), due = l->timers.at[1]->due_ms;
    uv_timer_start(&l->alarm, on_alarm, due > now ? due - now : 0, 0);
}

void timers_done(struct loop *l)
{
    free(l->timers.at);
}
