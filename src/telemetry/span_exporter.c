#include "telemetry/span_exporter.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "loop/timer.h"
#include "telemetry/otlp.h"

#define BACKOFF_MS      1000
#define SAID_EACH_MS    60000
#define SPARE_BYTES_MAX (512u * 1024)

/* The spans of one request. While it is sent, the collector's thread reads it. */
struct span_batch {
    struct list_node node;
    struct buf spans; /* packed */
    size_t n;
    size_t json_max; /* of all its spans */
};

struct span_exporter {
    struct otlp_collector *collector;
    struct collector_request request;
    struct list_node batches;   /* struct span_batch, oldest first; only the last may be extended */
    struct list_node spare;     /* empty ones, whose memory is used again */
    struct span_batch *sending; /* the oldest, while its request is under way; else NULL */
    bool is_over;               /* nothing is sent any more */
    size_t nspans, nbytes;      /* of all batches */
    unsigned tries;
    struct timer flush, limit;
    struct span_exporter_counts counts;
    uint64_t said_ms;
    loop_fn on_stopped;
    void *on_stopped_ctx;
};

/* ---- batches ---- */

static struct span_batch *oldest_batch(const struct span_exporter *x)
{
    assert(!list_empty(&x->batches));
    return LIST_ENTRY(x->batches.next, struct span_batch, node);
}

static struct span_batch *newest_batch(const struct span_exporter *x)
{
    return list_empty(&x->batches) ? NULL : LIST_ENTRY(x->batches.prev, struct span_batch, node);
}

/* A batch that was sent stays as it was, so that each of its spans is sent equally often. */
static bool batch_has_room(const struct span_exporter *x, const struct span_batch *b, size_t json)
{
    bool was_sent = b == oldest_batch(x) && (x->sending || x->tries > 0);
    return !was_sent && b->n < EXPORTER_BATCH_MAX && b->json_max + json <= EXPORTER_BYTES_MAX;
}

static struct span_batch *take_batch(struct span_exporter *x)
{
    struct list_node *node = list_pop(&x->spare);
    if (node)
        return LIST_ENTRY(node, struct span_batch, node);
    struct span_batch *b = xcalloc(1, sizeof *b);
    buf_init(&b->spans, EXPORTER_BYTES_MAX);
    return b;
}

/* The batch of the next span, whose JSON has up to `json` bytes. */
static struct span_batch *open_batch(struct span_exporter *x, size_t json)
{
    struct span_batch *b = newest_batch(x);
    if (b && batch_has_room(x, b, json))
        return b;
    b = take_batch(x);
    list_push(&x->batches, &b->node);
    return b;
}

/* What a burst has needed beyond one request's spans goes back. */
static void free_batch(struct span_exporter *x, struct span_batch *b)
{
    assert(b->n <= x->nspans && b->spans.n <= x->nbytes);
    x->nspans -= b->n;
    x->nbytes -= b->spans.n;
    list_del(&b->node);
    if (b->spans.cap > SPARE_BYTES_MAX || !list_empty(&x->spare)) {
        buf_done(&b->spans);
        free(b);
        return;
    }
    buf_clear(&b->spans);
    b->n = b->json_max = 0;
    list_push(&x->spare, &b->node);
}

static void drop_batch(struct span_exporter *x, const char *why)
{
    struct span_batch *b = oldest_batch(x);
    x->counts.dropped += b->n;
    if (x->said_ms == 0 || clock_mono_ms() - x->said_ms > SAID_EACH_MS) {
        x->said_ms = clock_mono_ms();
        log_warn(x->collector->conf.log, "telemetry", "spans were not exported (%llu so far): %s",
                 (unsigned long long)x->counts.dropped, why);
    }
    free_batch(x, b);
}

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
    if (x->sending)
        collector_cancel(&x->request);
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
    if (!x->sending)
        timer_start(&x->flush, 0);
}

/* ---- one request ---- */

static bool is_retryable(const struct err *err, int status)
{
    return err->code != 0 || status == 429 || (status >= 502 && status <= 504);
}

/* {"partialSuccess": {"rejectedSpans": "3"}}; the number may also be a number. */
static size_t rejected_spans(const struct span_batch *b, str body)
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
    return n < b->n ? (size_t)n : b->n;
}

static void note_answer(struct span_exporter *x)
{
    const struct collector_request *r = &x->request;
    char text[64];
    if (r->err.code == 0 && r->status >= 200 && r->status < 300) {
        struct span_batch *b = oldest_batch(x);
        size_t rejected = rejected_spans(b, buf_str(&r->body));
        x->counts.dropped += rejected;
        x->counts.sent += b->n - rejected;
        free_batch(x, b);
        x->tries = 0;
        return;
    }
    if (is_retryable(&r->err, r->status) && ++x->tries < EXPORTER_TRIES)
        return;
    snprintf(text, sizeof text, "the collector answered with %d", r->status);
    drop_batch(x, r->err.code != 0 ? r->err.msg : text);
    x->tries = 0;
}

/* Spans that came meanwhile wait as long as a first span does, unless they fill a request. */
static uint64_t next_delay_ms(const struct span_exporter *x)
{
    if (x->tries > 0)
        return BACKOFF_MS << (x->tries - 1);
    bool is_full = x->nspans >= EXPORTER_BATCH_MAX || oldest_batch(x) != newest_batch(x);
    return x->on_stopped || is_full ? 0 : EXPORTER_DELAY_MS;
}

static void on_batch_sent(struct collector_request *r)
{
    struct span_exporter *x = CONTAINER_OF(r, struct span_exporter, request);
    assert(x->sending);
    x->sending = NULL;
    if (x->is_over || x->collector->is_stopping)
        return;
    note_answer(x);
    if (x->nspans == 0 && x->on_stopped)
        span_exporter_stopped(x);
    else if (x->nspans > 0)
        timer_start(&x->flush, next_delay_ms(x));
}

static void write_batch(struct collector_request *r, struct buf *out) /* on the thread */
{
    const struct span_exporter *x = CONTAINER_OF(r, struct span_exporter, request);
    str rest = buf_str(&x->sending->spans);
    struct trace_span s;
    struct json_writer w;
    otlp_begin(&w, out, OTLP_SPANS, x->collector);
    while (span_unpack(&rest, &s))
        span_write(&w, &s);
    jw_close(&w);
}

static void span_exporter_flush(void *exporter)
{
    struct span_exporter *x = exporter;
    if (x->sending || x->is_over || x->nspans == 0)
        return;
    x->sending = oldest_batch(x);
    collector_send(x->collector, &x->request);
}

/* ---- the queue ---- */

void span_exporter_add(struct span_exporter *x, const struct trace_span *s)
{
    size_t size = span_size(s), json = span_json_max(s);
    if (x->nspans == EXPORTER_SPANS_MAX || x->nbytes + size > EXPORTER_BYTES_MAX) {
        x->counts.dropped++;
        return;
    }
    struct span_batch *b = open_batch(x, json);
    size_t before = b->spans.n;
    span_pack(&b->spans, s);
    assert(!buf_failed(&b->spans));
    b->n++;
    b->json_max += json;
    x->nspans++;
    x->nbytes += b->spans.n - before;
    if (x->sending || x->tries > 0)
        return; /* on_batch_sent starts the timer */
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

struct span_exporter *span_exporter_new(struct otlp_collector *c)
{
    struct span_exporter *x = xcalloc(1, sizeof *x);
    list_init(&x->batches);
    list_init(&x->spare);
    x->collector = c;
    x->request.path = "/v1/traces";
    x->request.write = write_batch;
    x->request.done = on_batch_sent;
    timer_init(&x->flush, c->conf.loop, span_exporter_flush, x);
    timer_init(&x->limit, c->conf.loop, on_stop_limit, x);
    return x;
}

static void free_batches(struct list_node *all)
{
    LIST_EACH (b, all, struct span_batch, node) {
        buf_done(&b->spans);
        free(b);
    }
}

void span_exporter_free(struct span_exporter *x)
{
    if (!x)
        return;
    assert(!x->sending);
    timer_stop(&x->flush);
    timer_stop(&x->limit);
    free_batches(&x->batches);
    free_batches(&x->spare);
    free(x);
}
