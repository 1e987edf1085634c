/* GET /metrics - metrics for Prometheus. */
#include <malloc.h>

#include "api/api_impl.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "store/postgres/database.h"
#include "telemetry/tracer.h"

#define METRICS_MAX (16u * 1024 * 1024)

static void add_metric(struct buf *out, const char *name, const char *type, const char *help,
                       uint64_t v)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, type, name,
               (unsigned long long)v);
}

/* Free memory of the heap is kept for the next requests, or cannot be returned because memory in
 * use lies around it. */
static void add_process(struct buf *out, const struct loop *l)
{
    struct mallinfo2 heap = mallinfo2();
    add_metric(out, "nb_loop_wakeups_total", "counter", "Times that the event loop woke up.",
               loop_wakeups(l));
    add_metric(out, "nb_heap_used_bytes", "gauge", "Memory of the heap that is in use.",
               heap.uordblks + heap.hblkhd);
    add_metric(out, "nb_heap_free_bytes", "gauge", "Memory of the heap that is free.",
               heap.fordblks);
}

static void add_tracer(struct buf *out, const struct tracer *t)
{
    struct span_exporter_counts c = tracer_counts(t);
    struct metric_exporter_counts m = tracer_metric_counts(t);
    if (!tracer_is_sending(t))
        return;
    add_metric(out, "nb_otlp_spans_sent_total", "counter", "Spans that the collector took.",
               c.sent);
    add_metric(out, "nb_otlp_spans_dropped_total", "counter",
               "Spans that found no room in the queue, or that the collector did not take.",
               c.dropped);
    add_metric(out, "nb_otlp_spans_queued", "gauge", "Spans that wait.", c.queued);
    add_metric(out, "nb_otlp_metrics_sent_total", "counter",
               "Requests with metrics that the collector took.", m.sent);
    add_metric(out, "nb_otlp_metrics_failed_total", "counter",
               "Requests with metrics that the collector did not take.", m.failed);
}

void api_metrics_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct http_stats h;
    struct buf b;
    buf_init(&b, METRICS_MAX);
    http_server_stats(r->server, &h);
    add_metric(&b, "nb_uptime_seconds", "gauge", "Since the server started.",
               (clock_mono_ms() - api->deps.started_ms) / 1000);
    add_metric(&b, "nb_http_requests_total", "counter", "HTTP requests.", h.requests);
    add_metric(&b, "nb_http_received_bytes_total", "counter", "Bytes from HTTP clients.",
               h.bytes_in);
    add_metric(&b, "nb_http_sent_bytes_total", "counter", "Bytes to HTTP clients.", h.bytes_out);
    add_metric(&b, "nb_http_connections", "gauge", "Open HTTP connections.", h.conns);
    add_metric(&b, "nb_http_streams", "gauge", "Open event streams.", h.streams);
    add_process(&b, api->deps.loop);
    instruments_write_prometheus(tracer_instruments(api->deps.tracer), &b);
    add_tracer(&b, api->deps.tracer);
    database_metrics(api->deps.database, &b);
    if (api->deps.mcp.metrics)
        api->deps.mcp.metrics(api->deps.mcp.ctx, &b);
    if (buf_failed(&b))
        http_reply_error(r, 500, NULL, "The metrics do not fit into one response.", NULL);
    else
        http_reply(r, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&b));
    buf_done(&b);
}
