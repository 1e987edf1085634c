#include "cli/mcp/mcp_serve_relay.h"

#include <assert.h>
#include <errno.h>

#include "base/list.h"
#include "base/map.h"
#include "cli/session/client.h"
#include "mcp/protocol.h"
#include "mcp/transport/jsonrpc.h"
#include "net/sse_parse.h"
#include "server/server.h"

#define EVENT_MAX (RPC_MESSAGE_MAX + 4096u)
#define ERROR_MAX 4096

struct relay_line {
    struct list_node node;
    size_t n;
    char text[];
};

struct relay {
    struct loop *loop;
    struct relay_events ev;
    void *ctx;
    struct arena arena;
    struct client *client;

    struct client_call *stream;
    struct sse_parser sse;
    struct buf refusal; /* body of a response that is not a stream */
    int stream_status;

    str address; /* address for posts; empty until the server has sent it */
    struct client_call *post;
    int post_status;
    struct list_node lines; /* the first message is being posted */
    size_t queued;

    struct map asked; /* ids of requests without a response yet, as text */
    struct deferred end;
    struct err why;
};

/* ---- the end ---- */

static void on_relay_end(void *relay)
{
    struct relay *r = relay;
    assert(r->why.code != 0);
    r->ev.closed(r->ctx, &r->why);
}

static void relay_fail(struct relay *r, int code, const char *text)
{
    if (r->why.code != 0)
        return;
    err_set(&r->why, code, "%s", text);
    defer_start(r->loop, &r->end);
}

/* ---- requests in progress ---- */

static void relay_note(struct relay *r, str text)
{
    struct arena a;
    struct json *doc;
    struct rpc_message m;
    arena_init(&a);
    if (rpc_parse(&a, text, &doc, NULL) == 0 && rpc_classify(doc, &m, NULL) == 0) {
        const struct json *given_up = json_get(m.params, "requestId");
        if (m.kind == RPC_REQUEST)
            (void)map_put(&r->asked, json_to_str(&a, m.id), r);
        else if (str_eq(m.method, STR("notifications/cancelled")) && given_up)
            (void)map_del(&r->asked, json_to_str(&a, given_up));
    }
    arena_done(&a);
}

static void note_answer(struct relay *r, str text)
{
    struct arena a;
    struct json *doc;
    struct rpc_message m;
    arena_init(&a);
    bool is_message = rpc_parse(&a, text, &doc, NULL) == 0 && rpc_classify(doc, &m, NULL) == 0;
    if (is_message && m.id && m.kind != RPC_REQUEST)
        (void)map_del(&r->asked, json_to_str(&a, m.id));
    arena_done(&a);
}

/* ---- messages of the client ---- */

static void post_next(struct relay *r);

/* The server refused the message, so no response will come: reply with an error. */
static void answer_refused(struct relay *r, str text, const char *why)
{
    struct arena a;
    struct json *doc;
    struct rpc_message m;
    struct buf b;
    arena_init(&a);
    buf_init(&b, RPC_MESSAGE_MAX);
    if (rpc_parse(&a, text, &doc, NULL) == 0 && rpc_classify(doc, &m, NULL) == 0 &&
        m.kind == RPC_REQUEST) {
        rpc_write_error(&b, m.id, RPC_INVALID_REQUEST, str_from(why));
        note_answer(r, buf_str(&b));
        r->ev.message(r->ctx, buf_str(&b));
    }
    buf_done(&b);
    arena_done(&a);
}

static void on_post_head(void *ctx, int status, const struct fetch_header *h, size_t n)
{
    ((struct relay *)ctx)->post_status = status;
}

static void on_post_data(void *ctx, str bytes) {}

static void on_posted(void *ctx, const struct err *e)
{
    struct relay *r = ctx;
    assert(r->post && !list_empty(&r->lines));
    struct relay_line *l = LIST_ENTRY(list_pop(&r->lines), struct relay_line, node);
    assert(l->n <= r->queued);
    r->post = NULL;
    r->queued -= l->n;
    if (e->code != 0)
        relay_fail(r, e->code, e->msg);
    else if (r->post_status == 404)
        relay_fail(r, -ECONNRESET, "the running server has ended this session");
    else if (r->post_status != 202)
        answer_refused(r, str_make(l->text, l->n),
                       r->post_status == 413 ? "The message is too large."
                                             : "The server did not accept the message.");
    free(l);
    post_next(r);
}

static void post_next(struct relay *r)
{
    static const struct fetch_events EVENTS = {on_post_head, on_post_data, on_posted};
    if (r->post || r->address.n == 0 || list_empty(&r->lines) || r->why.code != 0)
        return;
    const struct relay_line *l = LIST_ENTRY(r->lines.next, struct relay_line, node);
    struct client_ask q = {"POST", r->address, str_make(l->text, l->n), 0};
    r->post_status = 0;
    r->post = client_start(r->client, &q, 0, &EVENTS, r);
}

void relay_send(struct relay *r, str message)
{
    if (r->why.code != 0)
        return;
    if (r->queued + message.n > RELAY_QUEUE_MAX) {
        relay_fail(r, -ENOBUFS,
                   "the running server does not accept messages as fast as the client sends them");
        return;
    }
    struct relay_line *l = xcalloc(1, sizeof *l + message.n);
    l->n = message.n;
    memcpy(l->text, message.p, message.n);
    list_push(&r->lines, &l->node);
    r->queued += message.n;
    relay_note(r, message);
    post_next(r);
}

bool relay_is_idle(const struct relay *r)
{
    return list_empty(&r->lines) && map_len(&r->asked) == 0;
}

/* ---- messages of the server ---- */

static void on_relay_event(void *ctx, const struct sse_event *ev)
{
    struct relay *r = ctx;
    if (str_eq(ev->event, STR("endpoint"))) {
        r->address = arena_str(&r->arena, ev->data);
        post_next(r);
    } else if (ev->data.n > 0) {
        note_answer(r, ev->data);
        r->ev.message(r->ctx, ev->data);
    }
}

static void on_relay_head(void *ctx, int status, const struct fetch_header *h, size_t n)
{
    ((struct relay *)ctx)->stream_status = status;
}

static void on_relay_data(void *ctx, str bytes)
{
    struct relay *r = ctx;
    if (r->stream_status != 200)
        (void)buf_add_str(&r->refusal, bytes);
    else if (sse_parser_feed(&r->sse, bytes) < 0)
        relay_fail(r, -EMSGSIZE, "a message of the running server is too large");
}

static void on_stream_done(void *ctx, const struct err *e)
{
    struct relay *r = ctx;
    struct arena a;
    assert(r->stream);
    r->stream = NULL;
    if (e->code != 0 || r->stream_status == 200) {
        /* the exact transport error does not help the user */
        bool was_open = r->stream_status == 200;
        relay_fail(r, was_open ? -ECONNRESET : e->code,
                   was_open ? "the running server closed the connection" : e->msg);
        return;
    }
    arena_init(&a);
    str why = client_message(r->client, &a, r->stream_status, buf_str(&r->refusal));
    relay_fail(r, -EACCES, arena_cstr(&a, why));
    arena_done(&a);
}

/* ---- life ---- */

struct relay *relay_new(struct loop *l, struct config *c, str source, const struct relay_events *ev,
                        void *ctx)
{
    static const struct fetch_events EVENTS = {on_relay_head, on_relay_data, on_stream_done};
    struct relay *r = xcalloc(1, sizeof *r);
    struct client_ask q = {.path = STR("/sse")};
    arena_init(&r->arena);
    r->loop = l;
    r->ev = *ev;
    r->ctx = ctx;
    sse_parser_init(&r->sse, EVENT_MAX, on_relay_event, r);
    buf_init(&r->refusal, ERROR_MAX);
    list_init(&r->lines);
    map_init(&r->asked);
    defer_init(&r->end, on_relay_end, r);
    r->client = client_open_socket(l, server_socket_path(c, &c->arena), c->workspace);
    if (source.n > 0)
        q.path = arena_concat(&r->arena, STR("/sse?source="), client_encode(&r->arena, source));
    r->stream = client_start(r->client, &q, 0, &EVENTS, r);
    return r;
}

void relay_free(struct relay *r)
{
    struct list_node *n;
    if (!r)
        return;
    defer_stop(&r->end);
    if (r->post)
        client_cancel(r->post);
    if (r->stream)
        client_cancel(r->stream);
    client_close(r->client);
    while ((n = list_pop(&r->lines)) != NULL)
        free(LIST_ENTRY(n, struct relay_line, node));
    sse_parser_done(&r->sse);
    buf_done(&r->refusal);
    map_done(&r->asked);
    arena_done(&r->arena);
    free(r);
}
