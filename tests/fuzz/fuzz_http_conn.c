/* A whole connection: the answers must not depend on how the bytes were cut. The first byte
 * seeds the sizes of the pieces; the rest goes to the server once in pieces and once whole,
 * over a Unix socket, and both must be answered alike and end in an orderly close. */
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "http/server.h"
#include "http/sse.h"

enum { TURNS_MAX = 2000, ANSWERS_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    struct loop *loop;
    struct http_server *server;
    struct sockaddr_un addr;
} rig;

static bool on_head(void *ctx, struct http_req *r)
{
    (void)ctx;
    if (str_starts(r->path, STR("/refuse"))) {
        http_reply_error(r, 403, NULL, "No.", NULL);
        return false;
    }
    if (str_starts(r->path, STR("/tiny")))
        r->body_max = 3;
    return true;
}

static void on_closed(void *ctx)
{
    (void)ctx;
}

static void on_request(void *ctx, struct http_req *r)
{
    (void)ctx;
    if (str_starts(r->path, STR("/events"))) {
        struct sse *s = sse_open(r, on_closed, NULL);
        sse_send_now(s, STR("e"), STR("1"), STR("data"));
        sse_close(s);
        return;
    }
    str text = arena_printf(&r->arena, "%.*s %.*s %zu %zu:%.*s", STR_ARG(r->method),
                            STR_ARG(r->path), r->nheaders, r->body.n, STR_ARG(r->body));
    http_reply(r, 200, "text/plain", text);
}

static void set_up(void)
{
    struct http_handlers h = {.on_head = on_head, .on_request = on_request};
    struct err e;
    rig.loop = loop_new(NULL);
    rig.server = http_server_new(rig.loop, NULL, &h);
    rig.addr.sun_family = AF_UNIX;
    (void)snprintf(rig.addr.sun_path, sizeof(rig.addr.sun_path), "/tmp/nb-fuzz-%d.sock", getpid());
    int rc = http_listen_unix(rig.server, rig.addr.sun_path, &e);
    assert(rc == 0);
}

static void turn(int n)
{
    while (n--)
        uv_run(loop_uv(rig.loop), UV_RUN_NOWAIT);
}

static bool receive(int fd, struct buf *out)
{
    for (;;) {
        int rc = buf_reserve(out, 65536);
        assert(rc == 0);
        ssize_t n = recv(fd, out->p + out->n, 65536, MSG_DONTWAIT);
        if (n <= 0)
            return n == 0 || (errno != EAGAIN && errno != EINTR);
        out->n += (size_t)n;
    }
}

/* Talks until the server has closed. seed 0 sends everything in one piece. */
static void talk(str in, unsigned seed, struct buf *out)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = connect(fd, (struct sockaddr *)&rig.addr, sizeof(rig.addr));
    assert(rc == 0);
    unsigned random = seed;
    while (in.n) {
        random = random * 1103515245 + 12345;
        size_t n = seed ? 1 + (random >> 16) % (seed % 40 + 1) : in.n;
        str piece = str_slice(in, 0, n);
        ssize_t sent = send(fd, piece.p, piece.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EPIPE)
            break;
        in = str_skip(in, sent < 0 ? 0 : (size_t)sent);
        turn(2);
        (void)receive(fd, out);
    }
    shutdown(fd, SHUT_WR);
    bool is_closed = false;
    for (int i = 0; i < TURNS_MAX && !is_closed; i++) {
        turn(1);
        is_closed = receive(fd, out);
    }
    assert(is_closed);
    close(fd);
    turn(2);
}

/* Drops what may differ: the lines with a time or an id, and invitations to send a body. */
static void normalise(str answers, struct buf *out)
{
    str line;
    while (str_split(&answers, '\n', &line)) {
        if (str_starts(line, STR("HTTP/1.1 100 "))) {
            str_split(&answers, '\n', &line);
            continue;
        }
        if (str_starts(line, STR("Date: ")) || str_starts(line, STR("X-Request-Id: ")))
            continue;
        buf_add_str(out, line);
        buf_add_char(out, '\n');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (!rig.loop)
        set_up();
    struct buf raw, cut, whole;
    str in = str_make((const char *)data + 1, size - 1);
    buf_init(&raw, ANSWERS_MAX);
    buf_init(&cut, ANSWERS_MAX);
    buf_init(&whole, ANSWERS_MAX);
    talk(in, data[0] + 1u, &raw);
    normalise(buf_str(&raw), &cut);
    buf_clear(&raw);
    talk(in, 0, &raw);
    normalise(buf_str(&raw), &whole);
    assert(str_eq(buf_str(&cut), buf_str(&whole)));

    struct http_stats stats;
    http_server_stats(rig.server, &stats);
    assert(stats.conns == 0);
    buf_done(&raw);
    buf_done(&cut);
    buf_done(&whole);
    return 0;
}
