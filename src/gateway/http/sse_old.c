/* sse_old.c - the transport of 2024-11-05: one stream for all messages of the server, and an
 * address, sent as the first event, to which the client posts its messages. Together they form a
 * pipe. */
#include "gateway/http/http.h"
#include "gateway/http/pipe.h"
#include "gateway/http/stream.h"

#define OPERATOR_QUEUE_MAX                                                                         \
    (64u * 1024 * 1024) /* bytes that `nb mcp serve` may leave unread for its client */

void gateway_sse_open(struct gateway *g, struct http_req *r, const struct gateway_caller *who)
{
    char address[512];
    str source = http_query(r, "source");
    bool is_operator = actor_is_operator(who->actor);
    if (!gw_http_has_source(r, who, source))
        return;
    if (!is_operator && !gw_session_make_room(g, who)) {
        http_reply_error(r, 429, "too_many_sessions", GW_TOO_MANY_SESSIONS, NULL);
        return;
    }
    struct gateway_pipe *p = gateway_pipe_open(g, who, source, NULL, NULL);
    const struct gw_session *s = gw_pipe_session(p);
    snprintf(address, sizeof address, "%.*s/sse/message?session=%s%s%.*s",
             STR_ARG(g->deps.base_path), s->id, source.n > 0 ? "&source=" : "", STR_ARG(source));
    struct gw_stream *stream = gw_stream_open(g, r, true);
    if (is_operator)
        sse_set_queue_max(stream->sse, OPERATOR_QUEUE_MAX);
    gw_pipe_attach(p, stream);
    gw_stream_send(stream, STR("endpoint"), STR_NONE, str_from(address));
}

void gateway_sse_post(struct gateway *g, struct http_req *r, const struct gateway_caller *who)
{
    struct gw_session *s =
        gw_session_find(g, http_query(r, "session"), who, http_query(r, "source"));
    if (!s || !s->pipe) {
        http_reply_error(r, 404, "session_not_found", "No such session.", NULL);
        return;
    }
    /* first, because the request describes the caller and is freed when the stream opens */
    gw_pipe_take(s->pipe, who, r->body);
    http_reply(r, 202, NULL, STR_NONE);
}
