#include "gateway/http/stream.h"

#include <assert.h>

#include "gateway/http/session_log.h"

/* The client disconnected, or was too slow, or the gateway closed the stream. */
static void on_close(void *ctx)
{
    struct gw_stream *s = ctx;
    struct gw_request *owner = s->owner;
    assert(s->sse && !!owner + !!s->log + !!s->pipe <= 1);
    s->sse = NULL;
    if (s->log)
        s->log->reader = NULL;
    if (owner) {
        assert(owner->stream == s);
        owner->stream = NULL;
        /* In the stateless era a client cancels a request by closing its stream. */
        if (owner->era == MCP_ERA_MODERN)
            gw_request_cancel(owner);
    }
    if (s->pipe)
        gateway_pipe_close(s->pipe);
    free(s);
}

/* Some request of its session or pipe is in progress. */
static bool is_busy(void *ctx)
{
    const struct gw_stream *s = ctx;
    if (s->pipe)
        return !gateway_pipe_is_idle(s->pipe);
    return s->log && s->log->session->nrequests > 0;
}

struct gw_stream *gw_stream_open(struct gateway *g, struct http_req *r, bool is_lasting)
{
    struct gw_stream *s = xcalloc(1, sizeof *s);
    s->g = g;
    http_add_header(r, "X-Accel-Buffering", STR("no"));
    s->sse = is_lasting ? sse_open_watch(r, on_close, is_busy, s) : sse_open(r, on_close, s);
    return s;
}

void gw_stream_send(struct gw_stream *s, str event, str id, str data)
{
    if (s->sse)
        sse_send_now(s->sse, event, id, data);
}

void gw_stream_close(struct gw_stream *s)
{
    s->owner = NULL;
    s->pipe = NULL;
    if (s->log)
        s->log->reader = NULL;
    s->log = NULL;
    if (s->sse)
        sse_close(s->sse);
}
