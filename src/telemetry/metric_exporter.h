/* metric_exporter.h - sends all instruments to a collector, each interval and at the end.
 *
 * Each request has all values since the start, so that nothing is sent twice and a request that
 * fails loses nothing: the next one has its values. The JSON is made on the loop thread, which owns
 * the instruments, and sent by that of the collector. Loop thread only. */
#pragma once

#include "telemetry/collector.h"
#include "telemetry/instruments.h"

#define METRIC_STOP_MS 2000

struct metric_exporter_counts {
    uint64_t sent, failed; /* requests */
};

struct metric_exporter;

/* `c` and `x` outlive it. */
struct metric_exporter *metric_exporter_new(struct otlp_collector *c, const struct instruments *x,
                                            uint64_t interval_ms);
struct metric_exporter_counts metric_exporter_counts(const struct metric_exporter *x);
/* Sends once more, for at most METRIC_STOP_MS; then calls done. */
void metric_exporter_stop(struct metric_exporter *x, loop_fn done, void *ctx);
void metric_exporter_free(struct metric_exporter *x); /* after collector_stop; accepts NULL */
