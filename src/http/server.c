#include "http/server.h"

#include <assert.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "http/conn/conn.h"
#include "http/conn/parse.h"
#include "http/conn/tally.h"
#include "http/sse.h"

const struct http_limits HTTP_LIMITS_DEFAULT = {
    .head_bytes = 32 * 1024,
    .body_bytes = 1024 * 1024,
    .headers = HTTP_HEADERS_MAX,
    .conns = 16384,
    .conns_reserved = 2048,
    .conns_per_address = 256,
    .conns_per_person = 256,
    .streams_per_person = 64,
    .queue_per_person = 16u * 1024 * 1024,
    .queue_total = 256u * 1024 * 1024,
    .head_timeout_ms = 10000,
    .body_stall_ms = 30000,
    .idle_ms = 255000,
    .drain_bytes = 8 * 1024 * 1024,
};

enum { OUT_HEAD_MAX = 64 * 1024 };

static void on_grace_over(void *ctx);
static void on_server_stopped(void *ctx);

struct http_server *http_server_new(struct loop *l, const struct http_limits *limits,
                                    const struct http_handlers *h)
{
    assert(h->on_request);
    struct http_server *s = xcalloc(1, sizeof(*s));
    s->loop = l;
    s->limits = limits ? *limits : HTTP_LIMITS_DEFAULT;
    s->handlers = *h;
    assert(s->limits.headers <= HTTP_HEADERS_MAX);
    assert(s->limits.head_bytes <= HTTP_BACKLOG_MAX - HTTP_READ_BYTES - 2);
    list_init(&s->listeners);
    list_init(&s->heads);
    list_init(&s->idle);
    map_init(&s->tallies);
    list_init(&s->busy);
    list_init(&s->live);
    list_init(&s->spare);
    list_init(&s->streams);
    list_init(&s->unsent);
    defer_init(&s->send, sse_send_unsent, s);
    timer_init(&s->ping, l, sse_ping_due, s);
    timer_init(&s->grace, l, on_grace_over, s);
    defer_init(&s->stopped, on_server_stopped, s);
    buf_init(&s->out_head, OUT_HEAD_MAX);
    buf_init(&s->out_body, HTTP_REPLY_MAX);
    s->read_buf = xcalloc(1, HTTP_READ_BYTES);
    s->ping_ms = SSE_PING_MS;
    s->id_seed = random_u64();
    return s;
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    assert(s->stats.conns == 0 && s->nlisteners == 0 && s->nstreams == 0);
    timer_stop(&s->ping);
    defer_stop(&s->send);
    timer_stop(&s->grace);
    defer_stop(&s->stopped);
    request_drop_all(s);
    sse_frame_unref(s->ping_frame);
    buf_done(&s->out_head);
    buf_done(&s->out_body);
    tallies_free(s);
    free(s->read_buf);
    free(s);
}

void http_server_stats(const struct http_server *s, struct http_stats *ret)
{
    *ret = s->stats;
    ret->streams = s->nstreams;
}

uint64_t server_now_ms(const struct http_server *s)
{
    return uv_now(loop_uv(s->loop));
}

/* ---- stopping ---- */

static void close_all(struct list_node *conns)
{
    LIST_FOREACH (it, conns)
        conn_close(LIST_ENTRY(it, struct http_conn, node));
}

void http_server_stop(struct http_server *s, uint64_t grace_ms, loop_fn done, void *ctx)
{
    s->stop_done = done;
    s->stop_ctx = ctx;
    s->is_stopping = true;
    listeners_close(s);
    close_all(&s->idle);
    conn_close_silent(s);
    sse_stop_all(s);
    timer_start(&s->grace, grace_ms);
    server_check_stopped(s);
}

static void on_grace_over(void *ctx)
{
    struct http_server *s = ctx;
    close_all(&s->idle);
    close_all(&s->heads);
    close_all(&s->busy);
}

void server_check_stopped(struct http_server *s)
{
    if (s->is_stopping && s->stop_done && !s->stats.conns && !s->nlisteners && !s->nstreams)
        defer_start(s->loop, &s->stopped);
}

static void on_server_stopped(void *ctx)
{
    struct http_server *s = ctx;
    loop_fn done = s->stop_done;
    s->stop_done = NULL;
    timer_stop(&s->grace);
    timer_stop(&s->ping);
    if (done)
        done(s->stop_ctx);
}

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
