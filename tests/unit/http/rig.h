/* rig.h - a server in a thread of its own and a blocking client beside it.
 *
 * The test is the client: it may assert freely, because the loop runs elsewhere. What the
 * handlers count is read after rig_stop, or through rig_call, which runs on the loop. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/conn/conn.h"
#include "http/server.h"
#include "http/sse.h"
#include "support/unit.h"

enum { RIG_STREAMS_MAX = 64, RIG_TIMEOUT_MS = 60000 };

struct rig {
    struct loop *loop;
    struct http_server *server;
    uint16_t port;
    pthread_t thread;
    uint64_t grace_ms;

    atomic_uint heads, requests, answered, gone, closed;
    struct sse *streams[RIG_STREAMS_MAX];
    size_t nstreams;
    struct http_req *kept;
    struct timer later;
};

/* ---- the application ---- */

static inline void rig_on_gone(struct http_req *r)
{
    struct rig *rig = r->user;
    rig->gone++;
    if (rig->kept == r)
        rig->kept = NULL;
}

static inline void rig_answer_later(void *ctx)
{
    struct rig *rig = ctx;
    struct http_req *r = rig->kept;
    rig->kept = NULL;
    if (r)
        http_reply(r, 200, "text/plain", STR("later"));
}

static inline void rig_on_close(void *ctx)
{
    ((struct rig *)ctx)->closed++;
}

static inline void rig_reply_big(struct http_req *r)
{
    uint64_t n = 0;
    (void)parse_u64(http_query(r, "n"), &n);
    char *p = arena_alloc(&r->arena, n + 1);
    memset(p, 'b', n);
    http_reply(r, 200, "text/plain", str_make(p, n));
}

static inline void rig_describe(struct http_req *r)
{
    struct buf b;
    buf_init(&b, 8 << 20);
    buf_printf(&b, "%.*s %.*s ?%.*s", STR_ARG(r->method), STR_ARG(r->path), STR_ARG(r->query));
    for (size_t i = 0; i < r->nheaders; i++)
        buf_printf(&b, "|%.*s=%.*s", STR_ARG(r->headers[i].name), STR_ARG(r->headers[i].value));
    buf_printf(&b, "|%.*s", STR_ARG(r->body));
    http_reply(r, 200, "text/plain", buf_str(&b));
    buf_done(&b);
}

static inline bool rig_on_head(void *ctx, struct http_req *r)
{
    struct rig *rig = ctx;
    rig->heads++;
    r->user = rig;
    if (str_eq(r->path, STR("/refuse"))) {
        http_reply_error(r, 403, "forbidden", "Not here.", NULL);
        return false;
    }
    if (str_eq(r->path, STR("/head-later"))) {
        rig->kept = r;
        r->on_gone = rig_on_gone;
        timer_start(&rig->later, 30);
        return false;
    }
    if (str_eq(r->path, STR("/large")))
        r->body_max = 4 * 1024 * 1024;
    if (str_eq(r->path, STR("/tiny")))
        r->body_max = 4;
    return true;
}

static inline void rig_on_request(void *ctx, struct http_req *r)
{
    struct rig *rig = ctx;
    rig->requests++;
    if (str_eq(r->path, STR("/hello")))
        http_reply(r, 200, "application/json", STR("{\"hello\":true}"));
    else if (str_eq(r->path, STR("/big")))
        rig_reply_big(r);
    else if (str_eq(r->path, STR("/none")))
        http_reply(r, 204, NULL, STR_NONE);
    else if (str_eq(r->path, STR("/later")) || str_eq(r->path, STR("/later-deaf"))) {
        rig->kept = r;
        if (str_eq(r->path, STR("/later")))
            r->on_gone = rig_on_gone;
        timer_start(&rig->later, 30);
    } else if (str_eq(r->path, STR("/never")) || str_eq(r->path, STR("/never-deaf"))) {
        rig->kept = r;
        if (str_eq(r->path, STR("/never")))
            r->on_gone = rig_on_gone;
    } else if (str_eq(r->path, STR("/events"))) {
        struct sse *s = sse_open(r, rig_on_close, rig);
        if (rig->nstreams < RIG_STREAMS_MAX)
            rig->streams[rig->nstreams++] = s;
    } else
        rig_describe(r);
}

static inline void rig_on_answered(void *ctx, const struct http_req *r, int status)
{
    (void)r;
    (void)status;
    ((struct rig *)ctx)->answered++;
}

/* ---- life ---- */

static inline void *rig_main(void *ctx)
{
    loop_run(((struct rig *)ctx)->loop);
    return NULL;
}

/* Makes a server without running or opening it, so that a test can change it first. */
static inline void rig_make(struct rig *rig, const struct http_limits *limits,
                            const struct http_handlers *h)
{
    *rig = (struct rig){.grace_ms = 2000};
    rig->loop = loop_new(NULL);
    rig->server = http_server_new(rig->loop, limits, h);
    timer_init(&rig->later, rig->loop, rig_answer_later, rig);
}

static inline void rig_listen(struct rig *rig)
{
    struct err e;
    assert_int_equal(http_listen_tcp(rig->server, "127.0.0.1", 0, &rig->port, &e), 0);
}

/* The same with the application above, listening. */
static inline void rig_init(struct rig *rig, const struct http_limits *limits)
{
    struct http_handlers h = {.on_head = rig_on_head,
                              .on_request = rig_on_request,
                              .on_answered = rig_on_answered,
                              .ctx = rig};
    rig_make(rig, limits, &h);
    rig_listen(rig);
}

static inline void rig_run(struct rig *rig)
{
    assert_int_equal(pthread_create(&rig->thread, NULL, rig_main, rig), 0);
}

static inline void rig_start(struct rig *rig, const struct http_limits *limits)
{
    rig_init(rig, limits);
    rig_run(rig);
}

static inline void rig_on_stopped(void *ctx)
{
    struct rig *rig = ctx;
    timer_stop(&rig->later);
    loop_stop(rig->loop);
}

static inline void rig_begin_stop(void *ctx)
{
    struct rig *rig = ctx;
    http_server_stop(rig->server, rig->grace_ms, rig_on_stopped, rig);
}

static inline void rig_join(struct rig *rig)
{
    pthread_join(rig->thread, NULL);
    http_server_free(rig->server);
    loop_free(rig->loop);
}

static inline void rig_stop(struct rig *rig)
{
    loop_post(rig->loop, rig_begin_stop, rig);
    rig_join(rig);
}

/* Runs fn(rig) on the loop thread and waits for it. */
struct rig_call {
    struct rig *rig;
    void (*fn)(struct rig *rig);
    atomic_bool done;
};

static inline void rig_do_call(void *ctx)
{
    struct rig_call *c = ctx;
    c->fn(c->rig);
    c->done = true;
}

static inline void rig_call(struct rig *rig, void (*fn)(struct rig *rig))
{
    struct rig_call c = {rig, fn, false};
    loop_post(rig->loop, rig_do_call, &c);
    for (int i = 0; i < RIG_TIMEOUT_MS && !c.done; i++)
        usleep(1000);
    assert_true(c.done);
}

/* Waits until a counter has reached a value. */
static inline void rig_await(atomic_uint *counter, unsigned value)
{
    for (int i = 0; i < RIG_TIMEOUT_MS && *counter < value; i++)
        usleep(1000);
    assert_true(*counter >= value);
}

static inline void rig_await_conns(struct rig *rig, uint64_t n)
{
    struct http_stats stats = {0};
    for (int i = 0; i < RIG_TIMEOUT_MS; i++) {
        http_server_stats(rig->server, &stats);
        if (stats.conns == n)
            return;
        usleep(1000);
    }
    assert_int_equal(stats.conns, n);
}

/* ---- the client ---- */

static inline int rig_connect(const struct rig *rig)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(rig->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {RIG_TIMEOUT_MS / 1000, 0};
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* False when the server has gone. */
static inline bool try_send(int fd, str bytes)
{
    while (bytes.n) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes = str_skip(bytes, (size_t)n);
    }
    return true;
}

static inline void send_str(int fd, str bytes)
{
    assert_true(try_send(fd, bytes));
}

#define SEND(fd, lit) send_str((fd), STR(lit))

/* Reads until the server closes; -1 on a reset. */
static inline int read_to_end(int fd, struct buf *out)
{
    for (;;) {
        assert_int_equal(buf_reserve(out, 65536), 0);
        ssize_t n = recv(fd, out->p + out->n, 65536, 0);
        if (n < 0) {
            assert_int_not_equal(errno, EAGAIN);
            return -1;
        }
        if (n == 0)
            return 0;
        out->n += (size_t)n;
        out->p[out->n] = '\0';
    }
}

struct reply {
    int status;
    char head[8192];
    struct buf body;
};

static inline void reply_done(struct reply *r)
{
    buf_done(&r->body);
}

static inline char recv_byte(int fd)
{
    char c;
    ssize_t n = recv(fd, &c, 1, 0);
    if (n != 1)
        fail_msg("no more bytes: %zd, errno %d", n, errno);
    return c;
}

/* Value of a header in the reply, or NULL; valid until the next call. */
static inline const char *reply_header(const struct reply *r, const char *name)
{
    static char value[1024];
    char wanted[128];
    int n = snprintf(wanted, sizeof(wanted), "\r\n%s: ", name);
    const char *at = strcasestr(r->head, wanted);
    if (!at)
        return NULL;
    at += n;
    size_t len = strcspn(at, "\r");
    assert_true(len < sizeof(value));
    memcpy(value, at, len);
    value[len] = '\0';
    return value;
}

static inline void read_head(int fd, struct reply *r)
{
    *r = (struct reply){0};
    buf_init(&r->body, 64 << 20);
    size_t n = 0;
    while (n < 4 || memcmp(r->head + n - 4, "\r\n\r\n", 4) != 0) {
        assert_true(n < sizeof(r->head) - 1);
        r->head[n++] = recv_byte(fd);
    }
    assert_memory_equal(r->head, "HTTP/1.1 ", 9);
    r->status = (int)strtol(r->head + 9, NULL, 10);
}

/* Reads exactly one reply with a Content-Length (or none). */
static inline void read_reply(int fd, struct reply *r, bool is_head)
{
    read_head(fd, r);
    const char *length = reply_header(r, "Content-Length");
    size_t n = length && !is_head ? strtoul(length, NULL, 10) : 0;
    assert_int_equal(buf_reserve(&r->body, n), 0);
    while (r->body.n < n) {
        ssize_t got = recv(fd, r->body.p + r->body.n, n - r->body.n, 0);
        assert_true(got > 0);
        r->body.n += (size_t)got;
    }
    if (r->body.p)
        r->body.p[r->body.n] = '\0';
}

/* Reads one reply and expects its status; the connection stays open. */
static inline void expect_status(int fd, int status)
{
    struct reply r;
    read_reply(fd, &r, false);
    if (r.status != status)
        fail_msg("expected %d, got %d: %s%s", status, r.status, r.head, buf_cstr(&r.body));
    reply_done(&r);
}

static inline void expect_reply(int fd, int status, const char *body)
{
    struct reply r;
    read_reply(fd, &r, false);
    if (r.status != status)
        fail_msg("expected %d, got %d: %s%s", status, r.status, r.head, buf_cstr(&r.body));
    assert_string_equal(buf_cstr(&r.body), body);
    reply_done(&r);
}

/* The server has closed its side and nothing more comes. */
static inline void expect_closed(int fd)
{
    char c;
    ssize_t n = recv(fd, &c, 1, 0);
    if (n > 0 || (n < 0 && errno == EAGAIN))
        fail_msg("the connection is still open");
}
