/* local.c - requests of this process, without a connection. */
#include <assert.h>
#include <unistd.h>

#include "http/conn/conn.h"
#include "http/conn/parse.h"

#define LOCAL_HEAD_MAX (64u * 1024)

void local_answer(struct request *r, int status, const char *type, str body)
{
    struct http_local l = *r->local;
    free(r->local);
    r->local = NULL;
    l.ev->on_head(l.ctx, status, type);
    if (body.n > 0)
        l.ev->on_data(l.ctx, body);
    l.ev->on_end(l.ctx);
}

struct http_local *local_stream(struct request *r, struct sse *s)
{
    struct http_local *l = r->local;
    const struct http_handlers *h = &r->pub.server->handlers;
    assert(!l->sse);
    r->local = NULL;
    l->request = NULL;
    l->sse = s;
    if (h->on_answered)
        h->on_answered(h->ctx, &r->pub, 200);
    l->ev->on_head(l->ctx, 200, "text/event-stream");
    return l;
}

void local_data(struct http_local *l, str bytes)
{
    l->ev->on_data(l->ctx, bytes);
}

void local_end(struct http_local *l)
{
    struct http_local ended = *l;
    free(l);
    ended.ev->on_end(ended.ctx);
}

void http_local_cancel(struct http_local *l)
{
    struct request *r = l->request;
    assert(!r != !l->sse); /* exactly one of them */
    defer_stop(&l->begin);
    if (l->sse)
        sse_local_gone(l->sse);
    else
        r->local = NULL;
    if (r && l->has_begun && r->pub.on_gone) {
        r->is_gone = true;
        r->pub.on_gone(&r->pub);
        request_release(r);
    } else if (r && !l->has_begun) {
        request_release(r);
    }
    free(l);
}

static void local_begin(void *ctx)
{
    struct http_local *l = ctx;
    struct http_req *q = &l->request->pub;
    const struct http_handlers *h = &q->server->handlers;
    l->has_begun = true;
    if (!q->path.p)
        http_reply_error(q, 400, NULL, "The request target is not valid.", NULL);
    else if (!h->on_head || h->on_head(h->ctx, q))
        h->on_request(h->ctx, q);
}

/* Uses the parser of connections, so that a path has the same meaning in both. */
static void set_head(struct http_server *s, struct request *r, const struct http_local_ask *ask)
{
    struct http_head head;
    struct buf b;
    size_t scanned = 0;
    buf_init(&b, LOCAL_HEAD_MAX);
    buf_printf(&b, "%s %.*s HTTP/1.1\r\nHost: localhost\r\n", ask->method, STR_ARG(ask->target));
    if (ask->header)
        buf_printf(&b, "%s: %.*s\r\n", ask->header, STR_ARG(ask->value));
    buf_add_lit(&b, "\r\n");
    if (buf_failed(&b) ||
        http_parse_head(buf_str(&b), &scanned, &s->limits, &head) != HTTP_PARSE_DONE ||
        request_set_head(r, &head, buf_str(&b)) < 0)
        r->pub.path = STR_NONE;
    buf_done(&b);
}

struct http_local *http_local(struct http_server *s, const struct http_local_ask *ask,
                              const struct http_local_events *ev, void *ctx)
{
    struct http_local *l = xcalloc(1, sizeof *l);
    struct request *r = request_new_local(s);
    *l = (struct http_local){.request = r, .ev = ev, .ctx = ctx};
    r->local = l;
    r->pub.is_local_socket = true;
    r->pub.peer_uid = (uint32_t)getuid();
    r->pub.body = arena_str(&r->pub.arena, ask->body);
    set_head(s, r, ask);
    defer_init(&l->begin, local_begin, l);
    defer_start(s->loop, &l->begin);
    return l;
}
