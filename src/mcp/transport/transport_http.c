/* transport_http.c - Streamable HTTP of both eras. See transport_http.h. */
#include "mcp/transport/transport_http.h"

#include <assert.h>
#include <errno.h>

#define USER_HEADERS_MAX 64
#define FAREWELL_MS      2000

static void open_standing(void *transport);

static struct http_transport *http_of(struct transport *t)
{
    return CONTAINER_OF(t, struct http_transport, base);
}

void http_enter(struct http_transport *t)
{
    t->depth++;
}

void http_leave(struct http_transport *t)
{
    assert(t->depth > 0);
    if (--t->depth > 0 || !t->is_freed)
        return;
    buf_done(&t->session);
    buf_done(&t->standing_id);
    free(t);
}

/* ---- headers ---- */

void http_common_headers(const struct http_transport *t, enum mcp_era era, bool is_handshake,
                         struct fetch_header h[HTTP_HEADERS_MAX], size_t *n)
{
    *n = wire_add_headers(h, USER_HEADERS_MAX, t->dial.headers, t->dial.nheaders);
    if (era == MCP_ERA_MODERN) {
        h[(*n)++] = (struct fetch_header){STR("MCP-Protocol-Version"), STR(MCP_REVISION_MODERN)};
        return;
    }
    if (is_handshake)
        return;
    if (t->revision.n > 0)
        h[(*n)++] = (struct fetch_header){STR("MCP-Protocol-Version"), t->revision};
    if (t->session.n > 0)
        h[(*n)++] = (struct fetch_header){STR("Mcp-Session-Id"), buf_str(&t->session)};
}

/* ---- the session ---- */

/* An id outside visible ASCII is ignored, because it could not be sent back unchanged. */
void http_take_session(struct http_transport *t, str id)
{
    buf_clear(&t->session);
    for (size_t i = 0; i < id.n; i++) {
        if (id.p[i] < 0x21 || id.p[i] > 0x7e)
            return;
    }
    (void)buf_add_str(&t->session, id);
    if (buf_failed(&t->session))
        buf_clear(&t->session);
}

static void stop_standing(struct http_transport *t)
{
    timer_stop(&t->standing_later);
    wire_stop(t->standing);
    t->standing = NULL;
    buf_clear(&t->standing_id);
}

void http_session_gone(struct http_transport *t)
{
    buf_clear(&t->session);
    stop_standing(t);
    if (t->is_renewing)
        return;
    t->is_renewing = true;
    t->base.ev->session_lost(t->base.ctx);
}

void http_initialized(struct http_transport *t)
{
    t->is_renewing = false;
    http_enter(t);
    http_post_resend_parked(t);
    open_standing(t);
    t->base.ev->accepted(t->base.ctx);
    http_leave(t);
}

/* ---- the standing stream of the legacy era ---- */

static void on_standing_head(void *ctx, int status, bool is_stream,
                             const struct fetch_header *headers, size_t n)
{
    struct http_transport *t = ctx;
    if (!is_stream)
        return;
    bool is_gap = t->was_standing && t->standing_id.n == 0;
    t->was_standing = true;
    t->standing_had_event = false;
    if (is_gap)
        t->base.ev->gap(t->base.ctx);
}

static void on_standing_event(void *ctx, const struct sse_event *ev)
{
    struct http_transport *t = ctx;
    t->standing_had_event = true;
    if (ev->retry_ms >= 0)
        t->standing_retry_ms = wire_retry_ms(ev);
    buf_clear(&t->standing_id);
    (void)buf_add_str(&t->standing_id, ev->id);
    if (ev->data.n > 0 && str_eq(ev->event, STR("message")))
        t->base.ev->message(t->base.ctx, 0, ev->data);
}

static void open_later(struct http_transport *t)
{
    uint64_t max_ms = t->dial.reconnect.max_ms;
    if (t->standing_had_event) {
        t->standing_wait_ms = t->dial.reconnect.initial_ms;
        t->standing_tries = 0;
    }
    timer_start(&t->standing_later,
                t->standing_retry_ms ? t->standing_retry_ms : t->standing_wait_ms);
    t->standing_wait_ms =
        t->standing_wait_ms * 3 / 2 < max_ms ? t->standing_wait_ms * 3 / 2 : max_ms;
}

static void on_standing_end(void *ctx, int status, str body, const struct err *err)
{
    struct http_transport *t = ctx;
    t->standing = NULL;
    if (status == 404 && t->session.n > 0) {
        http_session_gone(t);
    } else if (status >= 400 && status < 500) {
        t->has_standing = false; /* the server has no such stream, or refuses it to us */
    } else if (status >= 200 && status < 300) {
        t->standing_tries = 0;
        open_later(t);
    } else if (++t->standing_tries < t->dial.reconnect.max_tries) {
        t->standing_had_event = false;
        open_later(t);
    } else {
        struct err e = *err;
        if (e.code == 0)
            err_set(&e, -EREMOTEIO, "the server answered with HTTP status %d", status);
        t->base.ev->closed(t->base.ctx, &e);
    }
}

static const struct wire_events STANDING_EVENTS = {on_standing_head, on_standing_event,
                                                   on_standing_end};

struct wire *http_open_stream(struct http_transport *t, str last_id, const struct wire_events *ev,
                              void *ctx)
{
    struct fetch_header h[HTTP_HEADERS_MAX];
    size_t n = 0;
    http_common_headers(t, MCP_ERA_LEGACY, false, h, &n);
    h[n++] = (struct fetch_header){STR("Accept"), STR("text/event-stream")};
    if (last_id.n > 0)
        h[n++] = (struct fetch_header){STR("Last-Event-ID"), last_id};
    struct fetch_spec s = {.method = "GET", .url = t->dial.url, .headers = h, .nheaders = n};
    s.flags = t->dial.fetch_flags | FETCH_FOLLOW_SAME_ORIGIN;
    return wire_start(t->fetcher, &s, ev, ctx);
}

static void open_standing(void *transport)
{
    struct http_transport *t = transport;
    assert(!t->standing && !t->is_freed);
    if (t->has_standing)
        t->standing = http_open_stream(t, buf_str(&t->standing_id), &STANDING_EVENTS, t);
}

/* ---- operations ---- */

static int http_send(struct transport *base, const struct outgoing *m, struct err *e)
{
    http_post_send(http_of(base), m);
    return 0;
}

static void http_release(struct transport *base, int64_t id, bool was_answered)
{
    struct http_post *p = http_post_find(http_of(base), id);
    if (p)
        http_post_release(p, was_answered);
}

static void http_settle(struct transport *base, enum mcp_era era, str revision)
{
    struct http_transport *t = http_of(base);
    t->era = era;
    t->revision = revision;
}

static void http_free(struct transport *base)
{
    struct http_transport *t = http_of(base);
    assert(!t->is_freed);
    http_enter(t);
    t->is_freed = true;
    http_post_free_all(t);
    stop_standing(t);
    wire_stop(t->farewell);
    timer_stop(&t->closing);
    http_leave(t);
}

/* ---- closing ---- */

static void say_closed(void *ctx)
{
    struct http_transport *t = ctx;
    struct err none = {0};
    wire_stop(t->farewell);
    t->farewell = NULL;
    t->base.ev->closed(t->base.ctx, &none);
}

static void on_farewell_end(void *ctx, int status, str body, const struct err *err)
{
    struct http_transport *t = ctx;
    t->farewell = NULL;
    timer_stop(&t->closing);
    say_closed(t);
}

static const struct wire_events FAREWELL_EVENTS = {.on_end = on_farewell_end};

static void http_close(struct transport *base)
{
    struct http_transport *t = http_of(base);
    http_post_free_all(t);
    stop_standing(t);
    timer_start(&t->closing, t->session.n > 0 ? FAREWELL_MS : 0);
    if (t->session.n == 0)
        return;
    struct fetch_header h[HTTP_HEADERS_MAX];
    size_t n = 0;
    http_common_headers(t, MCP_ERA_LEGACY, false, h, &n);
    struct fetch_spec s = {.method = "DELETE", .url = t->dial.url, .headers = h, .nheaders = n};
    s.flags = t->dial.fetch_flags;
    t->farewell = wire_start(t->fetcher, &s, &FAREWELL_EVENTS, t);
}

static const struct transport_ops OPS = {
    .is_http = true,
    .send = http_send,
    .release = http_release,
    .settle = http_settle,
    .close = http_close,
    .free = http_free,
};

struct transport *transport_http_open(struct loop *l, struct fetcher *f,
                                      const struct mcp_dial *dial,
                                      const struct transport_events *ev, void *ctx)
{
    struct http_transport *t = xcalloc(1, sizeof(*t));
    t->base = (struct transport){.ops = &OPS, .ev = ev, .ctx = ctx};
    t->loop = l;
    t->fetcher = f;
    t->dial = *dial;
    t->has_standing = true;
    t->standing_wait_ms = t->dial.reconnect.initial_ms;
    buf_init(&t->session, HTTP_SESSION_MAX);
    buf_init(&t->standing_id, SSE_NAME_MAX);
    list_init(&t->posts);
    timer_init(&t->standing_later, l, open_standing, t);
    timer_init(&t->closing, l, say_closed, t);
    return &t->base;
}
