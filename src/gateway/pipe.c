/* pipe.c - one client, lines in, lines out: `nb mcp serve`, in either era. */
#include "gateway/session.h"

struct gateway_pipe {
    struct list_node node;
    struct gw_space *space;
    struct gateway_caller who;
    struct arena arena;
    str source;
    void (*send)(void *ctx, str message);
    void *ctx;
    struct gw_session *session; /* NULL until a client of the older revisions speaks */
    struct list_node requests;  /* of the stateless one */
};

static bool emit(struct gw_request *q, str message)
{
    q->pipe->send(q->pipe->ctx, message);
    return true;
}

static void answer(struct gw_request *q, int status, str message)
{
    q->pipe->send(q->pipe->ctx, message);
}

static void end(struct gw_request *q) {}

static const struct gw_outlet OUT_PIPE = {emit, answer, end};

struct gateway_pipe *gateway_pipe_open(struct gateway *g, const struct gateway_caller *who,
                                       str source, void (*send)(void *ctx, str message), void *ctx)
{
    struct gateway_pipe *p = xcalloc(1, sizeof *p);
    arena_init(&p->arena);
    p->space = gw_space_of(g, who);
    p->who = *who;
    p->who.workspace_id = arena_str(&p->arena, who->workspace_id);
    p->who.viewer.user_id = arena_str(&p->arena, who->viewer.user_id);
    p->source = arena_str(&p->arena, source);
    p->send = send;
    p->ctx = ctx;
    list_init(&p->requests);
    return p;
}

static void send_failure(struct gateway_pipe *p, const struct json *id, int code, const char *text)
{
    struct buf *b = &p->space->g->scratch;
    static const struct json NONE = {.type = JSON_NULL};
    buf_clear(b);
    rpc_write_error(b, id ? id : &NONE, code, str_from(text));
    p->send(p->ctx, buf_str(b));
}

static void to_session(void *ctx, str message)
{
    struct gateway_pipe *p = ctx;
    p->send(p->ctx, message);
}

static void legacy(struct gateway_pipe *p, struct gw_request *q, const struct rpc_message *m)
{
    if (!p->session) {
        p->session = gw_session_new(p->space, &p->who, p->source);
        p->session->sink = to_session;
        p->session->sink_ctx = p;
    }
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

/* Cancellation looks the same in both eras: whose it is, its id says. */
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
    return json_get(json_get(m->params, "_meta"), META_VERSION) ||
           (!p->session && str_eq(m->method, STR("server/discover")));
}

void gateway_pipe_line(struct gateway_pipe *p, str line)
{
    struct gw_request *q = gw_request_make(p->space, &p->who, p->source);
    struct json *doc;
    struct rpc_message m = {0};
    struct err e = {0};
    q->out = &OUT_PIPE;
    q->pipe = p;
    if (rpc_parse(&q->arena, arena_str(&q->arena, line), &doc, &e) < 0) {
        send_failure(p, NULL, RPC_PARSE_ERROR, "This line is not valid JSON.");
        gw_request_free(q);
    } else if (doc->type != JSON_OBJECT || rpc_classify(doc, &m, &e) < 0) {
        send_failure(p, m.id, RPC_INVALID_REQUEST, "This is no request.");
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

bool gateway_pipe_is_idle(const struct gateway_pipe *p)
{
    return list_empty(&p->requests) && (!p->session || p->session->nrequests == 0);
}

void gateway_pipe_close(struct gateway_pipe *p)
{
    LIST_FOREACH (n, &p->requests)
        gw_request_cancel(LIST_ENTRY(n, struct gw_request, peer));
    if (p->session) {
        p->session->sink = NULL;
        gw_session_end(p->session);
    }
    arena_done(&p->arena);
    free(p);
}
