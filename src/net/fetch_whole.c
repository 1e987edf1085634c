#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "loop/timer.h"
#include "net/fetch.h"

struct fetch_whole {
    struct fetch *fetch;
    struct timer limit; /* ends a response that arrives byte by byte */
    fetch_whole_done done;
    void *ctx;
    int status;
    struct buf body;
};

static void whole_finish(struct fetch_whole *c, const struct err *err)
{
    timer_stop(&c->limit);
    c->done(c->ctx, err, c->status, buf_str(&c->body));
    buf_done(&c->body);
    free(c);
}

static void on_whole_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    struct fetch_whole *c = ctx;
    c->status = status;
}

static void on_whole_data(void *ctx, str bytes)
{
    struct fetch_whole *c = ctx;
    buf_add_str(&c->body, bytes); /* bounded by the fetch */
}

static void on_whole_done(void *ctx, const struct err *err)
{
    whole_finish(ctx, err);
}

static void on_whole_timeout(void *ctx)
{
    struct fetch_whole *c = ctx;
    struct err e;
    err_set(&e, -ETIMEDOUT, "no response within %d seconds", FETCH_WHOLE_TIMEOUT_MS / 1000);
    fetch_cancel(c->fetch);
    whole_finish(c, &e);
}

struct fetch_whole *fetch_whole_start(struct loop *l, struct fetcher *f,
                                      const struct fetch_spec *spec, fetch_whole_done done,
                                      void *ctx)
{
    static const struct fetch_events EVENTS = {on_whole_head, on_whole_data, on_whole_done};
    struct fetch_spec bounded = *spec;
    struct fetch_whole *c = xcalloc(1, sizeof *c);
    c->done = done;
    c->ctx = ctx;
    buf_init(&c->body, FETCH_WHOLE_MAX);
    timer_init(&c->limit, l, on_whole_timeout, c);
    timer_start(&c->limit, FETCH_WHOLE_TIMEOUT_MS);
    bounded.body_max = FETCH_WHOLE_MAX;
    bounded.connect_timeout_ms = bounded.idle_timeout_ms = FETCH_WHOLE_TIMEOUT_MS;
    c->fetch = fetch_start(f, &bounded, &EVENTS, c);
    return c;
}

void fetch_whole_cancel(struct fetch_whole *c)
{
    if (!c)
        return;
    timer_stop(&c->limit);
    fetch_cancel(c->fetch);
    buf_done(&c->body);
    free(c);
}
