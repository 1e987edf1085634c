/* A tracer with a collector on loopback: what the loop thread does itself and what it hands over,
 * the queue and its ceiling, the end. */
#include <pthread.h>
#include <signal.h>

#include "support/unit.h"
#include "telemetry/otlp.h"
#include "telemetry/tracer.h"
#include "unit/net/http_double.h"

enum { WAIT_MS = 60000, STORED_MAX = 8 };

static pthread_t loop_thread;
static atomic_int written_here, written_elsewhere; /* spans that became JSON, by thread */
static atomic_int sent_here, sent_elsewhere;       /* requests, by thread */
static atomic_int cancelled;                       /* requests */

void __real_otlp_write_span(struct json_writer *w, const struct otlp_span *s);
void __wrap_otlp_write_span(struct json_writer *w, const struct otlp_span *s);

void __wrap_otlp_write_span(struct json_writer *w, const struct otlp_span *s)
{
    bool is_here = pthread_equal(pthread_self(), loop_thread);
    atomic_fetch_add(is_here ? &written_here : &written_elsewhere, 1);
    __real_otlp_write_span(w, s);
}

struct fetch_whole *__real_fetch_whole_start(struct loop *l, struct fetcher *f,
                                             const struct fetch_spec *spec, fetch_whole_done done,
                                             void *ctx);
struct fetch_whole *__wrap_fetch_whole_start(struct loop *l, struct fetcher *f,
                                             const struct fetch_spec *spec, fetch_whole_done done,
                                             void *ctx);

struct fetch_whole *__wrap_fetch_whole_start(struct loop *l, struct fetcher *f,
                                             const struct fetch_spec *spec, fetch_whole_done done,
                                             void *ctx)
{
    bool is_here = pthread_equal(pthread_self(), loop_thread);
    atomic_fetch_add(is_here ? &sent_here : &sent_elsewhere, 1);
    return __real_fetch_whole_start(l, f, spec, done, ctx);
}

void __real_fetch_whole_cancel(struct fetch_whole *w);
void __wrap_fetch_whole_cancel(struct fetch_whole *w);

void __wrap_fetch_whole_cancel(struct fetch_whole *w)
{
    atomic_fetch_add(&cancelled, w != NULL);
    __real_fetch_whole_cancel(w);
}

struct world {
    struct loop *loop;
    struct http_double *server;
    struct tracer *tracer;
    struct conv_usage usage;
    atomic_int spans[STORED_MAX], nrequests; /* of the requests with spans */
    atomic_bool is_silent;                   /* the collector does not answer */
    atomic_int nfailing;                     /* so many requests are answered with 503 */
    bool is_stopped;
};

/* ---- the collector ---- */

static int spans_in(str body)
{
    int n = 0;
    for (ptrdiff_t at = 0; (at = str_find(body, STR("\"spanId\""), (size_t)at)) >= 0; at++)
        n++;
    return n;
}

static void collect(struct exchange *x)
{
    struct world *w = x->d->ctx;
    bool has_spans = str_starts(buf_str(&x->in), STR("POST /v1/traces "));
    int at = atomic_load(&w->nrequests);
    if (has_spans) {
        assert_true(at < STORED_MAX);
        atomic_store(&w->spans[at], spans_in(buf_str(&x->in)));
        atomic_store(&w->nrequests, at + 1);
    }
    if (atomic_load(&w->is_silent))
        dbl_hang(x);
    else if (has_spans && at < atomic_load(&w->nfailing))
        dbl_say(x, "HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n");
    else
        dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
}

/* ---- the rig ---- */

static void make_tracer(struct world *w, bool has_collector)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", w->server->port);
    struct tracer_conf conf = {
        .collector = {.loop = w->loop,
                      .endpoint = has_collector ? str_from(url) : STR_NONE,
                      .service_name = STR("nb")},
        .metrics_ms = 3600000,
    };
    w->tracer = tracer_new(&conf);
}

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    signal(SIGPIPE, SIG_IGN);
    loop_thread = pthread_self();
    atomic_store(&written_here, 0);
    atomic_store(&written_elsewhere, 0);
    atomic_store(&sent_here, 0);
    atomic_store(&sent_elsewhere, 0);
    atomic_store(&cancelled, 0);
    w->loop = loop_new(NULL);
    w->server = http_double_new();
    w->server->serve = collect;
    w->server->ctx = w;
    make_tracer(w, true);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    tracer_free(w->tracer);
    loop_free(w->loop);
    http_double_free(w->server);
    free(w);
    return 0;
}

#define WITH_TRACER(name) TEST_WITH(name, set_up, tear_down)

static void begin(struct world *w)
{
    struct tracer_run r = {.run_id = STR("run_1"),
                           .conversation_id = STR("conv_1"),
                           .workspace_id = STR("ws_a"),
                           .model = STR("demo:demo")};
    tracer_run_begin(w->tracer, &r);
}

static void call_tools(struct world *w, int n)
{
    struct tracer_tool_call c = {.id = STR("c1"), .name = STR("t__ping"), .ok = true, .ms = 1};
    while (n-- > 0)
        tracer_tool_called(w->tracer, STR("run_1"), &c);
}

static void call_model(struct world *w)
{
    struct tracer_model_call c = {.usage = &w->usage, .finish_reason = "stop"};
    tracer_model_called(w->tracer, STR("run_1"), &c);
}

static void end(struct world *w)
{
    struct tracer_end e = {.usage = &w->usage, .stop_reason = "complete"};
    tracer_run_end(w->tracer, STR("run_1"), &e);
}

static void on_stopped(void *ctx)
{
    struct world *w = ctx;
    w->is_stopped = true;
}

static void stop(struct world *w)
{
    tracer_stop(w->tracer, on_stopped, w);
    assert_true(loop_run_until(w->loop, &w->is_stopped, WAIT_MS));
}

static void until_asked(struct world *w, int n)
{
    bool never = false;
    for (int i = 0; atomic_load(&w->nrequests) < n && i < WAIT_MS; i++)
        (void)loop_run_until(w->loop, &never, 1);
    assert_int_equal(w->nrequests, n);
}

static void until_sent(struct world *w, uint64_t n)
{
    bool never = false;
    for (int i = 0; tracer_counts(w->tracer).sent < n && i < WAIT_MS; i++)
        (void)loop_run_until(w->loop, &never, 1);
    assert_int_equal(tracer_counts(w->tracer).sent, n);
}

/* ---- tests ---- */

WITH_TRACER(the_loop_thread_neither_makes_the_json_of_spans_nor_sends_it)
{
    struct world *w = *state;
    begin(w);
    call_model(w);
    call_tools(w, 2);
    end(w);
    assert_int_equal(tracer_counts(w->tracer).queued, 4);
    stop(w);
    assert_int_equal(tracer_counts(w->tracer).sent, 4);
    assert_int_equal(w->spans[0], 4);
    assert_int_equal(written_here, 0);
    assert_int_equal(written_elsewhere, 4);
    assert_int_equal(sent_here, 0);
    assert_int_equal(sent_elsewhere, 2); /* the metrics, too */
}

WITH_TRACER(a_queue_has_a_ceiling_and_what_finds_no_room_is_counted)
{
    struct world *w = *state;
    begin(w);
    call_tools(w, EXPORTER_SPANS_MAX + 100);
    struct span_exporter_counts c = tracer_counts(w->tracer);
    assert_int_equal(c.queued, EXPORTER_SPANS_MAX);
    assert_int_equal(c.dropped, 100);
    until_sent(w, EXPORTER_SPANS_MAX);
    assert_int_equal(w->nrequests, EXPORTER_SPANS_MAX / EXPORTER_BATCH_MAX);
    for (int i = 0; i < w->nrequests; i++)
        assert_int_equal(w->spans[i], EXPORTER_BATCH_MAX);
    call_tools(w, 1); /* there is room again */
    assert_int_equal(tracer_counts(w->tracer).queued, 1);
    assert_int_equal(tracer_counts(w->tracer).dropped, 100);
}

WITH_TRACER(the_memory_of_waiting_spans_has_a_ceiling_too)
{
    struct world *w = *state;
    static char text[OTLP_TEXT_MAX];
    memset(text, 'x', sizeof text);
    struct tracer_tool_call c = {.id = {text, sizeof text}, .name = {text, sizeof text}};
    struct tracer_run r = {.run_id = STR("run_1"), .conversation_id = {text, sizeof text}};
    r.model = r.workspace_id = r.conversation_id;
    tracer_run_begin(w->tracer, &r);
    struct tracer_model_call m = {.usage = &w->usage, .finish_reason = "stop", .model = r.model};
    for (int i = 0; i < EXPORTER_SPANS_MAX; i++)
        i % 2 ? tracer_tool_called(w->tracer, r.run_id, &c)
              : tracer_model_called(w->tracer, r.run_id, &m);
    size_t queued = tracer_counts(w->tracer).queued;
    assert_int_equal(tracer_counts(w->tracer).dropped, EXPORTER_SPANS_MAX - queued);
    assert_true(queued * 3 * OTLP_TEXT_MAX <= EXPORTER_BYTES_MAX);
}

/* A batch that fills a request does not wait for the timer: otherwise the queue would overflow
 * within the second, however fast the collector is. */
WITH_TRACER(what_comes_while_a_request_is_under_way_is_of_the_next_one)
{
    struct world *w = *state;
    begin(w);
    call_tools(w, EXPORTER_BATCH_MAX);
    until_sent(w, EXPORTER_BATCH_MAX);
    call_tools(w, 3);
    stop(w);
    assert_int_equal(tracer_counts(w->tracer).sent, EXPORTER_BATCH_MAX + 3);
    assert_int_equal(w->nrequests, 2);
    assert_int_equal(w->spans[1], 3);
}

WITH_TRACER(a_tracer_can_go_while_a_batch_is_being_written)
{
    struct world *w = *state;
    bool never = false;
    begin(w);
    call_tools(w, EXPORTER_BATCH_MAX + 1);
    (void)loop_run_until(w->loop, &never, 1);
    tracer_free(w->tracer);
    w->tracer = NULL;
}

WITH_TRACER(a_tracer_can_go_while_a_collector_does_not_answer)
{
    struct world *w = *state;
    atomic_store(&w->is_silent, true);
    begin(w);
    call_tools(w, EXPORTER_BATCH_MAX + 1);
    until_asked(w, 1);
    tracer_free(w->tracer);
    w->tracer = NULL;
    assert_int_equal(cancelled, 1);
}

WITH_TRACER(a_collector_that_does_not_answer_delays_the_end_for_a_bounded_time)
{
    struct world *w = *state;
    atomic_store(&w->is_silent, true);
    begin(w);
    call_tools(w, EXPORTER_BATCH_MAX + 1);
    until_asked(w, 1);
    stop(w);
    assert_int_equal(tracer_counts(w->tracer).dropped, 0); /* the request has not timed out */
    assert_int_equal(tracer_counts(w->tracer).queued, EXPORTER_BATCH_MAX + 1);
}

WITH_TRACER(spans_that_come_after_a_failed_request_do_not_join_its_batch)
{
    struct world *w = *state;
    atomic_store(&w->nfailing, 1);
    begin(w);
    call_tools(w, EXPORTER_BATCH_MAX - 1);
    until_asked(w, 1);
    call_tools(w, 1);
    until_sent(w, EXPORTER_BATCH_MAX);
    assert_int_equal(w->spans[1], EXPORTER_BATCH_MAX - 1); /* the same spans again */
    assert_int_equal(w->spans[2], 1);
}

WITH_TRACER(without_a_collector_there_are_no_spans_and_no_thread)
{
    struct world *w = *state;
    tracer_free(w->tracer);
    make_tracer(w, false);
    begin(w);
    call_model(w);
    call_tools(w, 1);
    end(w);
    assert_false(tracer_is_sending(w->tracer));
    assert_int_equal(tracer_counts(w->tracer).queued, 0);
    stop(w);
    assert_int_equal(written_here + written_elsewhere, 0);
    assert_int_equal(w->server->connections, 0);
}
