#include "engine/deltas.h"

#include <assert.h>

static void on_pace(void *ctx)
{
    struct deltas *d = ctx;
    if (d->waiting.n == 0)
        return; /* a pause: the next piece is published immediately */
    timer_start(&d->pace, DELTAS_PACE_MS);
    deltas_flush(d);
}

void deltas_init(struct deltas *d, struct loop *l, deltas_fn publish, void *ctx)
{
    *d = (struct deltas){.publish = publish, .ctx = ctx};
    timer_init(&d->pace, l, on_pace, d);
    buf_init(&d->waiting, DELTAS_BYTES_MAX);
}

void deltas_done(struct deltas *d)
{
    timer_stop(&d->pace);
    buf_done(&d->waiting);
}

void deltas_flush(struct deltas *d)
{
    if (d->waiting.n == 0)
        return;
    struct buf out = d->waiting;
    buf_init(&d->waiting, DELTAS_BYTES_MAX);
    d->publish(d->ctx, d->type, buf_str(&out));
    buf_done(&out);
}

void deltas_add(struct deltas *d, str type, str text)
{
    if (text.n == 0)
        return;
    if (!str_eq(type, d->type) || d->waiting.n + text.n > DELTAS_BYTES_MAX)
        deltas_flush(d);
    assert(d->waiting.n == 0 || str_eq(type, d->type)); /* one type at a time waits */
    d->type = type;
    if (timer_active(&d->pace) && text.n <= DELTAS_BYTES_MAX) {
        (void)buf_add_str(&d->waiting, text);
        return;
    }
    timer_start(&d->pace, DELTAS_PACE_MS);
    d->publish(d->ctx, type, text);
}
