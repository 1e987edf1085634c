/* transport_sse.c - the oldest transport: all messages of the server arrive on one GET stream, and
 * ours are POSTed to the URL that its first event names. When the stream is lost, the session is
 * lost. */
#include <assert.h>
#include <errno.h>

#include "base/list.h"
#include "loop/timer.h"
#include "mcp/client.h"
#include "mcp/transport/transport.h"
#include "mcp/transport/wire.h"

#define HEADERS_MAX 72
#define QUEUE_MAX   256 /* messages that wait for the URL */

struct sse_transport {
    struct transport base;
    struct loop *loop;
    struct fetcher *fetcher;
    struct mcp_dial dial;
    str revision;
    struct arena mem;
    str endpoint; /* empty until the first event */
    struct wire *stream;
    struct list_node notes;
    size_t nnotes;
    struct timer closing;
};

/* A message in transit. */
struct sse_note {
    struct sse_transport *t;
    struct list_node node;
    int64_t id;
    struct wire *wire; /* NULL: it waits for the URL */
    bool is_tool_call;
    size_t n;
    char text[];
};

static struct sse_transport *sse_of(struct transport *t)
{
    return CONTAINER_OF(t, struct sse_transport, base);
}

static size_t add_headers(const struct sse_transport *t, struct fetch_header h[HEADERS_MAX])
{
    size_t n = wire_add_headers(h, HEADERS_MAX - 4, t->dial.headers, t->dial.nheaders);
    if (t->revision.n > 0)
        h[n++] = (struct fetch_header){STR("MCP-Protocol-Version"), t->revision};
    return n;
}

/* ---- messages to the server ---- */

static void note_free(struct sse_note *m)
{
    assert(m->t->nnotes > 0);
    list_del(&m->node);
    m->t->nnotes--;
    wire_stop(m->wire);
    free(m);
}

static void on_note_end(void *ctx, int status, str body, const struct err *err)
{
    struct sse_note *m = ctx;
    struct sse_transport *t = m->t;
    int64_t id = m->id;
    m->wire = NULL;
    note_free(m);
    if (id == OUTGOING_INITIALIZED && err->code == 0 && status >= 200 && status < 300)
        t->base.ev->accepted(t->base.ctx);
    else if (id != 0 && err->code != 0)
        t->base.ev->lost(t->base.ctx, id, err);
    else if (id != 0 && (status < 200 || status >= 300))
        t->base.ev->refused(t->base.ctx, id, status, body, STR_NONE);
}

static const struct wire_events NOTE_EVENTS = {.on_end = on_note_end};

static void note_start(struct sse_note *m)
{
    struct sse_transport *t = m->t;
    struct fetch_header h[HEADERS_MAX];
    assert(!m->wire && t->endpoint.n > 0); /* sent once, and only where the server said */
    size_t n = add_headers(t, h);
    h[n++] = (struct fetch_header){STR("Content-Type"), STR("application/json")};
    struct fetch_spec s = {.method = "POST", .url = t->endpoint, .headers = h, .nheaders = n};
    s.body = (str){m->text, m->n};
    s.has_body = true;
    s.flags = t->dial.fetch_flags | FETCH_FOLLOW_SAME_ORIGIN | (m->is_tool_call ? FETCH_ONCE : 0);
    m->wire = wire_start(t->fetcher, &s, &NOTE_EVENTS, m);
}

static int sse_send(struct transport *base, const struct outgoing *out, struct err *e)
{
    struct sse_transport *t = sse_of(base);
    if (t->endpoint.n == 0 && t->nnotes == QUEUE_MAX)
        return err_set(e, -ENOBUFS,
                       "the server has not yet sent its URL for messages (event \"endpoint\")");
    struct sse_note *m = xcalloc(1, sizeof(*m) + out->text.n);
    m->t = t;
    m->id = out->id;
    m->is_tool_call = str_eq(out->method, STR("tools/call"));
    m->n = out->text.n;
    memcpy(m->text, out->text.p, out->text.n);
    list_push(&t->notes, &m->node);
    t->nnotes++;
    if (t->endpoint.n > 0)
        note_start(m);
    return 0;
}

/* ---- the stream ---- */

static void sse_fail(struct sse_transport *t, const struct err *e)
{
    assert(t->stream);
    wire_stop(t->stream);
    t->stream = NULL;
    t->base.ev->closed(t->base.ctx, e);
}

static void take_endpoint(struct sse_transport *t, str reference)
{
    struct err e;
    if (t->endpoint.n > 0)
        return;
    if (endpoint_resolve(&t->mem, t->dial.url, reference, &t->endpoint, &e) < 0) {
        sse_fail(t, &e);
        return;
    }
    LIST_FOREACH (n, &t->notes)
        note_start(LIST_ENTRY(n, struct sse_note, node));
}

static void on_sse_event(void *ctx, const struct sse_event *ev)
{
    struct sse_transport *t = ctx;
    if (str_eq(ev->event, STR("endpoint")))
        take_endpoint(t, ev->data);
    else if (ev->data.n > 0 && str_eq(ev->event, STR("message")))
        t->base.ev->message(t->base.ctx, 0, ev->data);
}

static void on_sse_end(void *ctx, int status, str body, const struct err *err)
{
    struct sse_transport *t = ctx;
    struct err e = *err;
    t->stream = NULL;
    if (e.code == 0 && status >= 200 && status < 300)
        err_set(&e, -ECONNRESET, "the server has ended the stream");
    else if (e.code == 0)
        err_set(&e,
                status == 401   ? -EKEYREJECTED
                : status == 403 ? -EACCES
                                : -EPROTO,
                "the server answered with HTTP status %d", status);
    t->base.ev->closed(t->base.ctx, &e);
}

static const struct wire_events STREAM_EVENTS = {NULL, on_sse_event, on_sse_end};

static void sse_open_stream(struct sse_transport *t)
{
    struct fetch_header h[HEADERS_MAX];
    size_t n = add_headers(t, h);
    h[n++] = (struct fetch_header){STR("Accept"), STR("text/event-stream")};
    struct fetch_spec s = {.method = "GET", .url = t->dial.url, .headers = h, .nheaders = n};
    s.flags = t->dial.fetch_flags | FETCH_FOLLOW_SAME_ORIGIN;
    t->stream = wire_start(t->fetcher, &s, &STREAM_EVENTS, t);
}

/* ---- operations ---- */

/* The answer arrives on the shared stream: a message that was sent cannot be withdrawn. */
static void sse_release(struct transport *base, int64_t id, bool was_answered)
{
    struct sse_transport *t = sse_of(base);
    LIST_EACH (m, &t->notes, struct sse_note, node) {
        if (m->id != id)
            continue;
        if (m->wire)
            m->id = 0;
        else
            note_free(m);
    }
}

static void sse_settle(struct transport *base, enum mcp_era era, str revision)
{
    sse_of(base)->revision = revision;
}

static void drop_all(struct sse_transport *t)
{
    while (!list_empty(&t->notes))
        note_free(LIST_ENTRY(t->notes.next, struct sse_note, node));
    wire_stop(t->stream);
    t->stream = NULL;
}

static void say_closed(void *ctx)
{
    struct sse_transport *t = ctx;
    struct err none = {0};
    t->base.ev->closed(t->base.ctx, &none);
}

static void sse_close(struct transport *base)
{
    struct sse_transport *t = sse_of(base);
    drop_all(t);
    timer_start(&t->closing, 0);
}

static void sse_free(struct transport *base)
{
    struct sse_transport *t = sse_of(base);
    drop_all(t);
    timer_stop(&t->closing);
    arena_done(&t->mem);
    free(t);
}

static const struct transport_ops OPS = {
    .send = sse_send,
    .release = sse_release,
    .settle = sse_settle,
    .close = sse_close,
    .free = sse_free,
};

struct transport *transport_sse_open(struct loop *l, struct fetcher *f, const struct mcp_dial *dial,
                                     const struct transport_events *ev, void *ctx)
{
    struct sse_transport *t = xcalloc(1, sizeof(*t));
    t->base = (struct transport){.ops = &OPS, .ev = ev, .ctx = ctx};
    t->loop = l;
    t->fetcher = f;
    t->dial = *dial;
    list_init(&t->notes);
    timer_init(&t->closing, l, say_closed, t);
    sse_open_stream(t);
    return &t->base;
}
