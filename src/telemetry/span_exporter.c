#include "telemetry/span_exporter.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "loop/timer.h"
#include "telemetry/otlp.h"

#define BODY_MAX     (EXPORTER_BYTES_MAX + 64u * 1024)
#define BACKOFF_MS   1000
#define SAID_EACH_MS 60000

struct queued_span {
    struct list_node node;
    size_t n;
    char text[];
};

struct span_exporter {
    const struct otlp_collector *collector;
    struct list_node spans; /* the first `sending` of them are in the request */
    size_t nspans, nbytes, sending;
    unsigned tries;
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

static void span_exporter_take(struct span_exporter *x, size_t n)
{
    assert(n <= x->nspans);
    for (size_t i = 0; i < n; i++) {
        struct queued_span *s = LIST_ENTRY(list_pop(&x->spans), struct queued_span, node);
        x->nspans--;
        x->nbytes -= s->n;
        free(s);
    }
}

static void span_exporter_drop(struct span_exporter *x, const char *why)
{
    x->counts.dropped += x->sending;
    if (x->said_ms == 0 || clock_mono_ms() - x->said_ms > SAID_EACH_MS) {
        x->said_ms = clock_mono_ms();
        log_warn(x->collector->conf.log, "telemetry", "spans were not exported (%llu so far): %s",
                 (unsigned long long)x->counts.dropped, why);
    }
    span_exporter_take(x, x->sending);
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
    return n < x->sending ? (size_t)n : x->sending;
}

static void span_exporter_answered(struct span_exporter *x, const struct err *err, int status,
                                   str body)
{
    char text[64];
    if (err->code == 0 && status >= 200 && status < 300) {
        size_t rejected = rejected_spans(x, body);
        x->counts.dropped += rejected;
        x->counts.sent += x->sending - rejected;
        span_exporter_take(x, x->sending);
        x->tries = 0;
        return;
    }
    if (is_retryable(err, status) && ++x->tries < EXPORTER_TRIES)
        return;
    snprintf(text, sizeof text, "the collector answered with %d", status);
    span_exporter_drop(x, err->code != 0 ? err->msg : text);
    x->tries = 0;
}

static void on_exported(void *exporter, const struct err *err, int status, str body)
{
    struct span_exporter *x = exporter;
    x->request = NULL;
    span_exporter_answered(x, err, status, body);
    x->sending = 0;
    if (x->nspans == 0 && x->on_stopped)
        span_exporter_stopped(x);
    else if (x->nspans > 0)
        timer_start(&x->flush, x->tries > 0 ? BACKOFF_MS << (x->tries - 1) : 0);
}

static void span_exporter_flush(void *exporter)
{
    struct span_exporter *x = exporter;
    struct buf body;
    struct json_writer w;
    if (x->request || x->nspans == 0)
        return;
    buf_init(&body, BODY_MAX);
    otlp_begin(&w, &body, OTLP_SPANS, x->collector);
    x->sending = 0;
    LIST_EACH (s, &x->spans, struct queued_span, node) {
        if (x->sending == EXPORTER_BATCH_MAX)
            break;
        jw_raw(&w, str_make(s->text, s->n));
        x->sending++;
    }
    jw_close(&w);
    assert(!buf_failed(&body)); /* the queue has a lower ceiling */
    x->request = collector_post(x->collector, "/v1/traces", buf_str(&body), on_exported, x);
    buf_done(&body);
}

/* ---- the queue ---- */

void span_exporter_add(struct span_exporter *x, str span)
{
    if (x->nspans == EXPORTER_SPANS_MAX || x->nbytes + span.n > EXPORTER_BYTES_MAX) {
        x->counts.dropped++;
        return;
    }
    struct queued_span *s = xcalloc(1, sizeof *s + span.n);
    s->n = span.n;
    memcpy(s->text, span.p, span.n);
    list_push(&x->spans, &s->node);
    x->nspans++;
    x->nbytes += s->n;
    if (x->nspans == 1 && !x->request)
        timer_start(&x->flush, EXPORTER_DELAY_MS);
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
    list_init(&x->spans);
    x->collector = c;
    timer_init(&x->flush, c->conf.loop, span_exporter_flush, x);
    timer_init(&x->limit, c->conf.loop, on_stop_limit, x);
    return x;
}

void span_exporter_free(struct span_exporter *x)
{
    if (!x)
        return;
    fetch_whole_cancel(x->request);
    timer_stop(&x->flush);
    timer_stop(&x->limit);
    span_exporter_take(x, x->nspans);
    free(x);
}
