#include "rig.h"

/* ---- the application: a request says whose it is ---- */

static bool on_head(void *ctx, struct http_req *r)
{
    str person = http_get_header(r, "x-person"), client = http_get_header(r, "x-client");
    r->user = ctx;
    if ((client.n == 0 || http_count_for_address(r, client)) &&
        (person.n == 0 || http_count_for(r, person)))
        return true;
    http_reply_error(r, 429, NULL, "Too many.", NULL);
    return false;
}

static void on_request(void *ctx, struct http_req *r)
{
    struct rig *rig = ctx;
    rig->requests++;
    if (str_eq(r->path, STR("/never")))
        r->on_gone = rig_on_gone;
    else if (str_eq(r->path, STR("/big")))
        rig_reply_big(r);
    else if (str_eq(r->path, STR("/watch")))
        (void)sse_open_watch(r, rig_on_close, NULL, rig);
    else
        http_reply(r, 200, "text/plain", STR("hello"));
}

static void start(struct rig *rig, const struct http_limits *limits)
{
    struct http_handlers h = {.on_head = on_head, .on_request = on_request, .ctx = rig};
    rig_make(rig, limits, &h);
    rig->grace_ms = 50;
    rig_listen(rig);
    rig_run(rig);
}

/* ---- the client ---- */

#define GET(path, person) "GET " path " HTTP/1.1\r\nHost: a\r\n" person "\r\n"
#define ANN               "X-Person: ann\r\n"
#define BOB               "X-Person: bob\r\n"

static int status_of(int fd)
{
    char line[13] = {0};
    if (recv(fd, line, 12, MSG_WAITALL) != 12)
        return 0;
    return (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
}

static int ask(const struct rig *rig, str request, int *ret_fd)
{
    *ret_fd = rig_connect(rig);
    send_str(*ret_fd, request);
    return status_of(*ret_fd);
}

static bool is_closed(int fd)
{
    char c;
    return recv(fd, &c, 1, 0) <= 0;
}

/* What the server has sent is read past. */
static bool is_closed_by_server(int fd)
{
    char bytes[4096];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
    }
    return n == 0 || errno != EAGAIN;
}

static bool is_open(int fd)
{
    char c;
    return recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

static void close_all_of(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

static bool always_proxy(void *ctx, const char *peer_addr)
{
    return true;
}

/* ---- tests ---- */

#define VIA(path, client) GET(path, "X-Client: " client "\r\n")

/* Behind a proxy every client has places of its own, while its requests are under way. */
TEST(clients_of_a_proxy_have_places_of_their_own)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.conns_per_address = 2;
    struct http_handlers h = {
        .on_head = on_head, .on_request = on_request, .is_proxy = always_proxy};
    struct rig rig;
    h.ctx = &rig;
    rig_make(&rig, &limits, &h);
    rig.grace_ms = 50;
    rig_listen(&rig);
    rig_run(&rig);
    int busy[2], kept[3], fd;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) /* more than the ceiling, but between requests */
        assert_int_equal(ask(&rig, STR(VIA("/", "192.0.2.1")), &kept[i]), 200);
    unsigned before = rig.requests;
    for (size_t i = 0; i < ARRAY_LEN(busy); i++) {
        busy[i] = rig_connect(&rig);
        SEND(busy[i], VIA("/never", "192.0.2.1"));
        rig_await(&rig.requests, before + (unsigned)i + 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        assert_false(is_closed_by_server(kept[i]));
    assert_int_equal(ask(&rig, STR(VIA("/", "192.0.2.1")), &fd), 429);
    close(fd);
    assert_int_equal(ask(&rig, STR(VIA("/", "192.0.2.2")), &fd), 200);
    close(fd);
    assert_int_equal(ask(&rig, STR(VIA("/", "2001:db8::1")), &fd), 200);
    close(fd);
    assert_int_equal(ask(&rig, STR(GET("/", "X-Client: 192.0.2.2\r\n" ANN)), &fd), 200);
    close(fd);
    close_all_of(busy, ARRAY_LEN(busy));
    close_all_of(kept, ARRAY_LEN(kept));
    rig_stop(&rig);
}

TEST(half_heads_make_room)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.conns_per_address = 8;
    struct rig rig;
    start(&rig, &limits);
    int fds[8], fd;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = rig_connect(&rig);
        SEND(fds[i], "GET / HT");
    }
    assert_int_equal(ask(&rig, STR(GET("/", "")), &fd), 200);
    assert_true(is_closed(fds[0]));
    assert_true(is_open(fds[7]));
    close(fd);
    close_all_of(fds, ARRAY_LEN(fds));
    rig_stop(&rig);
}

TEST(what_is_under_way_stays)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.conns_per_address = 3;
    struct rig rig;
    start(&rig, &limits);
    int fds[3], fd;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = rig_connect(&rig);
        SEND(fds[i], GET("/never", ""));
        rig_await(&rig.requests, (unsigned)i + 1);
    }
    assert_int_equal(ask(&rig, STR(GET("/", "")), &fd), 503);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        assert_true(is_open(fds[i]));
    close(fd);
    close_all_of(fds, ARRAY_LEN(fds));
    rig_stop(&rig);
}

/* What counts for a person does not count for the address, so that others get in. */
TEST(persons_have_places_of_their_own)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.conns_per_address = 2;
    limits.conns_per_person = 3;
    struct rig rig;
    start(&rig, &limits);
    int fds[3], fd, other;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = rig_connect(&rig);
        SEND(fds[i], GET("/never", ANN));
        rig_await(&rig.requests, (unsigned)i + 1);
    }
    assert_int_equal(ask(&rig, STR(GET("/", ANN)), &fd), 429);
    assert_int_equal(ask(&rig, STR(GET("/", BOB)), &other), 200);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        assert_true(is_open(fds[i]));
    close(fd);
    close(other);
    close_all_of(fds, ARRAY_LEN(fds));
    rig_stop(&rig);
}

/* Strangers fill what is not reserved, and no more. */
TEST(some_are_reserved_for_the_known)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.conns = 6;
    limits.conns_reserved = 3;
    struct rig rig;
    start(&rig, &limits);
    int known[3], strangers[3], fd;
    for (size_t i = 0; i < 3; i++) {
        known[i] = rig_connect(&rig);
        SEND(known[i], GET("/never", ANN));
        rig_await(&rig.requests, (unsigned)i + 1);
    }
    for (size_t i = 0; i < 3; i++) {
        strangers[i] = rig_connect(&rig);
        SEND(strangers[i], GET("/never", ""));
        rig_await(&rig.requests, (unsigned)i + 4);
    }
    assert_int_equal(ask(&rig, STR(GET("/", "")), &fd), 503);
    for (size_t i = 0; i < 3; i++)
        assert_true(is_open(known[i]) && is_open(strangers[i]));
    close(fd);
    close_all_of(known, 3);
    close_all_of(strangers, 3);
    rig_stop(&rig);
}

TEST(the_oldest_stream_ends)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.streams_per_person = 2;
    struct rig rig;
    start(&rig, &limits);
    int fds[3], other;
    struct buf got;
    assert_int_equal(ask(&rig, STR(GET("/watch", BOB)), &other), 200);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        assert_int_equal(ask(&rig, STR(GET("/watch", ANN)), &fds[i]), 200);
    rig_await(&rig.closed, 1);
    buf_init(&got, 1 << 20);
    (void)shutdown(fds[0], SHUT_WR);
    (void)read_to_end(fds[0], &got);
    assert_non_null(strstr(buf_cstr(&got), "0\r\n\r\n")); /* it ended, and the others did not */
    assert_int_equal(rig.closed, 1);
    buf_done(&got);
    close(other);
    close_all_of(fds, ARRAY_LEN(fds));
    rig_stop(&rig);
}

TEST(unread_answers_are_limited)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.queue_per_person = 1 << 20;
    struct rig rig;
    start(&rig, &limits);
    int fds[2], fd, other;
    assert_int_equal(ask(&rig, STR(GET("/big?n=40000000", ANN)), &fds[0]), 200);
    assert_int_equal(ask(&rig, STR(GET("/big?n=1000000", ANN)), &fd), 503);
    assert_int_equal(ask(&rig, STR(GET("/", ANN)), &fds[1]), 200);
    assert_int_equal(ask(&rig, STR(GET("/big?n=1000000", BOB)), &other), 200);
    close(fd);
    close(other);
    close_all_of(fds, ARRAY_LEN(fds));
    rig_stop(&rig);
}
