#include "mcp/transport/wire.h"

#include <assert.h>
#include <errno.h>

#include "mcp/transport/jsonrpc.h"

/* The request has time limits; its connection has none. */
#define FOREVER_MS (UINT64_C(1) << 50)

/* Limit for the body of an unsuccessful response. */
#define REFUSAL_MAX (64u * 1024)

struct wire {
    struct fetch *fetch;
    struct wire_events ev;
    void *ctx;
    int status;
    bool is_stream;
    bool is_busy; /* inside a callback that still uses the memory */
    bool is_dead;
    struct sse_parser parser;
    struct buf body;
};

static void wire_delete(struct wire *w)
{
    w->is_dead = true;
    if (w->is_busy)
        return;
    sse_parser_done(&w->parser);
    buf_done(&w->body);
    free(w);
}

void wire_stop(struct wire *w)
{
    if (!w || w->is_dead)
        return;
    if (w->fetch)
        fetch_cancel(w->fetch);
    w->fetch = NULL;
    wire_delete(w);
}

static void wire_end(struct wire *w, const struct err *e)
{
    struct fetch *fetch = w->fetch;
    assert(!w->is_dead); /* on_end is the last callback */
    w->fetch = NULL;
    if (fetch)
        fetch_cancel(fetch);
    bool was_busy = w->is_busy;
    w->is_busy = true;
    w->is_dead = true; /* the request is over: wire_stop from inside on_end must do nothing */
    w->ev.on_end(w->ctx, w->status, buf_str(&w->body), e);
    w->is_busy = was_busy;
    wire_delete(w);
}

uint64_t wire_retry_ms(const struct sse_event *ev)
{
    int64_t ms = ev->retry_ms < WIRE_RETRY_MAX_MS ? ev->retry_ms : WIRE_RETRY_MAX_MS;
    return (uint64_t)(ms > WIRE_RETRY_MIN_MS ? ms : WIRE_RETRY_MIN_MS);
}

static bool is_protocols_own(str name)
{
    static const str OWN[] = {
        STR_INIT("accept"), STR_INIT("content-type"),  STR_INIT("content-length"),
        STR_INIT("host"),   STR_INIT("last-event-id"),
    };
    for (size_t i = 0; i < ARRAY_LEN(OWN); i++) {
        if (str_eq_nocase(name, OWN[i]))
            return true;
    }
    return str_starts_nocase(name, STR("mcp-"));
}

size_t wire_add_headers(struct fetch_header *out, size_t max, const struct fetch_header *headers,
                        size_t n)
{
    size_t added = 0;
    for (size_t i = 0; i < n && added < max; i++) {
        if (!is_protocols_own(headers[i].name))
            out[added++] = headers[i];
    }
    return added;
}

str wire_header(const struct fetch_header *headers, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(headers[i].name, str_from(name)))
            return headers[i].value;
    }
    return STR_NONE;
}

static bool is_event_stream(str content_type)
{
    str type;
    if (!str_split(&content_type, ';', &type))
        return false;
    return str_eq_nocase(str_trim(type), STR("text/event-stream"));
}

static void on_wire_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    struct wire *w = ctx;
    bool is_success = status >= 200 && status < 300;
    w->status = status;
    w->is_stream = is_success && is_event_stream(wire_header(headers, n, "content-type"));
    buf_init(&w->body, is_success ? RPC_MESSAGE_MAX : REFUSAL_MAX);
    if (!w->ev.on_head)
        return;
    w->is_busy = true;
    w->ev.on_head(w->ctx, status, w->is_stream, headers, n);
    w->is_busy = false;
    if (w->is_dead)
        wire_delete(w);
}

static void on_wire_event(void *ctx, const struct sse_event *ev)
{
    struct wire *w = ctx;
    if (!w->is_dead && w->ev.on_event)
        w->ev.on_event(w->ctx, ev);
}

static int wire_take(struct wire *w, str bytes)
{
    if (w->is_stream)
        return sse_parser_feed(&w->parser, bytes);
    if (w->status < 200 || w->status >= 300) {
        (void)buf_add_str(&w->body, str_slice(bytes, 0, REFUSAL_MAX - w->body.n));
        return 0;
    }
    return buf_add_str(&w->body, bytes) < 0 ? -EMSGSIZE : 0;
}

static void on_wire_data(void *ctx, str bytes)
{
    struct wire *w = ctx;
    w->is_busy = true;
    int rc = wire_take(w, bytes);
    w->is_busy = false;
    if (w->is_dead) {
        wire_delete(w);
    } else if (rc < 0) {
        struct err e;
        err_set(&e, rc, "the server sent a message of more than %u MiB",
                RPC_MESSAGE_MAX / 1024 / 1024);
        wire_end(w, &e);
    }
}

static void on_wire_done(void *ctx, const struct err *err)
{
    struct wire *w = ctx;
    w->fetch = NULL;
    wire_end(w, err);
}

static const struct fetch_events FETCH_EVENTS = {on_wire_head, on_wire_data, on_wire_done};

struct wire *wire_start(struct fetcher *f, const struct fetch_spec *spec,
                        const struct wire_events *ev, void *ctx)
{
    struct wire *w = xcalloc(1, sizeof(*w));
    w->ev = *ev;
    w->ctx = ctx;
    sse_parser_init(&w->parser, RPC_MESSAGE_MAX, on_wire_event, w);
    w->parser.wants_empty = true;
    struct fetch_spec s = *spec;
    s.idle_timeout_ms = FOREVER_MS;
    s.body_max = 0;
    w->fetch = fetch_start(f, &s, &FETCH_EVENTS, w);
    return w;
}
