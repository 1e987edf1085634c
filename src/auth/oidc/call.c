#include "auth/oidc/call.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "loop/timer.h"

struct call {
    struct fetch *fetch;
    struct timer limit; /* ends a response that arrives byte by byte */
    call_done done;
    void *ctx;
    int status;
    struct buf body;
};

static void call_finish(struct call *c, const struct err *err)
{
    timer_stop(&c->limit);
    c->done(c->ctx, err, c->status, buf_str(&c->body));
    buf_done(&c->body);
    free(c);
}

static void on_call_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    struct call *c = ctx;
    c->status = status;
}

static void on_call_data(void *ctx, str bytes)
{
    struct call *c = ctx;
    buf_add_str(&c->body, bytes); /* bounded by the fetch */
}

static void on_call_done(void *ctx, const struct err *err)
{
    call_finish(ctx, err);
}

static void on_call_timeout(void *ctx)
{
    struct call *c = ctx;
    struct err e;
    err_set(&e, -ETIMEDOUT, "no response within %d seconds", CALL_TIMEOUT_MS / 1000);
    fetch_cancel(c->fetch);
    call_finish(c, &e);
}

struct call *call_start(struct loop *l, struct fetcher *f, const struct fetch_spec *spec,
                        call_done done, void *ctx)
{
    static const struct fetch_events EVENTS = {on_call_head, on_call_data, on_call_done};
    struct fetch_spec bounded = *spec;
    struct call *c = xcalloc(1, sizeof *c);
    c->done = done;
    c->ctx = ctx;
    buf_init(&c->body, CALL_BODY_MAX);
    timer_init(&c->limit, l, on_call_timeout, c);
    timer_start(&c->limit, CALL_TIMEOUT_MS);
    bounded.body_max = CALL_BODY_MAX;
    bounded.connect_timeout_ms = bounded.idle_timeout_ms = CALL_TIMEOUT_MS;
    c->fetch = fetch_start(f, &bounded, &EVENTS, c);
    return c;
}

void call_cancel(struct call *c)
{
    if (!c)
        return;
    timer_stop(&c->limit);
    fetch_cancel(c->fetch);
    buf_done(&c->body);
    free(c);
}
