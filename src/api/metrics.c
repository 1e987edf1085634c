/* GET /metrics - metrics for Prometheus. */
#include "api/api_impl.h"
#include "api/handlers.h"
#include "base/clock.h"

#define METRICS_MAX (16u * 1024 * 1024)

static void add_metric(struct buf *out, const char *name, const char *type, const char *help,
                       uint64_t v)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, type, name,
               (unsigned long long)v);
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
    if (api->deps.mcp.metrics)
        api->deps.mcp.metrics(api->deps.mcp.ctx, &b);
    if (buf_failed(&b))
        http_reply_error(r, 500, NULL, "The metrics do not fit into one response.", NULL);
    else
        http_reply(r, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&b));
    buf_done(&b);
}
