#include "http/stream.h"

#include <assert.h>

#include "http/conn/share.h"

enum { LOCAL_BYTES_MAX = 64 * 1024 * 1024 };

struct http_stream {
    struct http_server *server;
    struct http_conn *conn; /* NULL: ended, on_close will be called */
    struct http_stream_maker maker;
    struct deferred next, closed;
    struct timer later;  /* the same as `next`, for a party that has to wait */
    struct request *req; /* of this process: the pieces are collected, and answered at the end */
    struct buf local;
    const char *type;
    bool is_chunked, has_chunk, is_asked;
};

/* ---- asking for the next piece ---- */

static void stream_ask(void *ctx)
{
    struct http_stream *s = ctx;
    s->is_asked = true;
    s->maker.produce(s->maker.ctx);
}

static void ask_later(struct http_stream *s)
{
    uint64_t wait_ms = s->conn ? share_wait_ms(s->conn) : 0;
    if (wait_ms > 0)
        timer_start(&s->later, wait_ms);
    else
        defer_start(s->server->loop, &s->next);
}

static void on_stream_closed(void *ctx)
{
    struct http_stream *s = ctx;
    struct http_server *v = s->server;
    s->maker.on_close(s->maker.ctx);
    buf_done(&s->local);
    free(s);
    v->nstreams--;
    server_check_stopped(v);
}

static void over(struct http_stream *s)
{
    s->conn = NULL;
    timer_stop(&s->later);
    defer_stop(&s->next);
    defer_start(s->server->loop, &s->closed);
}

void stream_conn_gone(struct http_stream *s)
{
    over(s);
}

void stream_drained(struct http_stream *s)
{
    conn_set_deadline(s->conn, 0);
    ask_later(s);
}

/* ---- sending ---- */

static void watch_reader(struct http_stream *s)
{
    struct http_conn *c = s->conn;
    c->flush_left = uv_stream_get_write_queue_size(&c->uv.stream);
    if (c->flush_left == 0)
        ask_later(s);
    else
        conn_set_deadline(c, s->server->limits.body_stall_ms);
}

static bool send_piece(struct http_stream *s, str piece)
{
    char size[32] = "";
    if (s->is_chunked)
        (void)snprintf(size, sizeof size, "%s%zx\r\n", s->has_chunk ? "\r\n" : "", piece.n);
    s->has_chunk = true;
    return conn_write(s->conn, str_from(size), piece, false);
}

void http_stream_write(struct http_stream *s, str piece)
{
    assert(s->is_asked);
    s->is_asked = false;
    if (s->req) {
        (void)buf_add_str(&s->local, piece);
        ask_later(s);
        return;
    }
    if (!s->conn)
        return;
    bool is_paid = share_begin_answer(s->conn);
    share_note(s->conn);
    if (piece.n == 0 || send_piece(s, piece))
        watch_reader(s);
    if (is_paid)
        share_end(s->server);
}

static void end_local(struct http_stream *s)
{
    struct http_req *r = &s->req->pub;
    s->req = NULL;
    if (buf_failed(&s->local))
        http_reply_error(r, 500, NULL, "The response is too large.", NULL);
    else
        http_reply(r, s->maker.status, s->type, buf_str(&s->local));
    over(s);
}

void http_stream_end(struct http_stream *s)
{
    struct http_conn *c = s->conn;
    if (s->req)
        end_local(s);
    if (!c)
        return;
    if (s->is_chunked &&
        !conn_write(c, s->has_chunk ? STR("\r\n0\r\n\r\n") : STR("0\r\n\r\n"), STR_NONE, true))
        return;
    c->stream = NULL;
    over(s);
    conn_answered(c);
}

void http_stream_fail(struct http_stream *s)
{
    if (s->req) {
        struct http_req *r = &s->req->pub;
        s->req = NULL;
        http_reply_error(r, 500, NULL, "The response could not be completed.", NULL);
        over(s);
    } else if (s->conn) {
        conn_reset(s->conn);
    }
}

/* ---- opening ---- */

static void take_over(struct http_stream *s, struct request *r)
{
    bool is_head = r->is_head;
    response_begin_stream(r, s->type, s->maker.status,
                          s->maker.has_length ? (int64_t)s->maker.length : -1);
    struct http_conn *c = response_detach(r, s->maker.status);
    if (!conn_write(c, buf_str(&s->server->out_head), STR_NONE, true)) {
        over(s);
    } else if (is_head) {
        over(s);
        conn_answered(c);
    } else {
        c->state = CONN_STREAM;
        c->stream = s;
        s->conn = c;
        conn_set_deadline(c, 0);
        watch_reader(s);
    }
}

struct http_stream *http_stream_open(struct http_req *q, const char *type,
                                     const struct http_stream_maker *m)
{
    struct request *r = request_of(q);
    assert(!r->is_gone && q->server);
    struct http_stream *s = xcalloc(1, sizeof *s);
    *s = (struct http_stream){.server = q->server, .maker = *m, .type = type};
    s->maker.status = m->status ? m->status : 200;
    s->is_chunked = r->minor == 1 && !m->has_length;
    buf_init(&s->local, LOCAL_BYTES_MAX);
    defer_init(&s->next, stream_ask, s);
    defer_init(&s->closed, on_stream_closed, s);
    timer_init(&s->later, q->server->loop, stream_ask, s);
    s->server->nstreams++;
    q->on_gone = NULL;
    if (r->has_bad_header) {
        over(s);
        http_reply_error(q, 500, NULL, "", NULL);
    } else if (!q->conn && r->local) {
        s->req = r;
        ask_later(s);
    } else if (!q->conn) {
        over(s);
        http_reply(q, 200, NULL, STR_NONE);
    } else {
        take_over(s, r);
        request_release(r);
    }
    return s;
}
