#include "http/conn/tally.h"
#include "rig.h"

#define EVENTS "GET /events HTTP/1.1\r\nHost: a\r\n\r\n"

static void read_exactly(int fd, const char *wanted)
{
    char got[512];
    size_t n = strlen(wanted);
    assert_true(n < sizeof(got));
    for (size_t i = 0; i < n; i++)
        got[i] = recv_byte(fd);
    got[n] = '\0';
    assert_string_equal(got, wanted);
}

/* That wait for clients, of all connections. */
static size_t queued_bytes(const struct rig *rig)
{
    size_t n = 0;
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&rig->server->tallies, &i)) != NULL;)
        n += ((const struct tally *)e->value)->queued;
    return n;
}

static int open_stream(struct rig *rig)
{
    int fd = rig_connect(rig);
    struct reply r;
    SEND(fd, EVENTS);
    read_head(fd, &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "Content-Type"), "text/event-stream");
    assert_string_equal(reply_header(&r, "Transfer-Encoding"), "chunked");
    assert_string_equal(reply_header(&r, "Cache-Control"), "no-store");
    assert_null(reply_header(&r, "Content-Length"));
    return fd;
}

static void send_hello(struct rig *rig)
{
    for (size_t i = 0; i < rig->nstreams; i++)
        sse_send_now(rig->streams[i], STR("greeting"), STR("7"), STR("a\nb"));
}

static void close_streams(struct rig *rig)
{
    for (size_t i = 0; i < rig->nstreams; i++)
        sse_close(rig->streams[i]);
    rig->nstreams = 0;
}

TEST(frames)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = open_stream(&rig);
    rig_call(&rig, send_hello);
    read_exactly(fd, "27\r\nevent: greeting\nid: 7\ndata: a\ndata: b\n\n\r\n");
    rig_call(&rig, close_streams);
    read_exactly(fd, "0\r\n\r\n");
    rig_await(&rig.closed, 1);
    /* The connection is an ordinary one again. */
    SEND(fd, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_reply(fd, 200, "{\"hello\":true}");
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.closed, 1);
}

static void send_lines(struct rig *rig)
{
    sse_send_now(rig->streams[0], STR_NONE, STR_NONE, STR("a\r\nb\rc\n"));
    sse_send_now(rig->streams[0], STR_NONE, STR_NONE, STR_NONE);
}

/* HTTP/1.0 knows no chunks; every kind of line end starts a new data field. */
TEST(plain_stream)
{
    struct rig rig;
    struct reply r;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /events HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    read_head(fd, &r);
    assert_null(reply_header(&r, "Transfer-Encoding"));
    assert_string_equal(reply_header(&r, "Connection"), "close");
    rig_call(&rig, send_lines);
    read_exactly(fd, "data: a\ndata: b\ndata: c\ndata: \n\ndata: \n\n");
    rig_call(&rig, close_streams);
    expect_closed(fd);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.closed, 1);
}

TEST(head_request)
{
    struct rig rig;
    struct reply r;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "HEAD /events HTTP/1.1\r\nHost: a\r\n\r\n");
    read_head(fd, &r);
    assert_int_equal(r.status, 200);
    rig_await(&rig.closed, 1);
    rig.nstreams = 0;
    SEND(fd, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_reply(fd, 200, "{\"hello\":true}");
    close(fd);
    rig_stop(&rig);
}

TEST(client_leaves)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = open_stream(&rig);
    close(fd);
    rig_await(&rig.closed, 1);
    rig_stop(&rig);
    assert_int_equal(rig.closed, 1);
}

/* ---- readers that do not keep up ---- */

static void flood(struct rig *rig)
{
    static char data[64 * 1024];
    memset(data, 'd', sizeof(data));
    struct sse_frame *f = sse_frame_new(STR("x"), STR_NONE, str_make(data, sizeof(data)));
    bool is_alive = true;
    for (int i = 0; i < 1000 && is_alive; i++) {
        assert_true(queued_bytes(rig) <= SSE_QUEUE_MAX);
        is_alive = sse_send(rig->streams[0], f);
    }
    if (!is_alive) {
        assert_int_equal(rig->closed, 0); /* not from inside sse_send */
        assert_false(sse_send(rig->streams[0], f));
    }
    assert_true(sse_is_late(rig->streams[0]));
    sse_frame_unref(f);
}

TEST(slow_reader_is_dropped)
{
    struct rig rig;
    struct buf got;
    rig_start(&rig, NULL);
    int fd = open_stream(&rig);
    rig_call(&rig, flood);
    rig_await(&rig.closed, 1);
    /* 1,000 frames of 64 KiB would be 64 MB: it got what the kernel held, then a reset. */
    buf_init(&got, 64 << 20);
    assert_int_equal(read_to_end(fd, &got), -1);
    assert_true(got.n < 32u << 20);
    buf_done(&got);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.closed, 1);
}

static void send_three(struct rig *rig)
{
    struct sse *s = rig->streams[0];
    sse_send_now(s, STR_NONE, STR_NONE, STR("1"));
    sse_send_now(s, STR_NONE, STR_NONE, STR("2"));
    sse_send_now(s, STR_NONE, STR_NONE, STR("3"));
    assert_false(sse_is_late(s)); /* the end of the turn sends them */
    assert_int_equal(queued_bytes(rig), 3 * strlen("9\r\ndata: 1\n\n\r\n"));
}

/* Frames of one turn go out together, in one packet. */
TEST(frames_of_a_turn_are_one_write)
{
    struct rig rig;
    char got[256];
    rig_start(&rig, NULL);
    int fd = open_stream(&rig);
    rig_call(&rig, send_three);
    ssize_t n = recv(fd, got, sizeof(got) - 1, 0);
    assert_true(n > 0);
    got[n] = '\0';
    assert_string_equal(got, "9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n9\r\ndata: 3\n\n\r\n");
    close(fd);
    rig_await(&rig.closed, 1);
    rig_stop(&rig);
}

enum { HUGE_DATA = 3 * SSE_QUEUE_MAX };

static void send_huge(struct rig *rig)
{
    static char data[HUGE_DATA];
    memset(data, 'h', sizeof(data));
    sse_send_now(rig->streams[0], STR_NONE, STR_NONE, STR("small"));
    sse_send_now(rig->streams[0], STR_NONE, STR_NONE, str_make(data, sizeof(data)));
    close_streams(rig);
}

/* One frame above the ceiling is no reason to drop who reads. */
TEST(a_huge_frame_arrives)
{
    struct rig rig;
    struct reply r;
    struct buf got;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /events HTTP/1.0\r\n\r\n");
    rig_await(&rig.requests, 1);
    rig_call(&rig, send_huge);
    buf_init(&got, 64 << 20);
    read_head(fd, &r);
    assert_int_equal(read_to_end(fd, &got), 0);
    assert_int_equal(got.n, HUGE_DATA + strlen("data: small\n\ndata: \n\n"));
    buf_done(&got);
    close(fd);
    rig_await(&rig.closed, 1);
    rig_stop(&rig);
}

enum { FRAME_DATA = 16 * 1024 };

static unsigned nsent;

/* More than the kernel takes: until half of the ceiling is queued. */
static void send_many(struct rig *rig)
{
    static char data[FRAME_DATA];
    for (nsent = 0; queued_bytes(rig) < SSE_QUEUE_MAX / 2; nsent++) {
        memset(data, 'a' + (int)(nsent % 26), sizeof(data));
        sse_send_now(rig->streams[0], STR_NONE, STR_NONE, str_make(data, sizeof(data)));
    }
    close_streams(rig);
}

/* Frames that had to be queued arrive whole and in order, and the end comes after them. */
TEST(queue_is_flushed)
{
    struct rig rig;
    struct reply r;
    struct buf got;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /events HTTP/1.0\r\n\r\n");
    rig_await(&rig.requests, 1);
    rig_call(&rig, send_many);
    buf_init(&got, 64 << 20);
    read_head(fd, &r);
    assert_int_equal(read_to_end(fd, &got), 0);
    size_t frame = FRAME_DATA + strlen("data: \n\n");
    assert_int_equal(got.n, nsent * frame);
    for (unsigned k = 0; k < nsent; k++)
        assert_int_equal(got.p[k * frame + 100], 'a' + k % 26);
    buf_done(&got);
    close(fd);
    rig_await(&rig.closed, 1);
    rig_stop(&rig);
}

static void fill_and_close(struct rig *rig)
{
    static char data[900 * 1024];
    memset(data, 'd', sizeof(data));
    for (int i = 0; i < 100 && queued_bytes(rig) == 0; i++)
        sse_send_now(rig->streams[0], STR_NONE, STR_NONE, str_make(data, sizeof(data)));
    assert_true(queued_bytes(rig) > 0);
    sse_close(rig->streams[0]);
    sse_close(rig->streams[0]); /* once is enough, twice is harmless */
    rig->nstreams = 0;
}

/* A closed stream whose client reads nothing any more is not waited for. */
TEST(flush_stalls)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.body_stall_ms = 100;
    struct rig rig;
    rig_start(&rig, &limits);
    int fd = open_stream(&rig);
    rig_call(&rig, fill_and_close);
    rig_await(&rig.closed, 1);
    close(fd);
    rig_stop(&rig);
}

/* ---- pings ---- */

TEST(pings)
{
    struct rig rig;
    rig_init(&rig, NULL);
    rig.server->ping_ms = 50;
    rig_run(&rig);
    int fds[8];
    for (int i = 0; i < 8; i++)
        fds[i] = open_stream(&rig);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 8; i++)
            read_exactly(fds[i], "8\r\n: ping\n\n\r\n");
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    rig_await(&rig.closed, 8);
    rig_stop(&rig);
}

/* ---- stopping ---- */

TEST(stop_while_streaming)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fds[5];
    for (int i = 0; i < 5; i++)
        fds[i] = open_stream(&rig);
    rig_call(&rig, send_hello);
    loop_post(rig.loop, rig_begin_stop, &rig);
    for (int i = 0; i < 5; i++) {
        read_exactly(fds[i], "27\r\nevent: greeting\nid: 7\ndata: a\ndata: b\n\n\r\n0\r\n\r\n");
        expect_closed(fds[i]);
        close(fds[i]);
    }
    rig_join(&rig);
    assert_int_equal(rig.closed, 5);
}

TEST(stop_with_a_stalled_reader)
{
    struct rig rig;
    rig_start(&rig, NULL);
    rig.grace_ms = 100;
    int fd = open_stream(&rig);
    rig_call(&rig, fill_and_close);
    rig_stop(&rig);
    assert_int_equal(rig.closed, 1);
    close(fd);
}

static void open_kept(struct rig *rig)
{
    struct http_req *r = rig->kept;
    rig->kept = NULL;
    timer_stop(&rig->later);
    assert_null(r->conn);
    struct sse *s = sse_open(r, rig_on_close, rig);
    sse_send_now(s, STR("x"), STR_NONE, STR("y"));
}

/* The client left while the answer was being made: the stream opens and closes all the same. */
TEST(open_after_client_left)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /never-deaf HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_await(&rig.requests, 1);
    struct linger hard = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd);
    rig_await_conns(&rig, 0);
    rig_call(&rig, open_kept);
    rig_await(&rig.closed, 1);
    rig_stop(&rig);
}
