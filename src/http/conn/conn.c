/* conn.c - the state machine of a connection; conn.h has its diagram.
 *
 * Bytes arrive in one buffer that all connections share and are consumed before the read
 * callback returns. Only bytes that cannot be used yet (half a head, pipelined requests) are copied
 * into the connection's own buffer, so an idle connection owns nothing but its struct.
 *
 * All input goes through conn_process, which calls conn_advance until the state needs something
 * else than input, and then conn_settle, which decides what the connection waits for: its
 * deadline, its list (heads, idle, busy), whether the socket is read, and whether to close.
 * An answer may come inside conn_process (is_processing) or later; later answers call conn_settle
 * themselves. Any callback of a handler may close the connection: check the state after it. */
#include "http/conn/conn.h"

#include <assert.h>

#include "http/conn/share.h"
#include "http/tls/tls.h"

static void conn_process(struct http_conn *c, str in);

/* ---- deadlines ---- */

/* Deadlines move with every request. The timer is not restarted for a later deadline: it checks
 * deadline_ms when it fires, which saves a heap operation per request. */
void conn_set_deadline(struct http_conn *c, uint64_t delay_ms)
{
    c->deadline_ms = delay_ms ? server_now_ms(c->server) + delay_ms : 0;
    if (!delay_ms || (timer_active(&c->timer) && c->armed_ms <= c->deadline_ms))
        return;
    c->armed_ms = c->deadline_ms;
    timer_start(&c->timer, delay_ms);
}

/* A body may pause for the stall time, but must also arrive at a minimal rate: otherwise one byte
 * every few seconds would hold a connection without end. */
void conn_set_body_deadline(struct http_conn *c, uint64_t stall_ms)
{
    uint64_t now = server_now_ms(c->server);
    uint64_t latest = c->body_began_ms + stall_ms + c->body_bytes * 1000 / HTTP_BODY_RATE_MIN;
    uint64_t delay = latest > now ? latest - now : 1;
    conn_set_deadline(c, delay < stall_ms ? delay : stall_ms);
}

/* Whether the reader has taken bytes since the last deadline. */
static bool is_flushing(struct http_conn *c)
{
    size_t left = uv_stream_get_write_queue_size(&c->uv.stream);
    bool has_moved = left < c->flush_left;
    c->flush_left = left;
    return has_moved;
}

static void on_deadline(struct http_conn *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_HEAD:
        if (c->in.n == 0)
            conn_close(c); /* idle: the client expects this */
        else
            response_fail(c, 408, "the request head took too long");
        break;
    case CONN_BODY:
        receive_refuse(c->req, 408, "the request body took too long");
        break;
    case CONN_FLUSH:
    case CONN_STREAM:
        if (is_flushing(c))
            conn_set_deadline(c, c->server->limits.body_stall_ms);
        else
            conn_reset(c);
        break;
    case CONN_DRAIN:
    case CONN_LINGER:
        conn_close(c);
        break;
    case CONN_READY: /* the server's own work has no deadline */
    case CONN_WAIT:
    case CONN_CLOSED:
        break;
    }
}

void conn_on_timer(void *ctx)
{
    struct http_conn *c = ctx;
    if (!c->deadline_ms)
        return;
    uint64_t now = server_now_ms(c->server);
    if (now >= c->deadline_ms) {
        on_deadline(c);
        return;
    }
    c->armed_ms = c->deadline_ms;
    timer_start(&c->timer, c->deadline_ms - now);
}

/* ---- output ---- */

struct write {
    uv_write_t uv;
    size_t n;
    char data[];
};

static void after_flush(struct http_conn *c);

static void on_conn_written(uv_write_t *req, int status)
{
    struct http_conn *c = req->handle->data;
    struct write *w = CONTAINER_OF(req, struct write, uv);
    tally_queued(c, -(ptrdiff_t)w->n);
    free(w);
    if (c->state == CONN_CLOSED)
        return;
    if (status < 0)
        conn_close(c);
    else if (c->state == CONN_FLUSH && uv_stream_get_write_queue_size(&c->uv.stream) == 0)
        after_flush(c);
    else if (c->stream && uv_stream_get_write_queue_size(&c->uv.stream) == 0)
        stream_drained(c->stream);
}

/* Hands the rest of a response to libuv. The copy is counted for the party until it is written. */
static bool queue_write(struct http_conn *c, str head, str body, bool is_static)
{
    size_t copied = head.n + (is_static ? 0 : body.n);
    struct write *w = xcalloc(1, sizeof(*w) + copied);
    w->n = copied;
    if (head.n)
        memcpy(w->data, head.p, head.n);
    if (!is_static && body.n)
        memcpy(w->data + head.n, body.p, body.n);

    uv_buf_t bufs[2] = {{w->data, copied}, {(char *)body.p, is_static ? body.n : 0}};
    uv_buf_t *from = copied ? bufs : bufs + 1;
    unsigned count = (copied > 0) + (bufs[1].len > 0);
    int rc = uv_write(&w->uv, &c->uv.stream, from, count, on_conn_written);
    if (rc < 0) {
        free(w);
        conn_close(c);
        return false;
    }
    tally_queued(c, (ptrdiff_t)copied);
    return true;
}

bool conn_write(struct http_conn *c, str head, str body, bool is_static)
{
    return c->tls ? secure_write(c, head, body) : conn_send(c, head, body, is_static);
}

bool conn_send(struct http_conn *c, str head, str body, bool is_static)
{
    assert(c->state != CONN_CLOSED);
    uv_buf_t bufs[2] = {{(char *)head.p, head.n}, {(char *)body.p, body.n}};
    int rc = uv_try_write(&c->uv.stream, bufs, body.n ? 2 : 1);
    if (rc < 0 && rc != UV_EAGAIN) {
        conn_close(c);
        return false;
    }
    size_t sent = rc < 0 ? 0 : (size_t)rc;
    c->server->stats.bytes_out += head.n + body.n;
    if (sent == head.n + body.n)
        return true;
    size_t of_head = sent < head.n ? sent : head.n;
    return queue_write(c, str_skip(head, of_head), str_skip(body, sent - of_head), is_static);
}

/* ---- between requests ---- */

static void begin_head(struct http_conn *c)
{
    assert(!c->req && !c->sse && !c->stream);
    c->state = CONN_HEAD;
    c->scanned = 0;
    c->has_begun = false;
    if (c->is_proxy) /* the next request may be of another client */
        tally_leave(c);
}

/* Closing a socket with unread input sends a reset, which may overtake our answer: shut down our
 * side first and keep reading until the client has shut down its own. */
static void begin_linger(struct http_conn *c)
{
    if (c->has_eof) {
        conn_close(c);
        return;
    }
    secure_end(c);
    uv_os_fd_t fd;
    if (uv_fileno(&c->uv.handle, &fd) == 0)
        (void)shutdown(fd, SHUT_WR);
    c->state = CONN_LINGER;
    c->body_bytes = 0;
    conn_set_deadline(c, HTTP_LINGER_MS);
}

static void begin_drain(struct http_conn *c)
{
    c->state = CONN_DRAIN;
    c->body_bytes = 0;
    c->body_began_ms = server_now_ms(c->server);
    conn_set_body_deadline(c, HTTP_DRAIN_STALL_MS);
}

/* The answer was sent completely. */
static void after_flush(struct http_conn *c)
{
    assert(c->state == CONN_FLUSH);
    if (!c->is_keep_alive || c->server->is_stopping)
        begin_linger(c);
    else if (!http_body_is_done(&c->body))
        begin_drain(c);
    else
        begin_head(c);
    if (!c->is_processing && c->state != CONN_CLOSED)
        conn_settle(c);
}

void conn_answered(struct http_conn *c)
{
    if (c->state == CONN_CLOSED)
        return;
    assert(!c->req && !c->sse && !c->stream);
    c->has_served = true;
    c->state = CONN_FLUSH;
    c->flush_left = uv_stream_get_write_queue_size(&c->uv.stream);
    if (c->flush_left == 0)
        after_flush(c);
    else
        conn_set_deadline(c, c->server->limits.body_stall_ms);
}

/* ---- input ---- */

/* The request is complete: calls the handler, or leaves it in CONN_READY until share.c calls
 * conn_resume. */
static void conn_dispatch(struct http_conn *c)
{
    struct request *r = c->req;
    struct http_handlers *h = &c->server->handlers;
    assert(r && (c->state == CONN_BODY || c->state == CONN_READY));
    c->state = CONN_READY;
    conn_set_deadline(c, 0);
    if (share_request_waits(c))
        return;
    c->state = CONN_WAIT;
    share_enter(r);
    r->pub.body = buf_str(&r->body);
    h->on_request(h->ctx, &r->pub);
}

void conn_begin_body(struct http_conn *c, bool has_input)
{
    struct request *r = c->req;
    c->body_bytes = 0;
    c->body_began_ms = server_now_ms(c->server);
    r->body.max = r->pub.body_max;
    conn_set_body_deadline(c, c->server->limits.body_stall_ms);
    if (!r->expects_continue)
        return;
    r->expects_continue = false; /* from here on the client sends the body */
    if (!has_input)
        (void)conn_write(c, STR("HTTP/1.1 100 Continue\r\n\r\n"), STR_NONE, true);
}

static void begin_request(struct http_conn *c, const struct http_head *head, str bytes,
                          bool has_input)
{
    struct http_handlers *h = &c->server->handlers;
    assert(c->state == CONN_HEAD && !c->req);
    struct request *r = c->req = request_new(c);
    c->state = CONN_BODY; /* also without a body: on_head may answer, and that needs a request */
    http_body_init(&c->body, head);
    if (request_set_head(r, head, bytes) < 0) {
        response_refuse(r, 400, "malformed path");
        return;
    }
    bool wants_body = !h->on_head || h->on_head(h->ctx, &r->pub);
    if (c->req != r)
        return; /* on_head has answered it, or closed the connection */
    uint64_t left = 0;
    if (r->sink)
        return; /* on_head has begun to receive the body */
    if (!wants_body) {
        c->state = CONN_WAIT; /* it will be answered later, without its body */
        conn_set_deadline(c, 0);
    } else if (http_body_is_done(&c->body)) {
        conn_dispatch(c);
    } else if (http_body_length_left(&c->body, &left) && left > r->pub.body_max) {
        response_refuse(r, 413, receive_limit_words(r));
    } else {
        conn_begin_body(c, has_input);
    }
}

static bool read_head(struct http_conn *c, str *in)
{
    if (share_head_waits(c))
        return false;
    struct http_head *head = &c->server->head;
    switch (http_parse_head(*in, &c->scanned, &c->server->limits, head)) {
    case HTTP_PARSE_MORE:
        return false;
    case HTTP_PARSE_BAD:
        response_fail(c, head->status, head->reason);
        return true;
    case HTTP_PARSE_DONE:
        break;
    }
    str bytes = str_slice(*in, 0, head->bytes);
    *in = str_skip(*in, head->bytes);
    begin_request(c, head, bytes, in->n > 0);
    return true;
}

static bool read_body(struct http_conn *c, str *in)
{
    struct request *r = c->req;
    str data;
    if (r->is_paused)
        return false;
    enum http_parse found = http_body_next(&c->body, in, &data);
    c->body_bytes += data.n;
    if (found == HTTP_PARSE_BAD)
        receive_refuse(r, 400, "malformed chunked body");
    else if (r->sink)
        receive_piece(r, data, found == HTTP_PARSE_DONE);
    else if (buf_add_str(&r->body, data) < 0)
        response_refuse(r, 413, receive_limit_words(r));
    else if (found == HTTP_PARSE_DONE)
        conn_dispatch(c);
    else
        conn_set_body_deadline(c, c->server->limits.body_stall_ms);
    return true;
}

/* Reads the rest of a refused body, so that the connection can be kept for the next request. */
static bool drain(struct http_conn *c, str *in)
{
    str data;
    enum http_parse found = http_body_next(&c->body, in, &data);
    c->body_bytes += data.n;
    if (found == HTTP_PARSE_DONE)
        begin_head(c);
    else
        conn_set_body_deadline(c, HTTP_DRAIN_STALL_MS);
    return true;
}

/* Reads and drops input after the last answer, up to a ceiling. */
static bool discard(struct http_conn *c, str *in)
{
    c->body_bytes += in->n;
    *in = STR_NONE;
    if (c->body_bytes > c->server->limits.drain_bytes)
        conn_close(c);
    return false;
}

/* One step over the input; false when the state needs more input, or something else than input. */
static bool conn_advance(struct http_conn *c, str *in)
{
    switch ((enum conn_state)c->state) {
    case CONN_HEAD:
        return read_head(c, in);
    case CONN_BODY:
        return read_body(c, in);
    case CONN_DRAIN:
        return drain(c, in);
    case CONN_LINGER:
        return discard(c, in);
    case CONN_STREAM:
        if (!c->is_keep_alive) /* the connection ends with the stream: no request can follow */
            *in = STR_NONE;
        return false;
    case CONN_READY:
    case CONN_WAIT:
    case CONN_FLUSH:
    case CONN_CLOSED:
        break;
    }
    return false;
}

void conn_on_again(void *ctx)
{
    conn_process(ctx, STR_NONE);
}

/* Works on kept and new input. At most HTTP_TURN_MAX pipelined requests are handled, so that one
 * connection cannot hold the loop; conn_settle schedules the rest. */
static void conn_process(struct http_conn *c, str in)
{
    assert(!c->is_processing && c->state != CONN_CLOSED);
    bool is_kept = c->in.n > 0;
    if (is_kept) {
        (void)buf_add_str(&c->in, in); /* reading stops before it could be full */
        in = buf_str(&c->in);
    }
    uint64_t turn_end = c->server->stats.requests + HTTP_TURN_MAX;
    c->is_processing = true;
    share_begin(c);
    if (c->state == CONN_READY && c->has_turn) /* from conn_resume */
        conn_dispatch(c);
    while (in.n && c->server->stats.requests < turn_end && conn_advance(c, &in))
        ;
    share_end(c->server);
    c->is_processing = false;
    if (c->state == CONN_CLOSED)
        return;
    if (is_kept)
        buf_consume(&c->in, c->in.n - in.n);
    else
        (void)buf_add_str(&c->in, in);
    if (c->in.n == 0)
        buf_reset(&c->in);
    conn_settle(c);
}

void conn_input(struct http_conn *c, str in)
{
    conn_process(c, in);
}

void conn_resume(struct http_conn *c)
{
    assert(c->has_turn && !share_is_waiting(c));
    conn_process(c, STR_NONE);
}

static void on_conn_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    (void)suggested;
    struct http_conn *c = handle->data;
    /* What is left of a record that came before must fit, too, when it is decrypted. */
    unsigned n = HTTP_READ_BYTES - (c->tls ? TLS_RECORD_MAX : 0);
    *ret = uv_buf_init(c->server->read_buf, n);
}

/* The handler of a body has no room; some of the body may be in `in`. */
static bool is_paused(const struct http_conn *c)
{
    return c->state == CONN_BODY && c->req->is_paused;
}

/* The client has ended its side. A client that still waits for its answer may have shut down only
 * its sending half; but if the handler has set on_gone, this is treated as a disconnect. */
static void on_conn_eof(struct http_conn *c)
{
    c->has_eof = true;
    bool waits = (c->state == CONN_WAIT && !c->req->pub.on_gone) || is_paused(c);
    if (waits || c->state == CONN_FLUSH || !list_empty(&c->again.node) || share_is_waiting(c))
        conn_settle(c);
    else
        conn_close(c);
}

static void on_conn_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct http_conn *c = stream->data;
    if (c->state == CONN_CLOSED || n == 0)
        return;
    if (n == UV_EOF) {
        on_conn_eof(c);
    } else if (n < 0) {
        conn_close(c);
    } else {
        c->server->stats.bytes_in += (uint64_t)n;
        (c->tls ? secure_received : conn_process)(c, str_make(buf->base, (size_t)n));
    }
}

/* ---- settling: what a connection waits for next ---- */

/* Back-pressure: the socket is not read while a full read might not fit in the backlog, nor while a
 * handler has no room: many clients that send much would fill as many backlogs. */
static void read_or_not(struct http_conn *c)
{
    bool wants = !c->has_eof && !is_paused(c) && c->in.n <= HTTP_BACKLOG_MAX - HTTP_READ_BYTES;
    if (wants == c->is_reading)
        return;
    c->is_reading = wants;
    if (wants)
        (void)uv_read_start(&c->uv.stream, on_conn_alloc, on_conn_read);
    else
        (void)uv_read_stop(&c->uv.stream);
}

/* The deadline of a head starts with its first byte, that of a handshake when the connection is
 * accepted; both do not move: slow ones are cut. */
static void wait_for_head(struct http_conn *c)
{
    if (c->in.n == 0 && !c->is_greeting) {
        conn_set_deadline(c, c->server->limits.idle_ms);
    } else if (!c->has_begun) {
        c->has_begun = true;
        conn_set_deadline(c, c->server->limits.head_timeout_ms);
    }
}

/* Whether kept input can be worked on now: `scanned` is how far the parser got before it needed
 * more. */
static bool has_work(const struct http_conn *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_HEAD:
        return c->in.n > c->scanned;
    case CONN_BODY:
        return c->in.n > 0 && !is_paused(c);
    case CONN_DRAIN:
    case CONN_LINGER:
        return c->in.n > 0;
    default:
        return false;
    }
}

static bool conn_is_known(const struct http_conn *c)
{
    return c->is_local_socket || (c->tally && c->tally->is_person);
}

static struct list_node *place_of(const struct http_conn *c)
{
    struct http_server *s = c->server;
    if (c->state == CONN_HEAD)
        return c->in.n == 0 && c->has_served ? &s->idle : &s->heads;
    return c->state == CONN_BODY && !conn_is_known(c) ? &s->heads : &s->busy;
}

/* A slow head keeps its place in the list, so that it stays the first to be evicted; a connection
 * that was just served moves to the end. */
void conn_put_in(struct http_conn *c, struct list_node *place)
{
    if (c->place == place && place == &c->server->heads)
        return;
    c->place = place;
    list_del(&c->node);
    list_push(place, &c->node);
}

/* Called after every step that may have changed the state. May close the connection. */
void conn_settle(struct http_conn *c)
{
    assert(c->state != CONN_CLOSED && !c->is_processing);
    bool is_silent = c->state == CONN_HEAD && c->in.n == 0;
    bool is_waiting = share_is_waiting(c);
    if (has_work(c) && !is_waiting)
        defer_start(c->server->loop, &c->again);
    else if (c->has_eof && c->state < CONN_WAIT && !is_waiting &&
             !is_paused(c)) { /* can never be complete */
        conn_close(c);
        return;
    }
    if (c->state == CONN_HEAD)
        wait_for_head(c);
    if (is_silent && c->server->is_stopping) {
        conn_close(c);
        return;
    }
    conn_put_in(c, place_of(c));
    read_or_not(c);
}
