#include "telemetry/metric_exporter.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "loop/timer.h"
#include "telemetry/otlp.h"

struct metric_exporter {
    struct otlp_collector *collector;
    const struct instruments *instruments;
    uint64_t interval_ms;
    struct collector_request request;
    struct buf body; /* while it is sent */
    bool is_sending;
    bool is_last; /* the request has the last values */
    bool is_over; /* nothing is sent any more */
    struct timer timer, limit;
    struct metric_exporter_counts counts;
    bool is_failing;
    loop_fn on_stopped;
    void *on_stopped_ctx;
};

static void metric_exporter_stopped(struct metric_exporter *x)
{
    loop_fn done = x->on_stopped;
    x->is_over = true;
    timer_stop(&x->timer);
    timer_stop(&x->limit);
    x->on_stopped = NULL;
    if (done)
        done(x->on_stopped_ctx);
}

/* Logged when it begins to fail, not each time. */
static void note_result(struct metric_exporter *x, const struct err *err, int status)
{
    char text[64];
    bool is_taken = err->code == 0 && status >= 200 && status < 300;
    x->counts.sent += is_taken;
    x->counts.failed += !is_taken;
    snprintf(text, sizeof text, "the collector answered with %d", status);
    if (!is_taken && !x->is_failing)
        log_warn(x->collector->conf.log, "telemetry", "metrics were not exported: %s",
                 err->code != 0 ? err->msg : text);
    x->is_failing = !is_taken;
}

static void copy_metrics(struct collector_request *r, struct buf *out) /* on the thread */
{
    const struct metric_exporter *x = CONTAINER_OF(r, struct metric_exporter, request);
    buf_add_str(out, buf_str(&x->body));
}

static void metric_exporter_send(void *exporter)
{
    struct metric_exporter *x = exporter;
    struct json_writer w;
    assert(!x->is_sending && !x->is_over);
    x->is_sending = true;
    x->is_last = x->on_stopped != NULL;
    buf_init(&x->body, COLLECTOR_BODY_MAX); /* more than all series take */
    otlp_begin(&w, &x->body, OTLP_METRICS, x->collector);
    instruments_write_otlp(x->instruments, &w);
    jw_close(&w);
    collector_send(x->collector, &x->request);
}

static void on_metrics_sent(struct collector_request *r)
{
    struct metric_exporter *x = CONTAINER_OF(r, struct metric_exporter, request);
    assert(x->is_sending);
    x->is_sending = false;
    buf_done(&x->body);
    if (x->is_over || x->collector->is_stopping)
        return;
    if (r->err.code != -ECANCELED)
        note_result(x, &r->err, r->status);
    if (x->is_last)
        metric_exporter_stopped(x);
    else if (x->on_stopped)
        metric_exporter_send(x);
    else
        timer_start(&x->timer, x->interval_ms);
}

static void on_metrics_limit(void *exporter)
{
    struct metric_exporter *x = exporter;
    if (x->is_sending)
        collector_cancel(&x->request);
    metric_exporter_stopped(x);
}

/* A request that is under way may lack the latest values: it is given up. */
void metric_exporter_stop(struct metric_exporter *x, loop_fn done, void *ctx)
{
    assert(done && !x->on_stopped);
    x->on_stopped = done;
    x->on_stopped_ctx = ctx;
    timer_stop(&x->timer);
    timer_start(&x->limit, METRIC_STOP_MS);
    if (x->is_sending)
        collector_cancel(&x->request);
    else
        metric_exporter_send(x);
}

struct metric_exporter_counts metric_exporter_counts(const struct metric_exporter *x)
{
    return x->counts;
}

struct metric_exporter *metric_exporter_new(struct otlp_collector *c, const struct instruments *i,
                                            uint64_t interval_ms)
{
    struct metric_exporter *x = xcalloc(1, sizeof *x);
    assert(interval_ms > 0);
    x->collector = c;
    x->instruments = i;
    x->interval_ms = interval_ms;
    x->request.path = "/v1/metrics";
    x->request.write = copy_metrics;
    x->request.done = on_metrics_sent;
    timer_init(&x->timer, c->conf.loop, metric_exporter_send, x);
    timer_init(&x->limit, c->conf.loop, on_metrics_limit, x);
    timer_start(&x->timer, interval_ms);
    return x;
}

void metric_exporter_free(struct metric_exporter *x)
{
    if (!x)
        return;
    assert(!x->is_sending);
    timer_stop(&x->timer);
    timer_stop(&x->limit);
    free(x);
}
