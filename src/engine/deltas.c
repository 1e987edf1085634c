#include "engine/deltas.h"

#include <assert.h>

#include "base/clock.h"

static void on_flush_due(void *ctx)
{
    deltas_flush(ctx);
}

/* Deferred by a publication, after the sending of its frames: both are done when this runs. */
static void on_sent(void *ctx)
{
    struct deltas *d = ctx;
    uint64_t rest_ms = (clock_mono_us() - d->since_us) / 1000;
    if (d->is_watcher_late || rest_ms > DELTAS_REST_MS)
        rest_ms = DELTAS_REST_MS;
    if (rest_ms == 0)
        return;
    timer_start(&d->rest, rest_ms);
    defer_stop(&d->turn); /* what has come since then waits too */
}

void deltas_init(struct deltas *d, struct loop *l, deltas_fn publish, void *ctx)
{
    *d = (struct deltas){.loop = l, .publish = publish, .ctx = ctx};
    defer_init(&d->turn, on_flush_due, d);
    defer_init(&d->sent, on_sent, d);
    timer_init(&d->rest, l, on_flush_due, d);
    buf_init(&d->waiting, DELTAS_BYTES_MAX);
    buf_init(&d->spare, DELTAS_BYTES_MAX);
}

void deltas_done(struct deltas *d)
{
    defer_stop(&d->turn);
    defer_stop(&d->sent);
    timer_stop(&d->rest);
    buf_done(&d->waiting);
    buf_done(&d->spare);
}

static void publish(struct deltas *d, str text)
{
    d->since_us = clock_mono_us();
    d->is_watcher_late = d->publish(d->ctx, d->type, text);
    defer_start(d->loop, &d->sent);
}

/* The code that publishes flushes too: then nothing waits any more. */
void deltas_flush(struct deltas *d)
{
    defer_stop(&d->turn);
    if (d->waiting.n == 0)
        return;
    struct buf out = d->waiting;
    d->waiting = d->spare;
    buf_init(&d->spare, DELTAS_BYTES_MAX);
    publish(d, buf_str(&out));
    assert(d->waiting.n == 0 && d->spare.n == 0);
    buf_done(&d->spare);
    buf_clear(&out);
    d->spare = out;
}

void deltas_add(struct deltas *d, str type, str text)
{
    if (text.n == 0)
        return;
    if (!str_eq(type, d->type) || d->waiting.n + text.n > DELTAS_BYTES_MAX)
        deltas_flush(d);
    assert(d->waiting.n == 0 || str_eq(type, d->type)); /* one type at a time waits */
    d->type = type;
    if (text.n > DELTAS_BYTES_MAX) {
        publish(d, text);
        return;
    }
    (void)buf_add_str(&d->waiting, text);
    if (!timer_active(&d->rest))
        defer_start(d->loop, &d->turn);
}
