#include "rig.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

enum { QUICK_MS = 150 };

TEST(keep_alive)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    for (int i = 0; i < 100; i++) {
        SEND(fd, GET("/hello"));
        expect_reply(fd, 200, "{\"hello\":true}");
    }
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 100);
    assert_int_equal(rig.answered, 100);
}

TEST(connection_close)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Close\r\n\r\n");
    struct reply r;
    read_reply(fd, &r, false);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "Connection"), "close");
    expect_closed(fd);
    reply_done(&r);
    close(fd);
    rig_stop(&rig);
}

TEST(http10)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    struct reply r;
    read_reply(fd, &r, false);
    assert_string_equal(reply_header(&r, "Connection"), "keep-alive");
    reply_done(&r);
    SEND(fd, "GET /hello HTTP/1.0\r\n\r\n");
    expect_reply(fd, 200, "{\"hello\":true}");
    expect_closed(fd);
    close(fd);
    rig_stop(&rig);
}

/* Every way to cut a request in two, and then byte by byte. */
TEST(split_everywhere)
{
    static const char REQUEST[] =
        "POST /x%20y?q=1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        "X-Long: some value here\r\n\r\n"
        "5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\n\r\n";
    static const char BODY[] = "POST /x y ?q=1|Host=a|Transfer-Encoding=chunked|"
                               "X-Long=some value here|hello world";
    str all = str_from(REQUEST);
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig), one = 1;
    setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof(one));
    for (size_t cut = 1; cut < all.n; cut++) {
        send_str(fd, str_slice(all, 0, cut));
        usleep(300);
        send_str(fd, str_skip(all, cut));
        expect_reply(fd, 200, BODY);
    }
    for (size_t i = 0; i < all.n; i++) {
        send_str(fd, str_slice(all, i, i + 1));
        usleep(100);
    }
    expect_reply(fd, 200, BODY);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, all.n);
}

TEST(pipelining)
{
    struct rig rig;
    struct buf all;
    char expected[64];
    rig_start(&rig, NULL);
    buf_init(&all, 1 << 20);
    for (int i = 0; i < 500; i++)
        buf_printf(&all, "POST /%s HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n%03d",
                   i % 100 == 50 ? "later" : "n", i);
    int fd = rig_connect(&rig);
    send_str(fd, buf_str(&all));
    for (int i = 0; i < 500; i++) {
        (void)snprintf(expected, sizeof(expected), "POST /n ?|Host=a|Content-Length=3|%03d", i);
        expect_reply(fd, 200, i % 100 == 50 ? "later" : expected);
    }
    buf_done(&all);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 500);
}

/* A client that sends requests for ever and never reads must not fill our memory. */
TEST(pipelining_is_bounded)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, GET("/never"));
    struct timeval limit = {0, 300000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    static char junk[1 << 20];
    memset(junk, 'G', sizeof(junk));
    size_t sent = 0;
    for (int i = 0; i < 64; i++) {
        ssize_t n = send(fd, junk, sizeof(junk), MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    assert_true(sent < 32u << 20); /* the kernel's buffers filled up and ours did not grow */
    struct http_stats stats;
    http_server_stats(rig.server, &stats);
    assert_true(stats.bytes_in <= HTTP_BACKLOG_MAX + HTTP_READ_BYTES);
    close(fd);
    rig.grace_ms = 50;
    rig_stop(&rig);
    assert_int_equal(rig.gone, 1);
}

TEST(answers_wait_for_slow_readers)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, GET("/big?n=8000000") GET("/hello"));
    rig_await(&rig.requests, 1);
    usleep(50000);
    assert_int_equal(rig.requests, 1); /* the second waits until the first is flushed */
    struct reply r;
    read_reply(fd, &r, false);
    assert_int_equal(r.body.n, 8000000);
    reply_done(&r);
    expect_reply(fd, 200, "{\"hello\":true}");
    close(fd);
    rig_stop(&rig);
}

TEST(reader_that_never_reads)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.body_stall_ms = QUICK_MS;
    struct rig rig;
    rig_start(&rig, &limits);
    int fd = rig_connect(&rig);
    SEND(fd, GET("/big?n=20000000"));
    rig_await(&rig.requests, 1);
    rig_await_conns(&rig, 0);
    close(fd);
    rig_stop(&rig);
}

/* ---- 100-continue ---- */

TEST(expect_continue)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    struct reply r;
    read_head(fd, &r);
    assert_int_equal(r.status, 100);
    assert_string_equal(r.head, "HTTP/1.1 100 Continue\r\n\r\n");
    SEND(fd, "hi");
    expect_status(fd, 200);
    /* A body that is here already needs no invitation. */
    SEND(fd, "POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\nhi");
    expect_status(fd, 200);
    close(fd);
    rig_stop(&rig);
}

TEST(expect_continue_refused)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd,
         "POST /refuse HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    struct reply r;
    read_reply(fd, &r, false);
    assert_int_equal(r.status, 403);
    assert_string_equal(reply_header(&r, "Connection"), "close");
    expect_closed(fd);
    reply_done(&r);
    close(fd);

    fd = rig_connect(&rig);
    SEND(fd, "POST /tiny HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    expect_status(fd, 413);
    expect_closed(fd);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 0);
}

/* ---- bodies that are refused ---- */

TEST(refused_body_is_drained)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 38\r\n\r\n");
    expect_status(fd, 403);
    /* What looks like a request is the body of the refused one. */
    SEND(fd, "GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n");
    SEND(fd, GET("/hello"));
    expect_reply(fd, 200, "{\"hello\":true}");
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 1);
}

TEST(refused_chunks_close)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd,
         "POST /refuse HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    struct reply r;
    read_reply(fd, &r, false);
    assert_int_equal(r.status, 403);
    assert_string_equal(reply_header(&r, "Connection"), "close");
    reply_done(&r);
    (void)try_send(fd, STR("0\r\n\r\n" GET("/hello")));
    expect_closed(fd);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 0);
}

/* The answer must arrive although the client is still sending when we close. */
TEST(too_large_body_sees_its_answer)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.drain_bytes = 1024;
    limits.body_bytes = 1000;
    struct rig rig;
    rig_start(&rig, &limits);
    for (int i = 0; i < 20; i++) {
        int fd = rig_connect(&rig);
        SEND(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
        static char junk[900];
        memset(junk, 'x', sizeof(junk));
        (void)try_send(fd, str_make(junk, sizeof(junk)));
        expect_status(fd, 413);
        expect_closed(fd);
        close(fd);
    }
    rig_stop(&rig);
    assert_int_equal(rig.requests, 0);
}

TEST(body_limits)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /tiny HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n1234");
    expect_status(fd, 200);
    SEND(fd, "POST /tiny HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345");
    expect_status(fd, 413);
    SEND(fd, "POST /tiny HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
             "3\r\n123\r\n1\r\n4\r\n0\r\n\r\n");
    expect_status(fd, 200);
    SEND(fd, "POST /tiny HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
             "3\r\n123\r\n2\r\n45\r\n0\r\n\r\n");
    expect_status(fd, 413);
    expect_closed(fd);
    close(fd);

    /* on_head may raise the limit as well. */
    fd = rig_connect(&rig);
    SEND(fd, "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n");
    char *body = xcalloc(1, 3000000);
    memset(body, 'y', 3000000);
    send_str(fd, str_make(body, 3000000));
    free(body);
    expect_status(fd, 200);
    close(fd);
    rig_stop(&rig);
}

/* ---- time ---- */

TEST(head_timeout)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.head_timeout_ms = QUICK_MS;
    struct rig rig;
    rig_start(&rig, &limits);
    int fd = rig_connect(&rig);
    /* Dripping bytes do not buy more time. */
    static const char HEAD[] = "GET /hello HTTP/1.1\r\nHost: a\r\nX-A: bcdefghijklmnop";
    for (size_t i = 0; i < sizeof(HEAD) - 1; i++) {
        if (!try_send(fd, str_make(HEAD + i, 1)))
            break;
        usleep(5000);
    }
    expect_status(fd, 408);
    expect_closed(fd);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.heads, 0);
}

TEST(body_timeout)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.body_stall_ms = QUICK_MS;
    struct rig rig;
    rig_start(&rig, &limits);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
    expect_status(fd, 408);
    expect_closed(fd);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.heads, 1);
    assert_int_equal(rig.requests, 0);
}

/* Always a byte within the stall time, but far below the minimal pace. */
TEST(body_pace)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.body_stall_ms = QUICK_MS;
    struct rig rig;
    rig_start(&rig, &limits);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 40; i++) {
        if (!try_send(fd, STR("x")))
            break;
        usleep(10000);
    }
    expect_status(fd, 408);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 0);
}

TEST(idle_timeout)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.idle_ms = 2000; /* the request is sent by then, also on a busy machine */
    struct rig rig;
    rig_start(&rig, &limits);
    int fresh = rig_connect(&rig), used = rig_connect(&rig);
    SEND(used, GET("/hello"));
    expect_status(used, 200);
    expect_closed(fresh); /* silently */
    expect_closed(used);
    close(fresh);
    close(used);
    rig_stop(&rig);
}

/* ---- too many ---- */

TEST(connection_ceiling)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.conns = 4;
    struct rig rig;
    rig_start(&rig, &limits);
    rig.grace_ms = 50;
    int busy[4];
    for (int i = 0; i < 3; i++) {
        busy[i] = rig_connect(&rig);
        SEND(busy[i], GET("/never"));
    }
    rig_await(&rig.requests, 3);
    int idle = rig_connect(&rig);
    SEND(idle, GET("/hello"));
    expect_status(idle, 200);
    /* One that is only idle makes room. */
    busy[3] = rig_connect(&rig);
    SEND(busy[3], GET("/never"));
    rig_await(&rig.requests, 5);
    expect_closed(idle);
    close(idle);
    /* When all of them are busy, the newcomer is refused. */
    int fd = rig_connect(&rig);
    SEND(fd, GET("/hello"));
    expect_status(fd, 503);
    expect_closed(fd);
    close(fd);
    for (int i = 0; i < 4; i++)
        close(busy[i]);
    rig_stop(&rig);
}

/* ---- clients that leave ---- */

TEST(gone_before_answer)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, GET("/never"));
    rig_await(&rig.requests, 1);
    close(fd);
    rig_await(&rig.gone, 1);
    rig_stop(&rig);
    assert_null(rig.kept);
    assert_int_equal(rig.answered, 0);
}

/* Without on_gone the request outlives its client and is answered into the void, or to a
 * client that has closed only its own half. */
TEST(half_closed_client)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, GET("/later-deaf") GET("/hello"));
    shutdown(fd, SHUT_WR);
    expect_reply(fd, 200, "later");
    expect_reply(fd, 200, "{\"hello\":true}");
    expect_closed(fd);
    close(fd);
    rig_stop(&rig);
}

static void answer_kept(struct rig *rig)
{
    rig_answer_later(rig);
}

TEST(reset_while_unanswered)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, GET("/never-deaf"));
    rig_await(&rig.requests, 1);
    struct linger hard = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd);
    rig_await_conns(&rig, 0);
    rig_call(&rig, answer_kept); /* nothing happens */
    rig_stop(&rig);
    assert_null(rig.kept);
}

TEST(answer_later_without_body)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd,
         "POST /head-later HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" GET("/hello"));
    expect_reply(fd, 200, "later");
    expect_reply(fd, 200, "{\"hello\":true}");
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 1);
}

TEST(gone_inside_body)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
    rig_await(&rig.heads, 1);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 0);
}
