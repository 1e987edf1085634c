#include "http/server.h"

#include <assert.h>

#include "base/bytes/random.h"
#include "http/conn/conn.h"
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
    free(s->plain_buf);
    free(s);
}

void http_server_stats(const struct http_server *s, struct http_stats *ret)
{
    *ret = s->stats;
    ret->streams = s->nstreams;
    ret->is_stopping = s->is_stopping;
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
