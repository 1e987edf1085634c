/* sse.c - Frames are queued, as references, until the end of the loop's turn: then all frames of a
 * stream are sent with one system call, which costs more than everything else about a frame.
 * Frames that the kernel does not accept immediately stay queued, with one write in progress at a
 * time. */
#include "http/sse.h"

#include <assert.h>

#include "http/conn/share.h"
#include "http/tls/tls.h"

enum {
    WRITE_FRAMES_MAX = 16,        /* frames handed to libuv in one write */
    UNSENT_BYTES_MAX = 64 * 1024, /* that wait for the end of the turn */
    PINGS_PER_TURN = 256,
    PING_PAUSE_MS = 5, /* between two batches of pings */
};

/* The bytes hold the chunk around the event; HTTP/1.0 clients get the event alone. */
struct sse_frame {
    unsigned refs;
    str chunk, event;
    char bytes[];
};

struct queued {
    struct queued *next;
    struct sse_frame *frame;
    str rest;
};

struct sse {
    struct http_server *server;
    struct http_conn *conn;   /* NULL: ended, on_close will be called */
    struct http_local *local; /* or: the reader is in this process */
    struct list_node node;    /* in server->streams */
    struct list_node unsent;  /* in server->unsent */
    struct tally *tally;      /* of sse_open_watch: the party it is counted for */
    struct list_node counted; /* in tally->watches */
    bool (*is_busy)(void *ctx);
    void (*on_close)(void *ctx);
    void *ctx;
    struct queued *first, **last;
    size_t queued_bytes; /* with those of the write in progress */
    size_t queue_max;
    uint64_t silent_since_ms;
    struct deferred ended;
    bool is_chunked, is_writing, is_closing;
};

struct sse_write {
    uv_write_t uv;
    size_t bytes;
    struct queued *done; /* chain of the frames in this write */
    char *encrypted;     /* their bytes, or NULL on a plain connection */
};

/* ---- frames ---- */

static void add_field(struct buf *b, const char *name, str value)
{
    buf_add_lit(b, name);
    buf_add_str(b, value);
    buf_add_char(b, '\n');
}

/* Each line of the data is a field of its own; CR and CRLF end lines too. */
static void add_data(struct buf *b, str data)
{
    size_t start = 0;
    for (size_t i = 0; i < data.n; i++) {
        char c = data.p[i];
        if (c != '\n' && c != '\r')
            continue;
        add_field(b, "data: ", str_slice(data, start, i));
        if (c == '\r' && i + 1 < data.n && data.p[i + 1] == '\n')
            i++;
        start = i + 1;
    }
    add_field(b, "data: ", str_skip(data, start));
}

static struct sse_frame *frame_of(str event)
{
    char size[24];
    int size_n = snprintf(size, sizeof(size), "%zx\r\n", event.n);
    size_t head = (size_t)size_n;
    struct sse_frame *f = xcalloc(1, sizeof(*f) + head + event.n + 2);
    f->refs = 1;
    memcpy(f->bytes, size, head);
    memcpy(f->bytes + head, event.p, event.n);
    memcpy(f->bytes + head + event.n, "\r\n", 2);
    f->event = str_make(f->bytes + head, event.n);
    f->chunk = str_make(f->bytes, head + event.n + 2);
    return f;
}

/* A name with a line end could forge further fields: it is left out. */
static bool is_field(str s)
{
    return s.n > 0 && !memchr(s.p, '\n', s.n) && !memchr(s.p, '\r', s.n) && !memchr(s.p, 0, s.n);
}

struct sse_frame *sse_frame_new(str event, str id, str data)
{
    struct buf b;
    buf_init(&b, SIZE_MAX / 8); /* bounded by its data, which the caller holds already */
    if (is_field(event))
        add_field(&b, "event: ", event);
    if (is_field(id))
        add_field(&b, "id: ", id);
    add_data(&b, data);
    buf_add_char(&b, '\n');
    struct sse_frame *f = frame_of(buf_str(&b));
    buf_done(&b);
    return f;
}

struct sse_frame *sse_frame_ref(struct sse_frame *f)
{
    f->refs++;
    return f;
}

struct sse_frame *sse_frame_unref(struct sse_frame *f)
{
    if (f && --f->refs == 0)
        free(f);
    return NULL;
}

/* ---- the queue ---- */

static void free_queue(struct queued *q)
{
    for (struct queued *next; q; q = next) {
        next = q->next;
        sse_frame_unref(q->frame);
        free(q);
    }
}

static void enqueue(struct sse *s, struct sse_frame *f, str rest)
{
    struct queued *q = xcalloc(1, sizeof(*q));
    q->frame = sse_frame_ref(f);
    q->rest = rest;
    *s->last = q;
    s->last = &q->next;
    s->queued_bytes += rest.n;
    tally_queued(s->conn, (ptrdiff_t)rest.n);
}

static void dequeued(struct sse *s, size_t n)
{
    s->queued_bytes -= n;
    tally_queued(s->conn, -(ptrdiff_t)n);
}

static void sse_finish(struct sse *s);
static void write_queue(struct sse *s);

static void on_stream_written(uv_write_t *req, int status)
{
    struct sse_write *w = CONTAINER_OF(req, struct sse_write, uv);
    struct http_conn *c = req->handle->data;
    size_t bytes = w->bytes;
    free_queue(w->done);
    free(w->encrypted);
    free(w);
    struct sse *s = c->sse;
    if (!s)
        return;
    dequeued(s, bytes);
    s->is_writing = false;
    if (status < 0)
        conn_close(c);
    else if (s->first)
        write_queue(s);
    else if (s->is_closing)
        sse_finish(s);
}

/* On an encrypted connection the bytes of the frames become one other buffer. */
static unsigned encrypt_frames(struct sse *s, struct sse_write *w, uv_buf_t *bufs, unsigned n)
{
    struct tls_session *tls = s->conn->tls;
    if (!tls)
        return n;
    for (unsigned i = 0; i < n; i++)
        tls_session_send(tls, str_make(bufs[i].base, bufs[i].len));
    str out = tls_session_take_output(tls);
    w->encrypted = str_dup(out);
    bufs[0] = uv_buf_init(w->encrypted, (unsigned)out.n);
    return 1;
}

/* Hands the front of the queue to libuv. */
static void write_queue(struct sse *s)
{
    struct sse_write *w = xcalloc(1, sizeof(*w));
    uv_buf_t bufs[WRITE_FRAMES_MAX];
    unsigned n = 0;
    struct queued **last = &w->done;
    while (s->first && n < WRITE_FRAMES_MAX) {
        struct queued *q = s->first;
        s->first = q->next;
        q->next = NULL;
        *last = q;
        last = &q->next;
        bufs[n++] = uv_buf_init((char *)q->rest.p, (unsigned)q->rest.n);
        w->bytes += q->rest.n;
    }
    if (!s->first)
        s->last = &s->first;
    s->is_writing = true;
    n = encrypt_frames(s, w, bufs, n);
    if (uv_write(&w->uv, &s->conn->uv.stream, bufs, n, on_stream_written) < 0) {
        free_queue(w->done);
        free(w->encrypted);
        free(w);
        conn_close(s->conn);
    }
}

/* ---- sending ---- */

static void touch(struct sse *s)
{
    s->silent_since_ms = server_now_ms(s->server);
    list_del(&s->node);
    list_push(&s->server->streams, &s->node);
}

static void drop_sent(struct sse *s, size_t n)
{
    dequeued(s, n);
    while (s->first && n >= s->first->rest.n) {
        struct queued *q = s->first;
        n -= q->rest.n;
        s->first = q->next;
        q->next = NULL;
        free_queue(q);
    }
    if (s->first)
        s->first->rest = str_skip(s->first->rest, n);
    else
        s->last = &s->first;
}

/* Writes what the kernel takes now and leaves the rest to libuv. */
static void send_queue(struct sse *s)
{
    list_del(&s->unsent);
    share_note(s->conn);
    if (s->first && s->conn->tls)
        write_queue(s); /* what is encrypted must be sent: the rest belongs to libuv */
    while (s->first && !s->conn->tls) {
        uv_buf_t bufs[WRITE_FRAMES_MAX];
        unsigned n = 0;
        size_t bytes = 0;
        for (struct queued *q = s->first; q && n < WRITE_FRAMES_MAX; q = q->next) {
            bufs[n++] = uv_buf_init((char *)q->rest.p, (unsigned)q->rest.n);
            bytes += q->rest.n;
        }
        int sent = uv_try_write(&s->conn->uv.stream, bufs, n);
        if (sent < 0 && sent != UV_EAGAIN) {
            conn_close(s->conn);
            return;
        }
        drop_sent(s, sent < 0 ? 0 : (size_t)sent);
        if (sent < 0 || (size_t)sent < bytes) {
            write_queue(s);
            return;
        }
    }
}

void sse_send_unsent(void *server)
{
    struct http_server *v = server;
    while (!list_empty(&v->unsent))
        send_queue(LIST_ENTRY(v->unsent.next, struct sse, unsent));
}

/* False: the stream ended, or was dropped now because its reader is too slow. A frame that is
 * larger than the ceiling passes if it is alone, or it could never be delivered. */
static bool has_room(struct sse *s, size_t bytes)
{
    if (s->queued_bytes + bytes > s->queue_max && !s->is_writing)
        send_queue(s);
    bool is_slow = s->conn && s->queued_bytes > 0;
    if (is_slow && (s->queued_bytes + bytes > s->queue_max || !tally_has_room(s->conn, bytes)))
        conn_reset(s->conn);
    return s->conn != NULL;
}

bool sse_send(struct sse *s, struct sse_frame *f)
{
    if (s->local)
        local_data(s->local, f->event);
    if (s->local)
        return true;
    if (!s->conn || s->is_closing)
        return false;
    str frame = s->is_chunked ? f->chunk : f->event;
    if (!has_room(s, frame.n))
        return false;
    s->server->stats.bytes_out += frame.n;
    touch(s);
    enqueue(s, f, frame);
    if (s->is_writing)
        return true;
    if (s->queued_bytes > UNSENT_BYTES_MAX) {
        send_queue(s);
    } else if (list_empty(&s->unsent)) {
        list_push(&s->server->unsent, &s->unsent);
        defer_start(s->server->loop, &s->server->send);
    }
    return s->conn != NULL;
}

bool sse_is_late(const struct sse *s)
{
    return s->is_writing;
}

void sse_send_now(struct sse *s, str event, str id, str data)
{
    struct sse_frame *f = sse_frame_new(event, id, data);
    (void)sse_send(s, f);
    sse_frame_unref(f);
}

void sse_send_retry(struct sse *s, unsigned ms)
{
    char text[32];
    snprintf(text, sizeof text, "retry: %u\n\n", ms);
    struct sse_frame *f = frame_of(str_from(text));
    (void)sse_send(s, f);
    sse_frame_unref(f);
}

void sse_set_queue_max(struct sse *s, size_t bytes)
{
    s->queue_max = bytes;
}

/* ---- pings ---- */

/* Streams are sorted by their last frame: only those at the front can be due. */
void sse_ping_due(void *server)
{
    struct http_server *v = server;
    uint64_t now = server_now_ms(v);
    if (!v->ping_frame)
        v->ping_frame = frame_of(STR(": ping\n\n"));
    for (unsigned n = 0; !list_empty(&v->streams); n++) {
        struct sse *s = LIST_ENTRY(v->streams.next, struct sse, node);
        uint64_t due = s->silent_since_ms + v->ping_ms;
        if (due > now || n == PINGS_PER_TURN) {
            timer_start(&v->ping, due > now ? due - now : PING_PAUSE_MS);
            return;
        }
        touch(s);
        (void)sse_send(s, v->ping_frame);
    }
}

/* ---- life ---- */

static void on_ended(void *ctx)
{
    struct sse *s = ctx;
    struct http_server *v = s->server;
    s->on_close(s->ctx);
    free_queue(s->first);
    free(s);
    v->nstreams--;
    server_check_stopped(v);
}

void sse_conn_gone(struct sse *s)
{
    tally_queued(s->conn, -(ptrdiff_t)s->queued_bytes);
    tally_drop_watch(s->server, s->tally, &s->counted);
    s->tally = NULL;
    s->conn = NULL;
    list_del(&s->node);
    list_del(&s->unsent);
    defer_start(s->server->loop, &s->ended);
}

void sse_local_gone(struct sse *s)
{
    s->local = NULL;
    list_del(&s->node);
    defer_start(s->server->loop, &s->ended);
}

/* Everything was sent: ends the response and returns the connection to conn.c. */
static void sse_finish(struct sse *s)
{
    struct http_conn *c = s->conn;
    bool is_alive = true;
    if (s->is_chunked)
        is_alive = conn_write(c, STR("0\r\n\r\n"), STR_NONE, true);
    if (!is_alive)
        return;
    c->sse = NULL;
    sse_conn_gone(s);
    conn_answered(c);
}

void sse_close(struct sse *s)
{
    struct http_local *l = s->local;
    if (l) {
        sse_local_gone(s);
        local_end(l);
    }
    if (!s->conn || s->is_closing)
        return;
    if (s->first && !s->is_writing)
        send_queue(s);
    if (!s->conn)
        return;
    s->is_closing = true;
    if (!s->first && !s->is_writing) {
        sse_finish(s);
        return;
    }
    s->conn->flush_left = SIZE_MAX;
    conn_set_deadline(s->conn, s->server->limits.body_stall_ms);
}

void sse_stop_all(struct http_server *v)
{
    LIST_FOREACH (it, &v->streams)
        sse_close(LIST_ENTRY(it, struct sse, node));
}

static void take_over(struct sse *s, struct request *r)
{
    struct http_server *v = s->server;
    bool is_head = r->is_head;
    response_begin_stream(r, "text/event-stream\r\nX-Accel-Buffering: no", 200, -1);
    struct http_conn *c = response_detach(r, 200);
    c->state = CONN_STREAM;
    c->sse = s;
    s->conn = c;
    touch(s);
    conn_set_deadline(c, 0);
    if (!timer_active(&v->ping))
        timer_start(&v->ping, v->ping_ms);
    if (!conn_write(c, buf_str(&v->out_head), STR_NONE, true))
        return;
    if (is_head)
        s->is_chunked = false; /* not even a last chunk */
    if (is_head || v->is_stopping)
        sse_close(s);
}

static struct sse *sse_new(struct http_req *q, void (*on_close)(void *ctx), void *ctx)
{
    struct request *r = request_of(q);
    assert(!r->is_gone && q->server);
    struct sse *s = xcalloc(1, sizeof(*s));
    s->server = q->server;
    s->on_close = on_close;
    s->ctx = ctx;
    s->last = &s->first;
    s->queue_max = SSE_QUEUE_MAX;
    s->is_chunked = r->minor == 1;
    list_init(&s->node);
    list_init(&s->unsent);
    list_init(&s->counted);
    defer_init(&s->ended, on_ended, s);
    s->server->nstreams++;
    return s;
}

/* Answers the request with an error instead of a stream. */
static struct sse *sse_refuse(struct sse *s, struct http_req *q, int status, const char *message)
{
    defer_start(s->server->loop, &s->ended);
    http_reply_error(q, status, NULL, message, NULL);
    return s;
}

static struct sse *sse_begin(struct sse *s, struct http_req *q)
{
    struct request *r = request_of(q);
    if (r->has_bad_header)
        return sse_refuse(s, q, 500, "");
    if (q->conn) {
        take_over(s, r);
    } else if (r->local) {
        list_push(&s->server->streams, &s->node);
        s->local = local_stream(r, s);
    } else {
        defer_start(s->server->loop, &s->ended);
    }
    request_release(r);
    return s;
}

struct sse *sse_open(struct http_req *q, void (*on_close)(void *ctx), void *ctx)
{
    return sse_begin(sse_new(q, on_close, ctx), q);
}

/* Ends the oldest stream of the party that is not busy. */
static bool evict_watch(struct tally *t)
{
    LIST_EACH (s, &t->watches, struct sse, counted) {
        if (s->is_busy && s->is_busy(s->ctx))
            continue;
        if (s->first || s->is_writing)
            conn_reset(s->conn);
        else
            sse_close(s);
        return true;
    }
    return false;
}

struct sse *sse_open_watch(struct http_req *q, void (*on_close)(void *ctx),
                           bool (*is_busy)(void *ctx), void *ctx)
{
    struct sse *s = sse_new(q, on_close, ctx);
    struct tally *t = q->conn ? q->conn->tally : NULL;
    if (t && t->nwatches >= s->server->limits.streams_per_person && !evict_watch(t))
        return sse_refuse(s, q, 429, "Too many streams are open. Close one and try again.");
    s->is_busy = is_busy;
    if (t)
        s->tally = tally_add_watch(q->conn, &s->counted);
    return sse_begin(s, q);
}
