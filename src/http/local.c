#include "http/local.h"

#include <unistd.h>

#include "http/conn/conn.h"
#include "http/conn/parse.h"

#define LOCAL_HEAD_MAX (64u * 1024)

struct local_call {
    struct deferred begin;
    struct request *request;
    http_local_fn fn;
    void *ctx;
};

static void local_deliver(void *ctx, int status, const char *type, str body)
{
    struct local_call *l = ctx;
    http_local_fn fn = l->fn;
    void *fn_ctx = l->ctx;
    free(l);
    fn(fn_ctx, status, type, body);
}

static void local_begin(void *ctx)
{
    struct local_call *l = ctx;
    struct http_req *q = &l->request->pub;
    const struct http_handlers *h = &q->server->handlers;
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
    buf_printf(&b, "%s %.*s HTTP/1.1\r\nHost: localhost\r\n\r\n", ask->method,
               STR_ARG(ask->target));
    if (buf_failed(&b) ||
        http_parse_head(buf_str(&b), &scanned, &s->limits, &head) != HTTP_PARSE_DONE ||
        request_set_head(r, &head, buf_str(&b)) < 0)
        r->pub.path = STR_NONE;
    buf_done(&b);
}

void http_local(struct http_server *s, const struct http_local_ask *ask, http_local_fn fn,
                void *ctx)
{
    struct local_call *l = xcalloc(1, sizeof *l);
    struct request *r = request_new_local(s);
    *l = (struct local_call){.request = r, .fn = fn, .ctx = ctx};
    r->on_local = local_deliver;
    r->local_ctx = l;
    r->pub.is_local_socket = true;
    r->pub.peer_uid = (uint32_t)getuid();
    r->pub.body = arena_str(&r->pub.arena, ask->body);
    set_head(s, r, ask);
    defer_init(&l->begin, local_begin, l);
    defer_start(s->loop, &l->begin);
}
