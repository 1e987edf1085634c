#include "rig.h"

/* ---- the application: counts the bytes of a body; /slow pauses after each piece ---- */

enum { LARGE = 8 * 1024 * 1024 };

static struct {
    size_t bytes;
    uint64_t sum;

    struct http_req *req;
    struct timer again, begin;
} got;
static atomic_uint npieces, ngone, nended;

static bool on_piece(struct http_req *r, str piece)
{
    npieces++;
    got.bytes += piece.n;
    for (size_t i = 0; i < piece.n; i++)
        got.sum += (unsigned char)piece.p[i];
    if (str_eq(r->path, STR("/stop"))) {
        http_reply_error(r, 422, "no", "Enough.", NULL);
        return false;
    }
    if (str_eq(r->path, STR("/slow")) || (str_eq(r->path, STR("/stuck")) && npieces == 1)) {
        http_receive_pause(r);
        if (str_eq(r->path, STR("/slow")))
            timer_start(&got.again, 1);
    }
    return true;
}

static void on_again(void *ctx)
{
    http_receive_resume(got.req);
}

static void resume(struct rig *rig)
{
    http_receive_resume(got.req);
}

static void on_end(struct http_req *r)
{
    char text[64];
    nended++;
    snprintf(text, sizeof text, "%zu %llu", got.bytes, (unsigned long long)got.sum);
    http_reply(r, 200, "text/plain", str_from(text));
}

static void on_gone(struct http_req *r)
{
    timer_stop(&got.again);
    got.req = NULL;
    ngone++;
}

static void begin(void *ctx)
{
    static const struct http_sink SINK = {on_piece, on_end};
    http_receive(got.req, &SINK);
}

static bool on_head(void *ctx, struct http_req *r)
{
    if (str_eq(r->path, STR("/hello")))
        return true;
    got.bytes = got.sum = 0;
    got.req = r;
    r->on_gone = on_gone;
    r->body_max = str_eq(r->path, STR("/small")) ? 10 : 64 * 1024 * 1024;
    if (str_eq(r->path, STR("/late")))
        timer_start(&got.begin, 20);
    else
        begin(NULL);
    return false;
}

static void on_request(void *ctx, struct http_req *r)
{
    http_reply(r, 200, "text/plain", STR("hello"));
}

static void start(struct rig *rig, const struct http_limits *limits)
{
    struct http_handlers h = {.on_head = on_head, .on_request = on_request};
    npieces = ngone = nended = 0;
    rig_make(rig, limits, &h);
    rig->grace_ms = 50;
    timer_init(&got.again, rig->loop, on_again, NULL);
    timer_init(&got.begin, rig->loop, begin, NULL);
    rig_listen(rig);
    rig_run(rig);
}

static void send_large(int fd)
{
    static char piece[64 * 1024];
    memset(piece, 1, sizeof piece);
    for (size_t sent = 0; sent < LARGE;) {
        ssize_t n = send(fd, piece, sizeof piece, MSG_NOSIGNAL);
        assert_true(n > 0);
        sent += (size_t)n;
    }
}

static void expect_text(int fd, const char *text)
{
    struct reply r;
    read_reply(fd, &r, false);
    assert_int_equal(r.status, 200);
    assert_string_equal(buf_cstr(&r.body), text);
    reply_done(&r);
}

/* ---- tests ---- */

TEST(a_body_comes_in_pieces_and_the_connection_is_kept)
{
    struct rig rig;
    start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 8388608\r\n\r\n");
    send_large(fd);
    expect_text(fd, "8388608 8388608");
    assert_true(npieces > 1);
    SEND(fd, "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
             "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
             "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
             "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_text(fd, "5 495");
    expect_text(fd, "0 0");
    expect_text(fd, "hello");
    close(fd);
    rig_stop(&rig);
    assert_int_equal(ngone, 0);
}

TEST(a_pause_stops_the_sender)
{
    struct rig rig;
    start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /stuck HTTP/1.1\r\nHost: a\r\nContent-Length: 60000000\r\n\r\n");
    static char piece[64 * 1024];
    size_t sent = 0;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    while (poll(&p, 1, 300) > 0 && sent < 60000000) {
        ssize_t n = send(fd, piece, sizeof piece, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
    }
    assert_true(sent < 60000000); /* what the kernel and the backlog hold, and no more */
    assert_int_equal(npieces, 1);
    close(fd);
    rig_call(&rig, resume); /* a socket that is not read does not tell that its client is gone */
    rig_await(&ngone, 1);
    rig_stop(&rig);
    assert_int_equal(nended, 0);
}

TEST(a_paused_body_goes_on)
{
    struct rig rig;
    start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 8388608\r\n\r\n");
    send_large(fd);
    assert_int_equal(shutdown(fd, SHUT_WR), 0); /* a client may end its side first */
    expect_text(fd, "8388608 8388608");
    close(fd);
    rig_stop(&rig);
    assert_int_equal(nended, 1);
}

TEST(a_client_that_stops_in_the_middle_is_noticed)
{
    struct rig rig;
    start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    rig_await(&npieces, 1);
    close(fd);
    rig_await(&ngone, 1);
    rig_stop(&rig);
    assert_int_equal(nended, 0);
}

TEST(a_body_that_is_too_large_or_malformed_or_slow_is_refused)
{
    struct rig rig;
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.body_stall_ms = 50;
    start(&rig, &limits);
    const struct {
        const char *bytes;
        int status;
    } CASES[] = {
        {"POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", 413},
        {"POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901",
         413},
        {"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
        {"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab", 408},
    };
    for (unsigned i = 0; i < ARRAY_LEN(CASES); i++) {
        int fd = rig_connect(&rig);
        send_str(fd, str_from(CASES[i].bytes));
        expect_status(fd, CASES[i].status);
        assert_int_equal(ngone, i + 1);
        close(fd);
    }
    rig_stop(&rig);
    assert_int_equal(nended, 0);
}

TEST(a_handler_may_answer_in_the_middle)
{
    struct rig rig;
    start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /stop HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
    expect_status(fd, 422);
    SEND(fd, "def"
             "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_text(fd, "hello");
    close(fd);
    rig_stop(&rig);
}

TEST(a_handler_may_begin_later_and_the_client_is_told_to_continue)
{
    struct rig rig;
    char line[64] = {0};
    start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /late HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_int_equal(recv(fd, line, 25, MSG_WAITALL), 25);
    assert_string_equal(line, "HTTP/1.1 100 Continue\r\n\r\n");
    SEND(fd, "abc");
    expect_text(fd, "3 294");
    SEND(fd, "POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    expect_text(fd, "3 294");
    close(fd);
    rig_stop(&rig);
}
