#include <assert.h>

#include "gateway/http/http.h"
#include "gateway/http/session_log.h"
#include "gateway/http/stream.h"

static bool takes(const struct http_req *r, const char *type)
{
    str accept = http_get_header(r, "accept");
    return str_find_nocase(accept, str_from(type)) >= 0 || str_find(accept, STR("*/*"), 0) >= 0;
}

static void on_http_sink_gone(struct http_req *r)
{
    struct gw_request *q = r->user;
    assert(q->http == r && q->era == MCP_ERA_MODERN); /* older clients cancel with a message */
    q->http = NULL;
    gw_request_cancel(q);
}

static bool http_sink_stream(struct gw_request *q)
{
    struct http_req *r = q->http;
    if (!r || !q->takes_stream)
        return false;
    if (timer_active(&q->quiet))
        timer_stop(&q->quiet);
    assert(!q->log && !q->stream); /* a response becomes a stream once */
    q->http = NULL;
    r->on_gone = NULL;
    if (q->session && q->session->is_http) {
        http_add_header(r, "Mcp-Session-Id", str_from(q->session->id));
        q->log = gw_log_new(q->session);
        q->log->pending = 1;
        gw_log_attach(q->log, r);
        return true;
    }
    q->stream = gw_stream_open(q->g, r, false);
    q->stream->owner = q;
    return true;
}

static void on_quiet(void *request)
{
    struct gw_request *q = request;
    if (q->http)
        (void)http_sink_stream(q);
}

void gw_http_sink_init(struct gw_request *q, struct http_req *r)
{
    assert(!q->out && !q->http && !q->pipe);
    q->out = &GW_OUT_HTTP;
    q->http = r;
    q->takes_stream = takes(r, "text/event-stream");
    q->takes_json = !q->takes_stream || takes(r, "application/json");
    r->user = q;
    r->on_gone = q->era == MCP_ERA_MODERN ? on_http_sink_gone : NULL;
    if (!q->takes_stream)
        return;
    timer_init(&q->quiet, q->g->deps.loop, on_quiet, q);
    timer_start(&q->quiet, GW_QUIET_MS);
}

static void add_to_stream(struct gw_request *q, str message)
{
    if (q->log)
        gw_log_add(q->log, message);
    else if (q->stream)
        gw_stream_send(q->stream, STR("message"), STR_NONE, message);
}

static bool http_sink_emit(struct gw_request *q, str message)
{
    if (q->http && !http_sink_stream(q))
        return false;
    add_to_stream(q, message);
    return true;
}

static void let_go(struct gw_request *q)
{
    if (q->log)
        gw_log_over(q->log);
    if (q->stream)
        gw_stream_close(q->stream);
    q->log = NULL;
    q->stream = NULL;
}

static void http_sink_answer(struct gw_request *q, int status, str message)
{
    if (q->http && !q->takes_json)
        (void)http_sink_stream(q);
    struct http_req *r = q->http;
    if (r) {
        q->http = NULL;
        r->on_gone = NULL;
        if (q->session && q->session->is_http)
            http_add_header(r, "Mcp-Session-Id", str_from(q->session->id));
        http_reply(r, status, "application/json", message);
        return;
    }
    add_to_stream(q, message);
    let_go(q);
}

/* A cancelled request gets no JSON-RPC response, but HTTP requires a response: send a stream
 * without events. */
static void http_sink_end(struct gw_request *q)
{
    struct http_req *r = q->http;
    if (r && !http_sink_stream(q)) {
        q->http = NULL;
        r->on_gone = NULL;
        http_reply(r, 204, NULL, STR_NONE);
    }
    let_go(q);
}

const struct reply_sink GW_OUT_HTTP = {http_sink_emit, http_sink_answer, http_sink_end,
                                       http_sink_stream};
