#include <signal.h>

#include "base/clock.h"
#include "net/fetch.h"
#include "support/unit.h"
#include "unit/net/http_double.h"

enum { WAIT_MS = 60000 };

enum when { NEVER, IN_HEAD, IN_DATA, IN_DONE };

/* One request and what came of it. */
struct got {
    struct fetch *fetch;
    struct got *victim; /* cancelled instead of itself */
    struct fetcher *free_in_done;
    enum when cancel;
    bool pause_in_head;
    int heads, status;
    struct buf headers, body;
    bool has_head, has_data, is_done;
    struct err err;
};

struct world {
    struct loop *loop;
    struct fetcher *fetcher;
    struct http_double *server;
};

static void cancel_if(struct got *g, enum when now)
{
    if (g->cancel != now)
        return;
    struct got *victim = g->victim ? g->victim : g;
    if (victim->fetch)
        fetch_cancel(victim->fetch);
    victim->fetch = NULL;
    g->cancel = NEVER;
}

static void on_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    struct got *g = ctx;
    assert_false(g->has_data || g->is_done);
    g->heads++;
    g->status = status;
    g->has_head = true;
    for (size_t i = 0; i < n; i++)
        buf_printf(&g->headers, "%.*s=%.*s\n", STR_ARG(headers[i].name), STR_ARG(headers[i].value));
    if (g->pause_in_head)
        fetch_pause(g->fetch, true);
    cancel_if(g, IN_HEAD);
}

static void on_data(void *ctx, str bytes)
{
    struct got *g = ctx;
    assert_true(g->has_head && !g->is_done && g->fetch);
    g->has_data = true;
    buf_add_str(&g->body, bytes);
    cancel_if(g, IN_DATA);
}

static void on_done(void *ctx, const struct err *err)
{
    struct got *g = ctx;
    assert_false(g->is_done);
    g->is_done = true;
    g->err = *err;
    cancel_if(g, IN_DONE);
    if (g->free_in_done)
        fetcher_free(g->free_in_done);
    g->fetch = NULL;
}

static const struct fetch_events EVENTS = {on_head, on_data, on_done};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    w->loop = loop_new(NULL);
    w->fetcher = fetcher_new(w->loop);
    w->server = http_double_new();
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    fetcher_free(w->fetcher);
    loop_free(w->loop);
    http_double_free(w->server);
    free(w);
    return 0;
}

static void got_init(struct got *g)
{
    *g = (struct got){0};
    buf_init(&g->headers, 1 << 20);
    buf_init(&g->body, 16 << 20);
}

static void got_done(struct got *g)
{
    buf_done(&g->headers);
    buf_done(&g->body);
}

/* spec.url is the path, or a whole URL. */
static void start(struct world *w, struct got *g, struct fetch_spec spec)
{
    char url[512];
    if (spec.url.n > 0 && spec.url.p[0] == '/') {
        int n = snprintf(url, sizeof(url), "http://127.0.0.1:%d%.*s", w->server->port,
                         STR_ARG(spec.url));
        spec.url = (str){url, (size_t)n};
    }
    g->fetch = fetch_start(w->fetcher, &spec, &EVENTS, g);
    assert_false(g->is_done); /* never before it returns */
}

static void await(struct world *w, struct got *g)
{
    assert_true(loop_run_until(w->loop, &g->is_done, WAIT_MS));
}

static void run_spec(struct world *w, struct got *g, struct fetch_spec spec)
{
    got_init(g);
    start(w, g, spec);
    await(w, g);
}

static void run(struct world *w, struct got *g, const char *path)
{
    run_spec(w, g, (struct fetch_spec){.url = str_from(path)});
}

static void run_loop(struct world *w, uint64_t ms)
{
    bool never = false;
    loop_run_until(w->loop, &never, ms);
}

static void await_count(struct world *w, atomic_int *counter, int n)
{
    for (int i = 0; i < WAIT_MS / 10 && atomic_load(counter) < n; i++)
        run_loop(w, 10);
    assert_int_equal(atomic_load(counter), n);
}

static bool has(const struct buf *b, const char *text)
{
    return str_find(buf_str(b), str_from(text), 0) >= 0;
}

TEST_WITH(gets_a_page, set_up, tear_down)
{
    struct got g;
    run(*state, &g, "/hello");
    assert_int_equal(g.err.code, 0);
    assert_int_equal(g.heads, 1);
    assert_int_equal(g.status, 200);
    assert_true(has(&g.headers, "x-test=One\n"));
    assert_string_equal(buf_cstr(&g.body), "hello");
    got_done(&g);
}

TEST_WITH(reads_chunks_and_ignores_trailers, set_up, tear_down)
{
    struct got g;
    run(*state, &g, "/chunked");
    assert_int_equal(g.err.code, 0);
    assert_int_equal(g.heads, 1);
    assert_string_equal(buf_cstr(&g.body), "hello world");
    got_done(&g);
}

TEST_WITH(reads_single_bytes_and_skips_interim_heads, set_up, tear_down)
{
    struct got g;
    run(*state, &g, "/bytes");
    assert_int_equal(g.err.code, 0);
    assert_int_equal(g.heads, 1);
    assert_int_equal(g.status, 200);
    assert_false(has(&g.headers, "link"));
    assert_string_equal(buf_cstr(&g.body), "hello");
    got_done(&g);
}

TEST_WITH(sends_method_headers_and_body, set_up, tear_down)
{
    const struct fetch_header headers[] = {
        {STR_INIT("Content-Type"), STR_INIT("application/json")},
        {STR_INIT("X-Empty"), STR_INIT("")},
        {STR_INIT("x-key"), STR_INIT("value with spaces")},
    };
    struct got g;
    run_spec(*state, &g,
             (struct fetch_spec){.url = STR("/echo?a=b%20c"),
                                 .headers = headers,
                                 .nheaders = ARRAY_LEN(headers),
                                 .body = STR("{\"nul\":\"\0\"}")});
    assert_int_equal(g.err.code, 0);
    assert_true(str_starts(buf_str(&g.body), STR("POST /echo?a=b%20c HTTP/1.1\r\n")));
    assert_true(has(&g.body, "\r\nContent-Type: application/json\r\n"));
    assert_true(has(&g.body, "\r\nX-Empty:\r\n"));
    assert_true(has(&g.body, "\r\nx-key: value with spaces\r\n"));
    assert_true(has(&g.body, "\r\nUser-Agent: nb/"));
    assert_false(has(&g.body, "Expect"));
    assert_true(str_ends(buf_str(&g.body), STR("\r\n\r\n{\"nul\":\"\0\"}")));
    got_done(&g);
}

TEST_WITH(sends_every_method, set_up, tear_down)
{
    static const struct {
        const char *method;
        bool has_body;
        const char *starts, *ends;
    } ROWS[] = {
        {NULL, false, "GET /echo", "\r\n\r\n"},        {NULL, true, "POST /echo", "\r\n\r\nbody"},
        {"POST", false, "POST /echo", "\r\n\r\n"},     {"PUT", true, "PUT /echo", "\r\n\r\nbody"},
        {"DELETE", false, "DELETE /echo", "\r\n\r\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct got g;
        run_spec(*state, &g,
                 (struct fetch_spec){.url = STR("/echo"),
                                     .method = ROWS[i].method,
                                     .has_body = ROWS[i].has_body,
                                     .body = ROWS[i].has_body ? STR("body") : STR_NONE});
        assert_int_equal(g.err.code, 0);
        assert_true(str_starts(buf_str(&g.body), str_from(ROWS[i].starts)));
        assert_true(str_ends(buf_str(&g.body), str_from(ROWS[i].ends)));
        assert_false(has(&g.body, "Content-Type"));
        got_done(&g);
    }
    struct got g;
    run_spec(*state, &g, (struct fetch_spec){.url = STR("/hello"), .method = "HEAD"});
    assert_int_equal(g.err.code, 0);
    assert_int_equal(g.status, 200);
    assert_int_equal(g.body.n, 0);
    got_done(&g);
}

/* curl would ask for "100 Continue" first and wait a second for it. */
TEST_WITH(sends_large_bodies_at_once, set_up, tear_down)
{
    enum { SIZE = 3 << 20 };
    char *body = xcalloc(1, SIZE);
    memset(body, 'b', SIZE);
    struct got g;
    run_spec(*state, &g, (struct fetch_spec){.url = STR("/echo"), .body = {body, SIZE}});
    assert_int_equal(g.err.code, 0);
    assert_true(g.body.n > SIZE);
    assert_false(has(&g.body, "Expect"));
    free(body);
    got_done(&g);
}

TEST_WITH(error_statuses_keep_their_body, set_up, tear_down)
{
    struct got g;
    run(*state, &g, "/error");
    assert_int_equal(g.err.code, 0);
    assert_int_equal(g.status, 529);
    assert_true(has(&g.headers, "retry-after=1\n"));
    assert_string_equal(buf_cstr(&g.body), "{\"e\":\"x\"}");
    got_done(&g);
}

TEST_WITH(cut_connections_are_errors, set_up, tear_down)
{
    static const char *const PATHS[] = {"/cut", "/cut-chunk", "/empty"};
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++) {
        struct got g;
        run(w, &g, PATHS[i]);
        assert_int_equal(g.err.code, -ECONNRESET);
        assert_non_null(strstr(g.err.msg, "http://127.0.0.1:"));
        assert_null(strstr(g.err.msg, PATHS[i])); /* paths and queries may hold secrets */
        got_done(&g);
    }
    struct got g;
    run(w, &g, "/nonsense");
    assert_true(g.err.code < 0);
    assert_int_equal(g.heads, 0);
    got_done(&g);
}

TEST_WITH(nobody_listens, set_up, tear_down)
{
    struct got g;
    run(*state, &g, "http://127.0.0.1:1/");
    assert_int_equal(g.err.code, -ECONNREFUSED);
    assert_non_null(strstr(g.err.msg, "http://127.0.0.1:1"));
    got_done(&g);
}

TEST_WITH(unknown_host, set_up, tear_down)
{
    struct got g;
    run(*state, &g, "http://nb-test.invalid/");
    assert_true(g.err.code < 0);
    assert_non_null(strstr(g.err.msg, "nb-test.invalid"));
    got_done(&g);
}

TEST_WITH(silence_times_out, set_up, tear_down)
{
    static const char *const PATHS[] = {"/silent", "/stall"};
    static const unsigned IDLE_MS[] = {150,
                                       1500}; /* the second is heard first, by a busy machine */
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++) {
        struct got g;
        uint64_t start_ms = clock_mono_ms();
        run_spec(w, &g,
                 (struct fetch_spec){.url = str_from(PATHS[i]), .idle_timeout_ms = IDLE_MS[i]});
        assert_int_equal(g.err.code, -ETIMEDOUT);
        assert_in_range(clock_mono_ms() - start_ms, IDLE_MS[i], WAIT_MS);
        assert_int_equal(g.has_data, i == 1);
        await_count(w, &w->server->peer_closed, (int)i + 1); /* the socket is closed */
        got_done(&g);
    }
}

TEST_WITH(any_byte_restarts_the_idle_time, set_up, tear_down)
{
    struct got g;
    run_spec(*state, &g, (struct fetch_spec){.url = STR("/drip"), .idle_timeout_ms = 2000});
    assert_int_equal(g.err.code, 0); /* 2400 ms in all */
    assert_int_equal(g.body.n, 12);
    got_done(&g);
}

/* Packets to a full backlog are dropped, so the connection never comes about. */
TEST_WITH(connecting_times_out, set_up, tear_down)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fd, 0), 0);
    getsockname(fd, (struct sockaddr *)&in, &len);
    int fill[4];
    for (size_t i = 0; i < ARRAY_LEN(fill); i++) {
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fill[i], (struct sockaddr *)&in, sizeof(in));
    }
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(in.sin_port));
    struct got g;
    run_spec(*state, &g, (struct fetch_spec){.url = str_from(url), .connect_timeout_ms = 200});
    assert_int_equal(g.err.code, -ETIMEDOUT);
    for (size_t i = 0; i < ARRAY_LEN(fill); i++)
        close(fill[i]);
    close(fd);
    got_done(&g);
}

TEST_WITH(bodies_have_a_ceiling, set_up, tear_down)
{
    struct got g;
    run_spec(*state, &g, (struct fetch_spec){.url = STR("/large"), .body_max = 1048576});
    assert_int_equal(g.err.code, 0);
    assert_int_equal(g.body.n, 1048576);
    got_done(&g);
    run_spec(*state, &g, (struct fetch_spec){.url = STR("/large"), .body_max = 1048575});
    assert_int_equal(g.err.code, -EMSGSIZE);
    assert_true(g.body.n <= 1048575);
    got_done(&g);
}

TEST_WITH(heads_have_a_ceiling, set_up, tear_down)
{
    struct got g;
    run(*state, &g, "/headers");
    assert_int_equal(g.err.code, -EMSGSIZE);
    assert_int_equal(g.heads, 0);
    got_done(&g);
}

TEST_WITH(redirects_are_answers_by_default, set_up, tear_down)
{
    struct got g;
    run(*state, &g, "/redirect");
    assert_int_equal(g.err.code, 0);
    assert_int_equal(g.status, 302);
    assert_true(has(&g.headers, "location=/echo\n"));
    got_done(&g);
}

TEST_WITH(follows_within_the_origin, set_up, tear_down)
{
    struct world *w = *state;
    struct got g;
    struct fetch_spec spec = {
        .url = STR("/redirect"), .body = STR("data"), .flags = FETCH_FOLLOW_SAME_ORIGIN};
    run_spec(w, &g, spec);
    assert_int_equal(g.err.code, 0);
    assert_int_equal(g.heads, 1);
    assert_true(str_starts(buf_str(&g.body), STR("GET /echo HTTP"))); /* 302 turns POST to GET */
    assert_false(has(&g.body, "gone"));
    got_done(&g);

    spec.url = STR("/keep-method");
    run_spec(w, &g, spec);
    assert_int_equal(g.err.code, 0);
    assert_true(str_starts(buf_str(&g.body), STR("POST /echo?kept HTTP")));
    assert_true(str_ends(buf_str(&g.body), STR("\r\n\r\ndata")));
    got_done(&g);
    assert_int_equal(atomic_load(&w->server->connections), 1);
}

TEST_WITH(refuses_to_follow_elsewhere, set_up, tear_down)
{
    struct world *w = *state;
    struct got g;
    run_spec(w, &g,
             (struct fetch_spec){.url = STR("/elsewhere"), .flags = FETCH_FOLLOW_SAME_ORIGIN});
    assert_int_equal(g.err.code, -EACCES);
    assert_non_null(strstr(g.err.msg, "http://localhost:"));
    assert_int_equal(g.heads, 0);
    assert_int_equal(atomic_load(&w->server->requests), 1);
    got_done(&g);
}

TEST_WITH(redirects_are_counted, set_up, tear_down)
{
    struct world *w = *state;
    struct got g;
    run_spec(w, &g, (struct fetch_spec){.url = STR("/loop"), .flags = FETCH_FOLLOW_SAME_ORIGIN});
    assert_int_equal(g.err.code, -ELOOP);
    assert_int_equal(atomic_load(&w->server->requests), 6);
    got_done(&g);
}

TEST_WITH(connections_are_reused, set_up, tear_down)
{
    struct world *w = *state;
    for (int i = 0; i < 5; i++) {
        struct got g;
        run(w, &g, "/hello");
        assert_int_equal(g.err.code, 0);
        got_done(&g);
    }
    assert_int_equal(atomic_load(&w->server->requests), 5);
    assert_int_equal(atomic_load(&w->server->connections), 1);
}

TEST_WITH(dead_kept_connection_is_replaced, set_up, tear_down)
{
    struct world *w = *state;
    for (int i = 0; i < 3; i++) {
        struct got g;
        run_spec(w, &g, (struct fetch_spec){.url = STR("/once"), .body = STR("x")});
        assert_int_equal(g.err.code, 0);
        assert_string_equal(buf_cstr(&g.body), "hello");
        got_done(&g);
    }
    assert_int_equal(atomic_load(&w->server->connections), 3);
}

/* The server reads the request and closes: it may have acted on it. */
TEST_WITH(a_request_with_an_effect_is_sent_once, set_up, tear_down)
{
    struct world *w = *state;
    static const struct {
        unsigned flags;
        int requests;
    } CASES[] = {{FETCH_ONCE, 1}, {0, 2}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct got g;
        run(w, &g, "/hello"); /* leaves a connection to be used again */
        got_done(&g);
        int before = atomic_load(&w->server->requests);
        run_spec(w, &g,
                 (struct fetch_spec){
                     .url = STR("/empty"), .body = STR("do it"), .flags = CASES[i].flags});
        assert_int_equal(g.err.code, -ECONNRESET);
        assert_int_equal(atomic_load(&w->server->requests) - before, CASES[i].requests);
        got_done(&g);
    }
    struct got g;
    run_spec(w, &g,
             (struct fetch_spec){.url = STR("/echo"), .body = STR("do it"), .flags = FETCH_ONCE});
    assert_int_equal(g.err.code, 0);
    assert_true(has(&g.body, "do it"));
    got_done(&g);
}

TEST_WITH(cancels_inside_every_callback, set_up, tear_down)
{
    struct world *w = *state;
    static const enum when WHEN[] = {IN_HEAD, IN_DATA};
    for (size_t i = 0; i < ARRAY_LEN(WHEN); i++) {
        struct got g;
        got_init(&g);
        g.cancel = WHEN[i];
        start(w, &g, (struct fetch_spec){.url = STR("/endless")});
        await_count(w, &w->server->peer_closed, (int)i + 1); /* the socket is closed */
        assert_false(g.is_done);
        assert_null(g.fetch);
        assert_int_equal(g.has_data, WHEN[i] == IN_DATA);
        got_done(&g);
    }
    struct got g;
    got_init(&g);
    g.cancel = IN_DONE;
    start(w, &g, (struct fetch_spec){.url = STR("/hello")});
    await(w, &g);
    assert_int_equal(g.err.code, 0);
    got_done(&g);
}

TEST_WITH(cancels_another_inside_every_callback, set_up, tear_down)
{
    struct world *w = *state;
    static const enum when WHEN[] = {IN_HEAD, IN_DATA, IN_DONE};
    for (size_t i = 0; i < ARRAY_LEN(WHEN); i++) {
        struct got victim, g;
        got_init(&victim);
        got_init(&g);
        start(w, &victim, (struct fetch_spec){.url = STR("/stall")});
        assert_true(loop_run_until(w->loop, &victim.has_data, WAIT_MS));
        g.cancel = WHEN[i];
        g.victim = &victim;
        start(w, &g, (struct fetch_spec){.url = STR("/hello")});
        await(w, &g);
        assert_int_equal(g.err.code, 0);
        await_count(w, &w->server->peer_closed, (int)i + 1);
        assert_false(victim.is_done);
        got_done(&victim);
        got_done(&g);
    }
}

TEST_WITH(cancels_at_any_other_time, set_up, tear_down)
{
    struct world *w = *state;
    struct got g;
    got_init(&g);
    start(w, &g, (struct fetch_spec){.url = STR("/hello")});
    fetch_cancel(g.fetch); /* before its first turn */
    run_loop(w, 20);
    assert_int_equal(atomic_load(&w->server->connections), 0);

    for (uint64_t ms = 0; ms < 8; ms++) {
        start(w, &g, (struct fetch_spec){.url = STR("/bytes")});
        run_loop(w, ms);
        if (g.fetch) /* a busy machine may have received all of it meanwhile */
            fetch_cancel(g.fetch);
        g.has_data = g.has_head = g.is_done = false;
    }
    start(w, &g, (struct fetch_spec){.url = STR("not a url")});
    fetch_cancel(g.fetch); /* an error is on its way */
    run_loop(w, 20);
    assert_false(g.is_done);
    got_done(&g);
}

TEST_WITH(free_cancels_what_is_left, set_up, tear_down)
{
    struct world *w = *state;
    struct got g[3];
    static const char *const PATHS[] = {"/stall", "/silent", "/hello"};
    for (size_t i = 0; i < ARRAY_LEN(g); i++) {
        got_init(&g[i]);
        start(w, &g[i], (struct fetch_spec){.url = str_from(PATHS[i])});
    }
    assert_true(loop_run_until(w->loop, &g[0].has_data, WAIT_MS));
    fetcher_free(w->fetcher);
    await_count(w, &w->server->peer_closed, 2);
    w->fetcher = fetcher_new(w->loop);
    for (size_t i = 0; i < ARRAY_LEN(g); i++) {
        assert_true(i == 2 || !g[i].is_done);
        got_done(&g[i]);
    }
}

TEST_WITH(fetcher_may_be_freed_in_done, set_up, tear_down)
{
    struct world *w = *state;
    struct got g, other;
    got_init(&g);
    got_init(&other);
    start(w, &other, (struct fetch_spec){.url = STR("/stall")});
    g.free_in_done = w->fetcher;
    start(w, &g, (struct fetch_spec){.url = STR("/hello")});
    await(w, &g);
    await_count(w, &w->server->peer_closed, 1);
    assert_false(other.is_done);
    w->fetcher = fetcher_new(w->loop);
    got_done(&g);
    got_done(&other);
}

TEST_WITH(pause_holds_the_sender_back, set_up, tear_down)
{
    struct world *w = *state;
    struct got g;
    got_init(&g);
    g.pause_in_head = true;
    start(w, &g, (struct fetch_spec){.url = STR("/endless"), .idle_timeout_ms = 1500});
    assert_true(loop_run_until(w->loop, &g.has_head, WAIT_MS));
    run_loop(w, 1600); /* longer than the idle time, which does not count while paused */
    size_t sent;
    do { /* until all buffers are full */
        sent = atomic_load(&w->server->sent);
        run_loop(w, 100);
    } while (atomic_load(&w->server->sent) != sent);
    assert_false(g.has_data || g.is_done);
    fetch_pause(g.fetch, false);
    assert_false(g.has_data); /* not from inside the call */
    for (int i = 0; i < WAIT_MS / 5 && atomic_load(&w->server->sent) == sent; i++)
        run_loop(w, 5);
    assert_true(atomic_load(&w->server->sent) > sent);
    fetch_cancel(g.fetch);
    await_count(w, &w->server->peer_closed, 1);
    got_done(&g);
}

TEST_WITH(paused_response_ends_after_resume, set_up, tear_down)
{
    struct world *w = *state;
    struct got g;
    got_init(&g);
    g.pause_in_head = true;
    start(w, &g, (struct fetch_spec){.url = STR("/chunked"), .body_max = 11});
    assert_true(loop_run_until(w->loop, &g.has_head, WAIT_MS));
    run_loop(w, 50);
    assert_false(g.has_data || g.is_done);
    fetch_pause(g.fetch, false);
    await(w, &g);
    assert_int_equal(g.err.code, 0);
    assert_string_equal(buf_cstr(&g.body), "hello world");
    got_done(&g);

    got_init(&g);
    g.pause_in_head = true;
    start(w, &g, (struct fetch_spec){.url = STR("/chunked"), .body_max = 3});
    assert_true(loop_run_until(w->loop, &g.has_head, WAIT_MS));
    fetch_pause(g.fetch, false);
    await(w, &g);
    assert_int_equal(g.err.code, -EMSGSIZE);
    got_done(&g);

    got_init(&g);
    g.pause_in_head = true;
    g.cancel = IN_DATA;
    start(w, &g, (struct fetch_spec){.url = STR("/stall")});
    assert_true(loop_run_until(w->loop, &g.has_head, WAIT_MS));
    fetch_pause(g.fetch, false);
    await_count(w, &w->server->peer_closed, 1);
    assert_false(g.is_done);
    got_done(&g);
}

TEST_WITH(silence_counts_again_after_resume, set_up, tear_down)
{
    struct world *w = *state;
    struct got g;
    got_init(&g);
    g.pause_in_head = true;
    start(w, &g, (struct fetch_spec){.url = STR("/stall"), .idle_timeout_ms = 1000});
    assert_true(loop_run_until(w->loop, &g.has_head, WAIT_MS));
    run_loop(w, 1200);
    assert_false(g.is_done);
    fetch_pause(g.fetch, false);
    await(w, &g);
    assert_int_equal(g.err.code, -ETIMEDOUT);
    assert_string_equal(buf_cstr(&g.body), "hello");
    got_done(&g);
}

TEST_WITH(streams_do_not_wait_for_each_other, set_up, tear_down)
{
    enum { STREAMS = 50 };
    struct world *w = *state;
    struct got g[STREAMS];
    atomic_store(&w->server->barrier, STREAMS); /* none is answered before all have come */
    for (int i = 0; i < STREAMS; i++) {
        got_init(&g[i]);
        start(w, &g[i], (struct fetch_spec){.url = STR("/barrier")});
    }
    for (int i = 0; i < STREAMS; i++) {
        await(w, &g[i]);
        assert_int_equal(g[i].err.code, 0);
        assert_int_equal(g[i].body.n, 60);
        got_done(&g[i]);
    }
    assert_int_equal(atomic_load(&w->server->barrier), 0);
}

TEST_WITH(public_only_refuses_this_machine, set_up, tear_down)
{
    struct world *w = *state;
    static const char *const HOSTS[] = {"127.0.0.1", "localhost",          "[::1]",   "2130706433",
                                        "0x7f.1",    "[::ffff:127.0.0.1]", "0.0.0.0", "0177.0.0.1"};
    struct got g;
    run(w, &g, "/hello"); /* leaves a connection to 127.0.0.1 open */
    assert_int_equal(g.err.code, 0);
    got_done(&g);
    for (size_t i = 0; i < ARRAY_LEN(HOSTS); i++) {
        char url[128];
        snprintf(url, sizeof(url), "http://%s:%d/hello", HOSTS[i], w->server->port);
        run_spec(w, &g, (struct fetch_spec){.url = str_from(url), .flags = FETCH_PUBLIC_ONLY});
        if (g.err.code != -EACCES)
            fail_msg("%s: %d %s", url, g.err.code, g.err.msg);
        assert_non_null(strstr(g.err.msg, "loopback"));
        got_done(&g);
    }
    assert_int_equal(atomic_load(&w->server->requests), 1);
    assert_int_equal(atomic_load(&w->server->connections), 1);
}

TEST_WITH(metadata_services_can_be_refused_alone, set_up, tear_down)
{
    struct world *w = *state;
    struct got g;
    struct fetch_spec spec = {.url = STR("http://169.254.169.254/"), .flags = FETCH_NO_METADATA};
    run_spec(w, &g, spec);
    assert_int_equal(g.err.code, -EACCES);
    assert_non_null(strstr(g.err.msg, "metadata"));
    got_done(&g);
    char url[128];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/hello", w->server->port);
    spec.url = str_from(url);
    run_spec(w, &g, spec);
    assert_int_equal(g.err.code, 0);
    got_done(&g);
}

TEST_WITH(public_only_bypasses_proxies, set_up, tear_down)
{
    struct world *w = *state;
    char proxy[64];
    snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", w->server->port);
    setenv("http_proxy", proxy, 1);
    struct got g;
    struct fetch_spec spec = {.url = STR("http://10.255.255.1/hello"), .connect_timeout_ms = 500};
    run_spec(w, &g, spec); /* through the proxy, which answers for it */
    assert_int_equal(g.err.code, 0);
    got_done(&g);
    spec.flags = FETCH_PUBLIC_ONLY;
    run_spec(w, &g, spec);
    assert_int_equal(g.err.code, -EACCES);
    assert_non_null(strstr(g.err.msg, "a private address")); /* its own, not the proxy's */
    got_done(&g);
    unsetenv("http_proxy");
    assert_int_equal(atomic_load(&w->server->requests), 1);
}

TEST_WITH(local_servers_need_no_proxy, set_up, tear_down)
{
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    struct got g;
    run(*state, &g, "/hello");
    unsetenv("http_proxy");
    assert_int_equal(g.err.code, 0);
    got_done(&g);
}

TEST_WITH(bad_requests_end_in_done, set_up, tear_down)
{
    const struct fetch_header forged = {STR_INIT("X"), STR_INIT("a\r\nHost: evil")};
    const struct fetch_header unnamed = {STR_INIT("X Y"), STR_INIT("a")};
    const struct {
        struct fetch_spec spec;
        int code;
    } ROWS[] = {
        {{.url = STR("")}, -EINVAL},
        {{.url = STR("ftp://127.0.0.1/")}, -EINVAL},
        {{.url = STR("file:///etc/passwd")}, -EINVAL},
        {{.url = STR("/hello"), .headers = &forged, .nheaders = 1}, -EINVAL},
        {{.url = STR("/hello"), .headers = &unnamed, .nheaders = 1}, -EINVAL},
        {{.url = STR("/hello"), .method = "GET /x HTTP/1.1\r\n"}, -EINVAL},
        {{.url = STR("/hello"), .flags = FETCH_HTTPS_ONLY}, -EINVAL},
        {{.url = STR("http://u:p@8.8.8.8/"), .flags = FETCH_PUBLIC_ONLY}, -EINVAL},
        {{.url = STR("http://x/"), .unix_socket = "/x", .flags = FETCH_PUBLIC_ONLY}, -EACCES},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct got g;
        run_spec(w, &g, ROWS[i].spec);
        assert_int_equal(g.err.code, ROWS[i].code);
        assert_true(g.err.msg[0] != '\0');
        got_done(&g);
    }
    assert_int_equal(atomic_load(&w->server->connections), 0);
}

TEST_WITH(speaks_over_a_unix_socket, set_up, tear_down)
{
    struct world *w = *state;
    char dir[] = "/tmp/nb-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/nb.sock", dir);
    struct http_double *server = http_double_unix(path);
    for (int i = 0; i < 2; i++) {
        struct got g;
        run_spec(w, &g, (struct fetch_spec){.url = STR("http://nb/hello"), .unix_socket = path});
        assert_int_equal(g.err.code, 0);
        assert_string_equal(buf_cstr(&g.body), "hello");
        got_done(&g);
    }
    assert_int_equal(atomic_load(&server->connections), 1);
    http_double_free(server);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    static const char *const PROXIES[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                          "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
    for (size_t i = 0; i < ARRAY_LEN(PROXIES); i++)
        unsetenv(PROXIES[i]);
    return run_unit_tests("tests", NULL);
}
