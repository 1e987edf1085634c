/* receive.c - bodies that go to their handler in pieces (http_receive). */
#include <assert.h>

#include "http/conn/conn.h"

static void tell_gone(struct request *r)
{
    r->is_gone = true;
    r->pub.on_gone(&r->pub);
    r->is_gone = false;
    r->pub.on_gone = NULL;
    r->sink = NULL;
    r->is_paused = false;
}

const char *receive_limit_words(struct request *r)
{
    return arena_printf(&r->pub.arena, "The body is larger than %zu bytes, the limit of this path.",
                        (size_t)r->pub.body_max)
        .p;
}

void receive_refuse(struct request *r, int status, const char *message)
{
    if (r->sink)
        tell_gone(r);
    response_refuse(r, status, message);
}

static void receive_end(struct request *r)
{
    const struct http_sink *sink = r->sink;
    r->sink = NULL;
    if (r->pub.conn) {
        r->pub.conn->state = CONN_WAIT;
        conn_set_deadline(r->pub.conn, 0);
    }
    sink->on_end(&r->pub);
}

void receive_piece(struct request *r, str piece, bool is_last)
{
    struct http_conn *c = r->pub.conn;
    assert(c && c->req == r && !r->is_paused);
    if (c->body_bytes > r->pub.body_max) {
        receive_refuse(r, 413, receive_limit_words(r));
        return;
    }
    if (piece.n > 0 && !r->sink->on_piece(&r->pub, piece))
        return;
    if (is_last && !r->is_paused)
        receive_end(r);
    else if (r->is_paused)
        conn_set_deadline(c, 0); /* it waits for us, not for the client */
    else
        conn_set_body_deadline(c, c->server->limits.body_stall_ms);
}

/* Of this process: the whole body is there. */
static void receive_local(struct request *r)
{
    if (r->pub.body.n > r->pub.body_max) {
        receive_refuse(r, 413, receive_limit_words(r));
        return;
    }
    if (r->pub.body.n > 0 && !r->sink->on_piece(&r->pub, r->pub.body))
        return;
    if (!r->is_paused)
        receive_end(r);
}

void http_receive(struct http_req *q, const struct http_sink *sink)
{
    struct request *r = request_of(q);
    struct http_conn *c = q->conn;
    uint64_t left = 0;
    assert(q->on_gone && !r->sink);
    r->sink = sink;
    if (!c) {
        receive_local(r);
        return;
    }
    assert(c->state == CONN_BODY || c->state == CONN_WAIT);
    c->state = CONN_BODY;
    if (http_body_is_done(&c->body)) {
        receive_end(r);
    } else if (http_body_length_left(&c->body, &left) && left > q->body_max) {
        receive_refuse(r, 413, receive_limit_words(r));
    } else {
        conn_begin_body(c, c->in.n > 0);
        if (c->state == CONN_BODY && !c->is_processing)
            conn_settle(c);
    }
}

void http_receive_pause(struct http_req *q)
{
    struct request *r = request_of(q);
    assert(r->sink);
    r->is_paused = true;
}

void http_receive_resume(struct http_req *q)
{
    struct request *r = request_of(q);
    struct http_conn *c = q->conn;
    assert(r->sink && r->is_paused);
    r->is_paused = false;
    if (!c || http_body_is_done(&c->body)) {
        receive_end(r);
        return;
    }
    conn_set_body_deadline(c, c->server->limits.body_stall_ms);
    if (!c->is_processing)
        conn_settle(c);
}
