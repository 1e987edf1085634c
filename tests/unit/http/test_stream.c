#include "http/stream.h"
#include "rig.h"

/* ---- the application: /long makes PIECES pieces, /broken fails after three ---- */

enum { PIECE = 64 * 1024, PIECES = 400 };

static struct {
    struct http_stream *stream;
    bool is_broken;
} made;
static atomic_uint npieces, nclosed;

static void produce(void *ctx)
{
    char piece[PIECE];
    memset(piece, 'a' + (int)(npieces % 26), sizeof piece);
    if (made.is_broken && npieces == 3) {
        http_stream_fail(made.stream);
    } else if (npieces == PIECES) {
        http_stream_end(made.stream);
    } else {
        npieces++;
        http_stream_write(made.stream, str_make(piece, sizeof piece));
    }
}

static void on_close(void *ctx)
{
    nclosed++;
}

static void on_request(void *ctx, struct http_req *r)
{
    if (str_eq(r->path, STR("/hello"))) {
        http_reply(r, 200, "text/plain", STR("hello"));
        return;
    }
    static const struct http_stream_maker MAKER = {produce, on_close, NULL};
    npieces = 0;
    made.is_broken = str_eq(r->path, STR("/broken"));
    made.stream = http_stream_open(r, "text/plain", &MAKER);
}

static void start(struct rig *rig)
{
    struct http_handlers h = {.on_request = on_request, .ctx = rig};
    npieces = nclosed = 0;
    rig_make(rig, NULL, &h);
    rig->grace_ms = 50;
    rig_listen(rig);
    rig_run(rig);
}

/* The body without its chunk sizes. */
static void unchunk(const struct buf *in, struct buf *out)
{
    str rest = buf_str(in);
    rest = str_skip(rest, (size_t)(strstr(buf_cstr((struct buf *)in), "\r\n\r\n") - in->p) + 4);
    for (size_t n = 1; n > 0;) {
        n = strtoul(rest.p, NULL, 16);
        rest = str_skip(rest, (size_t)(strstr(rest.p, "\r\n") - rest.p) + 2);
        buf_add_str(out, str_slice(rest, 0, n));
        rest = str_skip(rest, n + 2);
    }
    assert_int_equal(rest.n, 0);
}

/* ---- tests ---- */

TEST(is_made_as_fast_as_it_is_read)
{
    struct rig rig;
    struct buf got, body;
    buf_init(&got, 64 << 20);
    buf_init(&body, 64 << 20);
    start(&rig);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    rig_await(&npieces, 1);
    unsigned before;
    do { /* until the sockets are full */
        before = npieces;
        usleep(100000);
    } while (npieces != before);
    assert_true(npieces < PIECES);
    (void)read_to_end(fd, &got);
    unchunk(&got, &body);
    assert_int_equal(body.n, (size_t)PIECE * PIECES);
    for (size_t i = 0; i < PIECES; i++)
        assert_int_equal(body.p[i * PIECE], 'a' + (int)(i % 26));
    rig_await(&nclosed, 1);
    close(fd);
    rig_stop(&rig);
    buf_done(&got);
    buf_done(&body);
}

TEST(a_failure_is_not_an_end)
{
    struct rig rig;
    struct buf got;
    buf_init(&got, 64 << 20);
    start(&rig);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /broken HTTP/1.1\r\nHost: a\r\n\r\n");
    char c[4096];
    ssize_t n;
    while ((n = recv(fd, c, sizeof c, 0)) > 0)
        (void)buf_add(&got, c, (size_t)n);
    assert_true(got.n < 5 || memcmp(got.p + got.n - 5, "0\r\n\r\n", 5) != 0);
    rig_await(&nclosed, 1);
    close(fd);
    rig_stop(&rig);
    buf_done(&got);
}

TEST(the_reader_may_leave)
{
    struct rig rig;
    start(&rig);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_await(&npieces, 1);
    close(fd);
    rig_await(&nclosed, 1);
    assert_true(npieces < PIECES);
    rig_stop(&rig);
}

TEST(head_gets_no_body)
{
    struct rig rig;
    struct buf got;
    buf_init(&got, 1 << 20);
    start(&rig);
    int fd = rig_connect(&rig);
    SEND(fd, "HEAD /long HTTP/1.1\r\nHost: a\r\n\r\n"
             "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    (void)read_to_end(fd, &got);
    assert_non_null(strstr(buf_cstr(&got), "Transfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK"));
    assert_int_equal(npieces, 0);
    rig_await(&nclosed, 1);
    close(fd);
    rig_stop(&rig);
    buf_done(&got);
}

TEST(old_clients_get_it_plain)
{
    struct rig rig;
    struct buf got;
    buf_init(&got, 64 << 20);
    start(&rig);
    int fd = rig_connect(&rig);
    SEND(fd, "GET /long HTTP/1.0\r\n\r\n");
    (void)read_to_end(fd, &got);
    const char *body = strstr(buf_cstr(&got), "\r\n\r\n") + 4;
    assert_int_equal(got.n - (size_t)(body - got.p), (size_t)PIECE * PIECES);
    close(fd);
    rig_stop(&rig);
    buf_done(&got);
}
