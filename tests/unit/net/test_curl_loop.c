#include <limits.h>
#include <signal.h>
#include <uv.h>

#include "net/fetch.h"
#include "support/unit.h"
#include "unit/net/http_double.h"

enum { WAIT_MS = 60000, PIECE = 8 };

enum ending { COMPLETE, CUT, STALLED, CLOSED /* complete, then the connection ends */ };

/* What the server sends: numbered pieces in packets of their own, then, after a
 * lull, the rest at once. */
struct script {
    int pieces;
    bool in_step; /* each piece after the one before was taken */
    unsigned lull_us;
    size_t rest;
    enum ending ending;
};

struct world {
    struct loop *loop;
    struct fetcher *fetcher;
    struct http_double *server;
    struct script script;
    struct fetch *fetch;
    struct buf body;
    int calls; /* of on_data */
    int cancel_at, pause_at;
    bool is_done;
    struct err err;
    atomic_int taken; /* whole pieces */
};

/* ---- the server ---- */

static bool send_pieces(struct exchange *x, struct world *w)
{
    char piece[16];
    bool is_open = true;
    for (int i = 0; i < w->script.pieces && is_open; i++) {
        for (int wait = 0; w->script.in_step && wait < WAIT_MS * 10; wait++) {
            if (atomic_load(&w->taken) >= i)
                break;
            usleep(100);
        }
        snprintf(piece, sizeof(piece), "%07d\n", i);
        is_open = dbl_send(x, piece, PIECE);
    }
    return is_open;
}

static void serve(struct exchange *x)
{
    struct world *w = x->d->ctx;
    const struct script *s = &w->script;
    size_t cut = s->ending == CUT || s->ending == STALLED;
    char head[128], *rest = xcalloc(1, s->rest + 1);
    int on = 1;
    setsockopt(x->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
             (size_t)s->pieces * PIECE + s->rest + cut);
    dbl_say(x, head);
    bool is_open = send_pieces(x, w);
    usleep(s->lull_us);
    if (is_open)
        dbl_send(x, rest, s->rest);
    free(rest);
    x->close = s->ending == CUT || s->ending == CLOSED;
    if (s->ending == STALLED)
        dbl_hang(x);
}

/* ---- the client ---- */

static void on_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    assert_int_equal(status, 200);
}

static void cancel(struct world *w)
{
    fetch_cancel(w->fetch);
    w->fetch = NULL;
    atomic_store(&w->taken, INT_MAX); /* the server goes on, and finds nobody */
}

static void on_data(void *ctx, str bytes)
{
    struct world *w = ctx;
    assert_non_null(w->fetch);
    w->calls++;
    buf_add_str(&w->body, bytes);
    atomic_store(&w->taken, (int)(w->body.n / PIECE));
    if (w->calls == w->pause_at)
        fetch_pause(w->fetch, true);
    if (w->calls == w->cancel_at)
        cancel(w);
}

static void on_done(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    w->is_done = true;
    w->err = *err;
    w->fetch = NULL;
}

static const struct fetch_events EVENTS = {on_head, on_data, on_done};

static void start(struct world *w, struct script script)
{
    char url[64];
    int n = snprintf(url, sizeof(url), "http://127.0.0.1:%d/", w->server->port);
    w->script = script;
    w->calls = 0;
    w->is_done = false;
    atomic_store(&w->taken, 0);
    buf_clear(&w->body);
    uint64_t idle_ms = script.ending == STALLED ? 1500 : WAIT_MS;
    struct fetch_spec spec = {.url = {url, (size_t)n}, .idle_timeout_ms = idle_ms};
    w->fetch = fetch_start(w->fetcher, &spec, &EVENTS, w);
}

static void run(struct world *w, struct script script)
{
    start(w, script);
    assert_true(loop_run_until(w->loop, &w->is_done, WAIT_MS));
}

static void run_loop(struct world *w, uint64_t ms)
{
    bool never = false;
    loop_run_until(w->loop, &never, ms);
}

static void run_until_calls(struct world *w, int calls)
{
    for (int i = 0; i < WAIT_MS && w->calls < calls; i++)
        run_loop(w, 1);
    assert_in_range(w->calls, calls, INT_MAX);
}

static void assert_all_came(const struct world *w)
{
    char piece[16];
    assert_int_equal(w->body.n, (size_t)w->script.pieces * PIECE + w->script.rest);
    for (int i = 0; i < w->script.pieces; i++) {
        snprintf(piece, sizeof(piece), "%07d\n", i);
        assert_memory_equal(w->body.p + (size_t)i * PIECE, piece, PIECE);
    }
}

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    w->loop = loop_new(NULL);
    w->fetcher = fetcher_new(w->loop);
    w->server = http_double_new();
    w->server->serve = serve;
    w->server->ctx = w;
    buf_init(&w->body, 16 << 20);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    fetcher_free(w->fetcher);
    loop_free(w->loop);
    http_double_free(w->server);
    buf_done(&w->body);
    free(w);
    return 0;
}

/* ---- tests ---- */

/* Nothing is collected: each piece is delivered before the server sends the next one. */
TEST_WITH(each_piece_comes_with_its_packet, set_up, tear_down)
{
    struct world *w = *state;
    run(w, (struct script){.pieces = 60, .in_step = true});
    assert_int_equal(w->err.code, 0);
    assert_all_came(w);
    assert_int_equal(w->calls, 60);
}

/* curl takes 16 KiB at a time. */
TEST_WITH(much_at_once_comes_whole, set_up, tear_down)
{
    struct world *w = *state;
    run(w, (struct script){.pieces = 100, .rest = 3u << 20});
    assert_int_equal(w->err.code, 0);
    assert_all_came(w);
    assert_int_equal(atomic_load(&w->server->connections), 1);
}

TEST_WITH(ends_are_seen_after_silence, set_up, tear_down)
{
    struct world *w = *state;
    struct script script = {.pieces = 100, .lull_us = 250000};
    script.ending = CUT;
    run(w, script);
    assert_int_equal(w->err.code, -ECONNRESET);
    assert_all_came(w);
    script.ending = STALLED;
    run(w, script);
    assert_int_equal(w->err.code, -ETIMEDOUT);
    assert_all_came(w);
}

static const struct script IN_STEP = {.pieces = 40, .in_step = true, .ending = STALLED};
enum { MIDDLE = 22 };

static void await_close(struct world *w, int n)
{
    for (int i = 0; i < WAIT_MS / 10 && atomic_load(&w->server->peer_closed) < n; i++)
        run_loop(w, 10);
    assert_int_equal(atomic_load(&w->server->peer_closed), n);
}

TEST_WITH(cancels_inside_of_a_read_and_between_two, set_up, tear_down)
{
    struct world *w = *state;
    w->cancel_at = MIDDLE;
    start(w, IN_STEP);
    await_close(w, 1);
    assert_int_equal(w->calls, MIDDLE);
    w->cancel_at = 0;
    start(w, IN_STEP);
    run_until_calls(w, MIDDLE);
    int calls = w->calls;
    cancel(w);
    await_close(w, 2);
    assert_int_equal(w->calls, calls);
    assert_false(w->is_done);
}

TEST_WITH(a_pause_holds_the_next_piece_back, set_up, tear_down)
{
    struct world *w = *state;
    struct script script = IN_STEP;
    script.ending = COMPLETE;
    w->pause_at = MIDDLE;
    start(w, script);
    run_until_calls(w, MIDDLE);
    run_loop(w, 50);
    assert_int_equal(w->calls, MIDDLE);
    fetch_pause(w->fetch, false);
    assert_true(loop_run_until(w->loop, &w->is_done, WAIT_MS));
    assert_int_equal(w->err.code, 0);
    assert_all_came(w);
}

TEST_WITH(may_be_freed_between_two_reads, set_up, tear_down)
{
    struct world *w = *state;
    start(w, IN_STEP);
    run_until_calls(w, MIDDLE);
    fetcher_free(w->fetcher);
    w->fetcher = NULL;
    atomic_store(&w->taken, INT_MAX);
    await_close(w, 1);
    assert_false(w->is_done);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    return run_unit_tests("tests", NULL);
}

/* How many sockets of curl are watched: the targets of the epoll descriptor that is not the loop's.
 */
static int count_watched(struct world *w)
{
    char path[64], line[256];
    int n = 0;
    for (int fd = 0; fd < 256; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        FILE *f = fd == uv_backend_fd(loop_uv(w->loop)) ? NULL : fopen(path, "re");
        while (f && fgets(line, sizeof(line), f))
            n += strncmp(line, "tfd:", 4) == 0;
        if (f)
            fclose(f);
    }
    return n;
}

TEST_WITH(a_kept_connection_stays_watched_and_is_used_again, set_up, tear_down)
{
    struct world *w = *state;
    for (int i = 0; i < 5; i++) {
        run(w, (struct script){.pieces = 3, .in_step = true});
        assert_int_equal(w->err.code, 0);
        assert_all_came(w);
        assert_int_equal(count_watched(w), 1);
    }
    assert_int_equal(atomic_load(&w->server->connections), 1);
}

/* A socket that stays readable would keep the loop from sleeping. */
TEST_WITH(a_kept_connection_that_the_server_ends_is_not_watched_any_more, set_up, tear_down)
{
    struct world *w = *state;
    for (int i = 0; i < 3; i++) {
        run(w, (struct script){.pieces = 3, .ending = CLOSED});
        assert_int_equal(w->err.code, 0);
        assert_all_came(w);
        for (int ms = 0; ms < WAIT_MS && count_watched(w) > 0; ms++)
            run_loop(w, 1);
        assert_int_equal(count_watched(w), 0);
    }
    assert_int_equal(atomic_load(&w->server->connections), 3);
}
