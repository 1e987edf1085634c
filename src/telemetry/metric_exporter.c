#include "telemetry/metric_exporter.h"

#include <assert.h>
#include <stdlib.h>

#include "loop/timer.h"
#include "telemetry/otlp.h"

#define METRICS_BODY_MAX (8u * 1024 * 1024) /* more than all series take */

struct metric_exporter {
    const struct otlp_collector *collector;
    const struct instruments *instruments;
    uint64_t interval_ms;
    struct fetch_whole *request;
    struct timer timer, limit;
    struct metric_exporter_counts counts;
    bool is_failing;
    loop_fn on_stopped;
    void *on_stopped_ctx;
};

static void metric_exporter_stopped(void *exporter)
{
    struct metric_exporter *x = exporter;
    loop_fn done = x->on_stopped;
    fetch_whole_cancel(x->request);
    x->request = NULL;
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

static void metric_exporter_send(void *exporter);

static void on_metrics_sent(void *exporter, const struct err *err, int status, str body)
{
    struct metric_exporter *x = exporter;
    x->request = NULL;
    note_result(x, err, status);
    if (x->on_stopped)
        metric_exporter_stopped(x);
    else
        timer_start(&x->timer, x->interval_ms);
}

static void metric_exporter_send(void *exporter)
{
    struct metric_exporter *x = exporter;
    struct buf body;
    struct json_writer w;
    assert(!x->request);
    buf_init(&body, METRICS_BODY_MAX);
    otlp_begin(&w, &body, OTLP_METRICS, x->collector);
    instruments_write_otlp(x->instruments, &w);
    jw_close(&w);
    assert(!buf_failed(&body));
    x->request = collector_post(x->collector, "/v1/metrics", buf_str(&body), on_metrics_sent, x);
    buf_done(&body);
}

/* A request that is under way may lack the latest values: it is given up. */
void metric_exporter_stop(struct metric_exporter *x, loop_fn done, void *ctx)
{
    assert(done && !x->on_stopped);
    x->on_stopped = done;
    x->on_stopped_ctx = ctx;
    fetch_whole_cancel(x->request);
    x->request = NULL;
    timer_stop(&x->timer);
    timer_start(&x->limit, METRIC_STOP_MS);
    metric_exporter_send(x);
}

struct metric_exporter_counts metric_exporter_counts(const struct metric_exporter *x)
{
    return x->counts;
}

struct metric_exporter *metric_exporter_new(const struct otlp_collector *c,
                                            const struct instruments *i, uint64_t interval_ms)
{
    struct metric_exporter *x = xcalloc(1, sizeof *x);
    assert(interval_ms > 0);
    x->collector = c;
    x->instruments = i;
    x->interval_ms = interval_ms;
    timer_init(&x->timer, c->conf.loop, metric_exporter_send, x);
    timer_init(&x->limit, c->conf.loop, metric_exporter_stopped, x);
    timer_start(&x->timer, interval_ms);
    return x;
}

void metric_exporter_free(struct metric_exporter *x)
{
    if (!x)
        return;
    fetch_whole_cancel(x->request);
    timer_stop(&x->timer);
    timer_stop(&x->limit);
    free(x);
}
