#include "mcp/relay.h"

static void on_relay_progress(void *ctx, const struct json *params)
{
    const struct call_relay *r = ctx;
    r->to.progress(r->ctx, params);
}

static void on_logged(void *ctx, const struct json *params)
{
    const struct call_relay *r = ctx;
    r->to.logged(r->ctx, params);
}

static void on_relay_ask(void *ctx, struct mcp_ask *a)
{
    const struct call_relay *r = ctx;
    r->to.ask(r->ctx, a);
}

static void on_relay_ask_gone(void *ctx, struct mcp_ask *a)
{
    const struct call_relay *r = ctx;
    r->to.ask_gone(r->ctx, a);
}

struct mcp_call_events call_relay_events(const struct call_relay *r,
                                         void (*done)(void *ctx, const struct mcp_reply *reply))
{
    return (struct mcp_call_events){
        .done = done,
        .progress = r->to.progress ? on_relay_progress : NULL,
        .logged = r->to.logged ? on_logged : NULL,
        .ask = r->to.ask ? on_relay_ask : NULL,
        .ask_gone = r->to.ask_gone ? on_relay_ask_gone : NULL,
    };
}
