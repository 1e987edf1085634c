#include "telemetry/span_exporter.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "loop/pool.h"
#include "loop/timer.h"
#include "telemetry/otlp.h"

#define BODY_MAX     (EXPORTER_BYTES_MAX + 64u * 1024)
#define BACKOFF_MS   1000
#define SAID_EACH_MS 60000

/* The spans of one request. While its job runs, it belongs to the thread of the pool. */
struct span_batch {
    struct job job;
    const struct otlp_collector *collector;
    struct trace_span *spans[EXPORTER_BATCH_MAX];
    size_t n;
    struct buf body;
};

struct span_exporter {
    const struct otlp_collector *collector;
    struct pool *pool;
    struct list_node waiting; /* struct trace_span */
    struct span_batch batch;  /* n = 0: nothing is under way */
    size_t nspans, nbytes;    /* waiting, and in the batch */
    unsigned tries;
    bool is_writing; /* the thread has the batch */
    bool is_over;    /* nothing is sent any more */
    struct fetch_whole *request;
    struct timer flush, limit;
    struct span_exporter_counts counts;
    uint64_t said_ms;
    loop_fn on_stopped;
    void *on_stopped_ctx;
};

static void span_exporter_flush(void *exporter);

/* ---- the end ---- */

static void span_exporter_stopped(struct span_exporter *x)
{
    loop_fn done = x->on_stopped;
    timer_stop(&x->limit);
    timer_stop(&x->flush);
    x->on_stopped = NULL;
    if (done)
        done(x->on_stopped_ctx);
}

static void on_stop_limit(void *exporter)
{
    struct span_exporter *x = exporter;
    fetch_whole_cancel(x->request);
    x->request = NULL;
    x->is_over = true;
    span_exporter_stopped(x);
}

void span_exporter_stop(struct span_exporter *x, loop_fn done, void *ctx)
{
    assert(done && !x->on_stopped);
    x->on_stopped = done;
    x->on_stopped_ctx = ctx;
    x->tries = EXPORTER_TRIES - 1; /* this one is the last */
    timer_start(&x->limit, x->nspans > 0 ? EXPORTER_STOP_MS : 0);
    if (!x->request)
        timer_start(&x->flush, 0);
}

/* ---- one request ---- */

static void free_batch(struct span_exporter *x)
{
    assert(x->batch.n <= x->nspans && !x->is_writing);
    for (size_t i = 0; i < x->batch.n; i++) {
        x->nbytes -= span_size(x->batch.spans[i]);
        free(x->batch.spans[i]);
    }
    x->nspans -= x->batch.n;
    x->batch.n = 0;
}

static void drop_batch(struct span_exporter *x, const char *why)
{
    x->counts.dropped += x->batch.n;
    if (x->said_ms == 0 || clock_mono_ms() - x->said_ms > SAID_EACH_MS) {
        x->said_ms = clock_mono_ms();
        log_warn(x->collector->conf.log, "telemetry", "spans were not exported (%llu so far): %s",
                 (unsigned long long)x->counts.dropped, why);
    }
    free_batch(x);
}

static bool is_retryable(const struct err *err, int status)
{
    return err->code != 0 || status == 429 || (status >= 502 && status <= 504);
}

/* {"partialSuccess": {"rejectedSpans": "3"}}; the number may also be a number. */
static size_t rejected_spans(struct span_exporter *x, str body)
{
    struct arena a;
    struct json *doc;
    uint64_t n = 0;
    arena_init(&a);
    if (json_parse(&a, body, 0, &doc, NULL) == 0) {
        const struct json *v = json_get(json_get(doc, "partialSuccess"), "rejectedSpans");
        if (json_is(v, JSON_STRING))
            (void)parse_u64(v->s, &n);
        else if (json_is(v, JSON_INT) && v->i > 0)
            n = (uint64_t)v->i;
    }
    arena_done(&a);
    return n < x->batch.n ? (size_t)n : x->batch.n;
}

static void span_exporter_answered(struct span_exporter *x, const struct err *err, int status,
                                   str body)
{
    char text[64];
    if (err->code == 0 && status >= 200 && status < 300) {
        size_t rejected = rejected_spans(x, body);
        x->counts.dropped += rejected;
        x->counts.sent += x->batch.n - rejected;
        free_batch(x);
        x->tries = 0;
        return;
    }
    if (is_retryable(err, status) && ++x->tries < EXPORTER_TRIES)
        return;
    snprintf(text, sizeof text, "the collector answered with %d", status);
    drop_batch(x, err->code != 0 ? err->msg : text);
    x->tries = 0;
}

/* A request costs the loop as much as many spans do: what came meanwhile waits as long as a first
 * span does, unless it fills a request. */
static uint64_t next_delay_ms(const struct span_exporter *x)
{
    if (x->tries > 0)
        return BACKOFF_MS << (x->tries - 1);
    return x->on_stopped || x->nspans >= EXPORTER_BATCH_MAX ? 0 : EXPORTER_DELAY_MS;
}

static void on_exported(void *exporter, const struct err *err, int status, str body)
{
    struct span_exporter *x = exporter;
    x->request = NULL;
    span_exporter_answered(x, err, status, body);
    if (x->nspans == 0 && x->on_stopped)
        span_exporter_stopped(x);
    else if (x->nspans > 0)
        timer_start(&x->flush, next_delay_ms(x));
}

/* ---- one batch ---- */

static void write_batch(struct job *j) /* on the thread of the pool */
{
    struct span_batch *b = CONTAINER_OF(j, struct span_batch, job);
    struct json_writer w;
    otlp_begin(&w, &b->body, OTLP_SPANS, b->collector);
    for (size_t i = 0; i < b->n; i++)
        span_write(&w, b->spans[i]);
    jw_close(&w);
}

static void on_batch_written(struct job *j)
{
    struct span_batch *b = CONTAINER_OF(j, struct span_batch, job);
    struct span_exporter *x = CONTAINER_OF(b, struct span_exporter, batch);
    assert(x->is_writing && !x->request && !buf_failed(&b->body)); /* fill_batch left room */
    x->is_writing = false;
    if (!x->is_over)
        x->request = collector_post(x->collector, "/v1/traces", buf_str(&b->body), on_exported, x);
    buf_done(&b->body);
}

/* As many spans as a request takes, or as surely fit its body. */
static void fill_batch(struct span_exporter *x)
{
    size_t room = EXPORTER_BYTES_MAX;
    struct span_batch *b = &x->batch;
    assert(b->n == 0);
    while (b->n < EXPORTER_BATCH_MAX && !list_empty(&x->waiting)) {
        struct trace_span *s = LIST_ENTRY(x->waiting.next, struct trace_span, node);
        if (span_json_max(s) > room)
            break;
        room -= span_json_max(s);
        list_del(&s->node);
        b->spans[b->n++] = s;
    }
    assert(b->n > 0); /* one always fits */
}

static void span_exporter_flush(void *exporter)
{
    struct span_exporter *x = exporter;
    if (x->is_writing || x->request || x->nspans == 0)
        return;
    if (x->batch.n == 0) /* else it is sent again */
        fill_batch(x);
    buf_init(&x->batch.body, BODY_MAX);
    x->is_writing = true;
    pool_run(x->pool, &x->batch.job, write_batch, on_batch_written);
}

/* ---- the queue ---- */

void span_exporter_add(struct span_exporter *x, const struct trace_span *s)
{
    size_t size = span_size(s);
    if (x->nspans == EXPORTER_SPANS_MAX || x->nbytes + size > EXPORTER_BYTES_MAX) {
        x->counts.dropped++;
        return;
    }
    struct trace_span *own = span_new(s);
    list_push(&x->waiting, &own->node);
    x->nspans++;
    x->nbytes += span_size(own);
    if (x->batch.n > 0)
        return; /* on_exported starts the timer */
    if (x->nspans == 1)
        timer_start(&x->flush, EXPORTER_DELAY_MS);
    else if (x->nspans == EXPORTER_BATCH_MAX)
        timer_start(&x->flush, 0);
}

struct span_exporter_counts span_exporter_counts(const struct span_exporter *x)
{
    struct span_exporter_counts c = x->counts;
    c.queued = x->nspans;
    return c;
}

/* ---- life ---- */

struct span_exporter *span_exporter_new(const struct otlp_collector *c)
{
    struct span_exporter *x = xcalloc(1, sizeof *x);
    list_init(&x->waiting);
    x->collector = x->batch.collector = c;
    x->pool = pool_new(c->conf.loop, "nb-telemetry", 1);
    pool_give_way(x->pool);
    timer_init(&x->flush, c->conf.loop, span_exporter_flush, x);
    timer_init(&x->limit, c->conf.loop, on_stop_limit, x);
    return x;
}

void span_exporter_free(struct span_exporter *x)
{
    struct list_node *node;
    if (!x)
        return;
    x->is_over = true;
    pool_free(x->pool); /* ends a batch that is being written */
    fetch_whole_cancel(x->request);
    timer_stop(&x->flush);
    timer_stop(&x->limit);
    free_batch(x);
    while ((node = list_pop(&x->waiting)) != NULL)
        free(LIST_ENTRY(node, struct trace_span, node));
    free(x);
}
