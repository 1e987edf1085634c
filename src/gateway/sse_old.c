/* sse_old.c - the transport of 2024-11-05: one stream for everything we say, and an address of its
 * own, told as the first event, for what the client says. */
#include "gateway/session.h"

static bool emit(struct gw_request *q, str message)
{
    if (q->session)
        gw_session_send(q->session, message);
    return true;
}

static void answer(struct gw_request *q, int status, str message)
{
    if (q->session)
        gw_session_send(q->session, message);
}

static void end(struct gw_request *q) {}

static const struct gw_outlet OUT_SESSION = {emit, answer, end};

void gateway_sse_open(struct gateway *g, struct http_req *r, const struct gateway_caller *who)
{
    char address[96];
    struct gw_session *s = gw_session_new(gw_space_of(g, who), who, STR_NONE);
    snprintf(address, sizeof address, "/sse/message?session=%s", s->id);
    s->sink_stream = gw_stream_open(g, r);
    s->sink_stream->session = s;
    gw_stream_send(s->sink_stream, STR("endpoint"), STR_NONE, str_from(address));
}

static void take(struct gw_session *s, struct gw_request *q, struct json *v)
{
    struct rpc_message m = {0};
    struct err e = {0};
    q->out = &OUT_SESSION;
    q->session = s;
    if (rpc_classify(v, &m, &e) < 0) {
        q->id = m.id;
        gw_request_fail(q, RPC_INVALID_REQUEST, "%s", e.msg);
        return;
    }
    gw_request_set(q, &m, MCP_ERA_LEGACY);
    if (m.kind == RPC_REQUEST) {
        gw_session_message(s, q, &m);
        return;
    }
    q->session = NULL;
    gw_session_message(s, NULL, &m);
    gw_request_free(q);
}

void gateway_sse_post(struct gateway *g, struct http_req *r, const struct gateway_caller *who)
{
    struct gw_session *s = gw_session_find(g, http_query(r, "session"), who, STR_NONE);
    struct json *doc;
    struct err e = {0};
    if (!s || !s->sink_stream) {
        http_reply_error(r, 404, "session_not_found", "There is no such session.", NULL);
        return;
    }
    struct gw_request *q = gw_request_make(s->space, who, STR_NONE);
    if (rpc_parse(&q->arena, arena_str(&q->arena, r->body), &doc, &e) < 0 ||
        doc->type != JSON_OBJECT) {
        gw_request_free(q);
        http_reply_error(r, 400, "bad_request", "The body is not one JSON-RPC message.", NULL);
        return;
    }
    http_reply(r, 202, NULL, STR_NONE);
    take(s, q, doc);
}
