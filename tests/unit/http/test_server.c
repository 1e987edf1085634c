#include "rig.h"

#define HELLO "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"

TEST(stop_when_nothing_happened)
{
    struct rig rig;
    rig_start(&rig, NULL);
    rig_stop(&rig);
}

TEST(stop_closes_idle_connections)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fresh = rig_connect(&rig), used = rig_connect(&rig);
    SEND(used, HELLO);
    expect_status(used, 200);
    uint64_t began = uv_hrtime();
    rig_stop(&rig);
    assert_true(uv_hrtime() - began < 1500u * 1000 * 1000); /* not the whole grace time */
    expect_closed(fresh);
    expect_closed(used);
    close(fresh);
    close(used);
}

/* A request in flight is answered, and its client told that this was the last one. */
TEST(stop_lets_requests_finish)
{
    struct rig rig;
    struct reply r;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n" HELLO);
    rig_await(&rig.requests, 1);
    loop_post(rig.loop, rig_begin_stop, &rig);
    read_reply(fd, &r, false);
    assert_int_equal(r.status, 200);
    assert_string_equal(buf_cstr(&r.body), "later");
    assert_string_equal(reply_header(&r, "Connection"), "close");
    reply_done(&r);
    expect_closed(fd);
    close(fd);
    rig_join(&rig);
    assert_int_equal(rig.requests, 1);
}

static void begin_stop(struct rig *rig)
{
    rig_begin_stop(rig);
}

TEST(stop_refuses_newcomers)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int busy = rig_connect(&rig);
    SEND(busy, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_await(&rig.requests, 1);
    rig.grace_ms = 300;
    rig_call(&rig, begin_stop);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(rig.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
    close(fd);
    rig_join(&rig);
    close(busy);
}

/* What does not end within the grace time is cut off. */
TEST(grace_ends)
{
    struct rig rig;
    rig_start(&rig, NULL);
    rig.grace_ms = 50;
    int never = rig_connect(&rig), half = rig_connect(&rig), body = rig_connect(&rig);
    SEND(never, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    SEND(half, "GET /hello HT");
    SEND(body, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    rig_await(&rig.requests, 1);
    rig_await(&rig.heads, 2);
    rig_stop(&rig);
    assert_int_equal(rig.gone, 1);
    close(never);
    close(half);
    close(body);
}

/* A request without on_gone may be answered when even the server is no more. */
TEST(request_outlives_the_server)
{
    struct rig rig;
    rig_start(&rig, NULL);
    rig.grace_ms = 10;
    int fd = rig_connect(&rig);
    SEND(fd, "GET /never-deaf HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_await(&rig.requests, 1);
    rig_stop(&rig);
    assert_non_null(rig.kept);
    assert_null(rig.kept->server);
    http_reply_error(rig.kept, 500, NULL, "Too late.", NULL);
    close(fd);
}

TEST(stats)
{
    struct rig rig;
    struct http_stats s;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    for (int i = 0; i < 3; i++) {
        SEND(fd, HELLO);
        expect_status(fd, 200);
    }
    http_server_stats(rig.server, &s);
    assert_int_equal(s.requests, 3);
    assert_int_equal(s.bytes_in, 3 * strlen(HELLO));
    assert_true(s.bytes_out > 600);
    assert_int_equal(s.conns, 1);
    assert_int_equal(s.conns_total, 1);
    assert_int_equal(s.streams, 0);
    close(fd);
    rig_stop(&rig);
}

static void set_true(void *ctx)
{
    *(bool *)ctx = true;
}

/* Nothing here is global: two servers share one loop and do not know of each other. */
TEST(two_servers)
{
    struct rig rig, other = {0};
    struct err e;
    rig_init(&rig, NULL);
    struct http_handlers h = {.on_request = rig_on_request, .ctx = &rig};
    struct http_server *second = http_server_new(rig.loop, NULL, &h);
    assert_int_equal(http_listen_tcp(second, "127.0.0.1", 0, &other.port, &e), 0);
    assert_int_not_equal(other.port, rig.port);
    rig_run(&rig);
    int a = rig_connect(&rig), b = rig_connect(&other);
    SEND(a, HELLO);
    SEND(b, HELLO);
    expect_status(a, 200);
    expect_status(b, 200);
    close(a);
    loop_post(rig.loop, rig_begin_stop, &rig);
    pthread_join(rig.thread, NULL);

    /* The first is gone; the second still answers. */
    bool is_done = false;
    SEND(b, HELLO);
    (void)loop_run_until(rig.loop, &is_done, 50);
    expect_status(b, 200);
    http_server_stop(second, 100, set_true, &is_done);
    assert_true(loop_run_until(rig.loop, &is_done, 60000));
    close(b);
    http_server_free(second);
    http_server_free(rig.server);
    loop_free(rig.loop);
}
