#include "gateway/http/pipe.h"

#include <assert.h>

#include "gateway/http/http.h"
#include "gateway/http/stream.h"
#include "gateway/methods/method.h"

struct gateway_pipe {
    struct gw_space *space;
    struct gateway_caller who;
    struct arena arena;
    str source;
    void (*send)(void *ctx, str message);
    void *ctx;
    struct gw_stream *stream;   /* used instead of `send`; owns the pipe */
    struct gw_session *session; /* NULL until a client of the older revisions sends a message */
    struct list_node requests;  /* requests of stateless clients */
};

void gw_pipe_send(struct gateway_pipe *p, str message)
{
    if (p->stream)
        gw_stream_send(p->stream, STR("message"), STR_NONE, message);
    else if (p->send)
        p->send(p->ctx, message);
}

static bool pipe_emit(struct gw_request *q, str message)
{
    gw_pipe_send(q->pipe, message);
    return true;
}

static void pipe_answer(struct gw_request *q, int status, str message)
{
    gw_pipe_send(q->pipe, message);
}

static void pipe_end(struct gw_request *q) {}

static bool pipe_stream(struct gw_request *q)
{
    return true; /* a pipe carries any number of messages */
}

static const struct reply_sink OUT_PIPE = {pipe_emit, pipe_answer, pipe_end, pipe_stream};

/* ---- life ---- */

struct gateway_pipe *gateway_pipe_open(struct gateway *g, const struct gateway_caller *who,
                                       str source, void (*send)(void *ctx, str message), void *ctx)
{
    struct gateway_pipe *p = xcalloc(1, sizeof *p);
    arena_init(&p->arena);
    p->space = gw_space_of(g, who);
    p->who = *who;
    p->who.workspace_id = arena_str(&p->arena, who->workspace_id);
    p->who.actor = actor_ref(who->actor);
    p->source = arena_str(&p->arena, source);
    p->send = send;
    p->ctx = ctx;
    list_init(&p->requests);
    return p;
}

void gw_pipe_attach(struct gateway_pipe *p, struct gw_stream *s)
{
    assert(!p->stream && !p->send && !s->owner && !s->log);
    p->stream = s;
    s->pipe = p;
}

void gateway_pipe_close(struct gateway_pipe *p)
{
    struct gw_session *s = p->session;
    LIST_FOREACH (n, &p->requests)
        gw_request_cancel(LIST_ENTRY(n, struct gw_request, peer));
    assert(list_empty(&p->requests));
    p->session = NULL;
    if (s) {
        assert(s->pipe == p);
        s->pipe = NULL;
        gw_session_end(s);
    }
    if (p->stream)
        gw_stream_close(p->stream);
    actor_unref(p->who.actor);
    arena_done(&p->arena);
    free(p);
}

void gw_pipe_session_ended(struct gateway_pipe *p)
{
    assert(p->session);
    p->session = NULL;
    /* the session has ended and its state is lost, so the client must be disconnected too */
    if (p->stream)
        gateway_pipe_close(p);
}

const struct gw_session *gw_pipe_session(struct gateway_pipe *p)
{
    if (!p->session) {
        p->session = gw_session_new(p->space, &p->who, p->source);
        p->session->pipe = p;
    }
    return p->session;
}

/* ---- messages ---- */

static void send_failure(struct gateway_pipe *p, const struct json *id, int code, const char *text)
{
    struct buf *b = &p->space->g->scratch;
    static const struct json NONE = {.type = JSON_NULL};
    buf_recycle(b, GW_SPARE_BYTES);
    rpc_write_error(b, id ? id : &NONE, code, str_from(text));
    gw_pipe_send(p, buf_str(b));
}

static void legacy(struct gateway_pipe *p, struct gw_request *q, const struct rpc_message *m)
{
    (void)gw_pipe_session(p);
    if (m->kind == RPC_REQUEST) {
        gw_session_message(p->session, q, m);
        return;
    }
    gw_session_message(p->session, NULL, m);
    gw_request_free(q);
}

static void modern(struct gateway_pipe *p, struct gw_request *q, const struct rpc_message *m)
{
    if (m->kind == RPC_REQUEST) {
        list_push(&p->requests, &q->peer);
        if (gw_modern_accept(q))
            gw_method_run(q);
        return;
    }
    gw_request_free(q);
}

/* A cancellation looks the same in both eras; the id tells which request it cancels. */
static bool cancel_modern(struct gateway_pipe *p, const struct rpc_message *m)
{
    if (m->kind != RPC_NOTIFICATION || !str_eq(m->method, STR("notifications/cancelled")))
        return false;
    struct gw_request *q = gw_request_find(&p->requests, json_get(m->params, "requestId"));
    if (q)
        gw_request_cancel(q);
    return q != NULL;
}

static bool is_modern(const struct gateway_pipe *p, const struct rpc_message *m)
{
    bool has_spoken = p->session && p->session->version.n > 0;
    return json_get(json_get(m->params, "_meta"), META_VERSION) ||
           (!has_spoken && str_eq(m->method, STR("server/discover")));
}

void gw_pipe_take(struct gateway_pipe *p, const struct gateway_caller *who, str message)
{
    struct gw_request *q = gw_request_make(p->space, who, p->source);
    struct json *doc;
    struct rpc_message m = {0};
    struct err e = {0};
    q->out = &OUT_PIPE;
    q->pipe = p;
    if (rpc_parse(&q->arena, arena_str(&q->arena, message), &doc, &e) < 0) {
        send_failure(p, NULL, RPC_PARSE_ERROR, "This line is not valid JSON.");
        gw_request_free(q);
    } else if (doc->type != JSON_OBJECT || rpc_classify(doc, &m, &e) < 0) {
        send_failure(p, m.id, RPC_INVALID_REQUEST, "This is not a JSON-RPC request.");
        gw_request_free(q);
    } else if (cancel_modern(p, &m)) {
        gw_request_free(q);
    } else if (is_modern(p, &m)) {
        gw_request_set(q, &m, MCP_ERA_MODERN);
        modern(p, q, &m);
    } else {
        gw_request_set(q, &m, MCP_ERA_LEGACY);
        legacy(p, q, &m);
    }
}

void gateway_pipe_line(struct gateway_pipe *p, str line)
{
    gw_pipe_take(p, &p->who, line);
}

bool gateway_pipe_is_idle(const struct gateway_pipe *p)
{
    return list_empty(&p->requests) && (!p->session || p->session->nrequests == 0);
}
