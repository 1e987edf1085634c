#include <limits.h>
#include <signal.h>

#include "base/clock.h"
#include "net/curl/curl_loop.h"
#include "net/fetch.h"
#include "support/unit.h"
#include "unit/net/http_double.h"

enum { WAIT_MS = 60000, PIECE = 8 };

enum ending { COMPLETE, CUT, STALLED };

/* What the server sends: numbered pieces in packets of their own, then, after a
 * lull, the rest at once. */
struct script {
    int pieces;
    unsigned gap_us;
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
    int cancel_at, pause_at, hurry_at;
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
        if (w->script.gap_us > 0)
            usleep(w->script.gap_us);
    }
    return is_open;
}

static void serve(struct exchange *x)
{
    struct world *w = x->d->ctx;
    const struct script *s = &w->script;
    size_t cut = s->ending == COMPLETE ? 0 : 1;
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
    x->close = s->ending == CUT;
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
    if (w->calls == w->hurry_at)
        fetch_hurry(w->fetch);
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

static void start(struct world *w, unsigned flags, struct script script)
{
    char url[64];
    int n = snprintf(url, sizeof(url), "http://127.0.0.1:%d/", w->server->port);
    w->script = script;
    w->calls = 0;
    w->is_done = false;
    atomic_store(&w->taken, 0);
    buf_clear(&w->body);
    uint64_t idle_ms = script.ending == STALLED ? 1500 : WAIT_MS;
    struct fetch_spec spec = {.url = {url, (size_t)n}, .flags = flags, .idle_timeout_ms = idle_ms};
    w->fetch = fetch_start(w->fetcher, &spec, &EVENTS, w);
}

/* Returns the milliseconds it took. */
static uint64_t run(struct world *w, unsigned flags, struct script script)
{
    uint64_t start_ms = clock_mono_ms();
    start(w, flags, script);
    assert_true(loop_run_until(w->loop, &w->is_done, WAIT_MS));
    return clock_mono_ms() - start_ms;
}

static void run_loop(struct world *w, uint64_t ms)
{
    bool never = false;
    loop_run_until(w->loop, &never, ms);
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

/* A rest for every read but the first ones, and a few pieces at a time come out of the kernel;
 * unless the machine is so slow that the pieces are no longer quick. */
TEST_WITH(quick_pieces_come_together, set_up, tear_down)
{
    struct world *w = *state;
    uint64_t ms = run(w, FETCH_PATIENT, (struct script){.pieces = 1000, .gap_us = 100});
    assert_int_equal(w->err.code, 0);
    assert_all_came(w);
    assert_in_range(w->calls, 1, 100 + ms / 2);
}

/* One of many attempts has to be quick: a loaded machine may be slow, a rest always is. */
static void assert_quick(struct world *w, unsigned flags, struct script script, uint64_t max_ms)
{
    uint64_t best_ms = UINT64_MAX, until_ms = clock_mono_ms() + WAIT_MS;
    while (best_ms > max_ms && clock_mono_ms() < until_ms) {
        uint64_t ms = run(w, flags, script);
        assert_int_equal(w->err.code, 0);
        assert_all_came(w);
        best_ms = ms < best_ms ? ms : best_ms;
    }
    assert_in_range(best_ms, 0, max_ms);
}

TEST_WITH(first_pieces_come_at_once, set_up, tear_down)
{
    assert_quick(*state, FETCH_PATIENT, (struct script){.pieces = 16, .in_step = true},
                 8 * CURL_REST_MS);
}

TEST_WITH(impatient_responses_come_at_once, set_up, tear_down)
{
    assert_quick(*state, 0, (struct script){.pieces = 60, .in_step = true}, 30 * CURL_REST_MS);
}

TEST_WITH(a_hurry_ends_all_rests, set_up, tear_down)
{
    struct world *w = *state;
    w->hurry_at = 20;
    assert_quick(w, FETCH_PATIENT, (struct script){.pieces = 60, .in_step = true},
                 30 * CURL_REST_MS);
}

TEST_WITH(a_connection_forgets_its_last_response, set_up, tear_down)
{
    struct world *w = *state;
    run(w, FETCH_PATIENT, (struct script){.pieces = 200, .gap_us = 100});
    assert_quick(w, FETCH_PATIENT, (struct script){.pieces = 16, .in_step = true},
                 8 * CURL_REST_MS);
    assert_int_equal(atomic_load(&w->server->connections), 1);
}

/* curl takes 16 KiB at a time: a rest after each would make 2 s of this. */
TEST_WITH(a_socket_is_empty_when_it_rests, set_up, tear_down)
{
    assert_quick(*state, FETCH_PATIENT,
                 (struct script){.pieces = 100, .gap_us = 100, .rest = 3u << 20},
                 100 * CURL_REST_MS);
}

/* The end comes when the last rest has found nothing, and when curl has no timer any more that
 * would make it look. */
TEST_WITH(ends_are_seen_after_a_rest, set_up, tear_down)
{
    struct world *w = *state;
    struct script script = {.pieces = 100, .gap_us = 100, .lull_us = 250000};
    script.ending = CUT;
    run(w, FETCH_PATIENT, script);
    assert_int_equal(w->err.code, -ECONNRESET);
    assert_all_came(w);
    script.ending = STALLED;
    run(w, FETCH_PATIENT, script);
    assert_int_equal(w->err.code, -ETIMEDOUT);
    assert_all_came(w);
}

/* Pieces in step are one call each, and after the first ones a rest each. */
static const struct script IN_STEP = {.pieces = 40, .in_step = true, .ending = STALLED};
enum { AT_REST = 22 };

static void start_and_rest(struct world *w)
{
    start(w, FETCH_PATIENT, IN_STEP);
    for (int i = 0; i < WAIT_MS / 5 && w->calls < AT_REST; i++)
        run_loop(w, 5);
    assert_in_range(w->calls, AT_REST, IN_STEP.pieces - 1);
}

static void await_close(struct world *w, int n)
{
    for (int i = 0; i < WAIT_MS / 10 && atomic_load(&w->server->peer_closed) < n; i++)
        run_loop(w, 10);
    assert_int_equal(atomic_load(&w->server->peer_closed), n);
}

TEST_WITH(cancels_inside_of_a_read_and_during_a_rest, set_up, tear_down)
{
    struct world *w = *state;
    w->cancel_at = AT_REST;
    start(w, FETCH_PATIENT, IN_STEP);
    await_close(w, 1);
    assert_int_equal(w->calls, AT_REST);
    w->cancel_at = 0;
    start_and_rest(w);
    int calls = w->calls;
    cancel(w);
    await_close(w, 2);
    assert_int_equal(w->calls, calls);
    assert_false(w->is_done);
}

TEST_WITH(pauses_during_a_rest, set_up, tear_down)
{
    struct world *w = *state;
    struct script script = IN_STEP;
    script.ending = COMPLETE;
    w->pause_at = AT_REST;
    start(w, FETCH_PATIENT, script);
    for (int i = 0; i < WAIT_MS / 10 && w->calls < AT_REST; i++)
        run_loop(w, 10);
    run_loop(w, 5 * CURL_REST_MS);
    assert_int_equal(w->calls, AT_REST);
    fetch_pause(w->fetch, false);
    assert_true(loop_run_until(w->loop, &w->is_done, WAIT_MS));
    assert_int_equal(w->err.code, 0);
    assert_all_came(w);
}

TEST_WITH(may_be_freed_during_a_rest, set_up, tear_down)
{
    struct world *w = *state;
    start_and_rest(w);
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
