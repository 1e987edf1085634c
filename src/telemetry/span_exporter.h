/* span_exporter.h - sends spans to a collector, in batches, beside everything else.
 *
 * Spans wait in a queue with a ceiling; a span that finds no room, or that the collector does not
 * take after EXPORTER_TRIES, is dropped and counted. Adding a span never waits and never fails: it
 * is a copy of a few hundred bytes into the buffer of its batch. The collector's thread makes the
 * JSON of a batch and sends it.
 *
 *   IDLE --EXPORTER_DELAY_MS after the first span, or with a full batch--> SENDING (on the thread)
 *     ^                                                                      |    ^
 *     +---- taken, refused, or tried often enough ---------------------------+    |
 *                                       later: no answer, 429, 502, 503, 504 +----+
 *
 * Spans that come while a batch is under way belong to the next one. Loop thread only. */
#pragma once

#include "telemetry/collector.h"
#include "telemetry/span.h"

#define EXPORTER_SPANS_MAX 2048 /* with those under way */
#define EXPORTER_BYTES_MAX (8u * 1024 * 1024)
#define EXPORTER_BATCH_MAX 512 /* spans in one request */
#define EXPORTER_DELAY_MS  1000
#define EXPORTER_TRIES     5
#define EXPORTER_STOP_MS   3000

struct span_exporter_counts {
    uint64_t sent, dropped;
    size_t queued;
};

struct span_exporter *span_exporter_new(struct otlp_collector *c);           /* c outlives it */
void span_exporter_add(struct span_exporter *x, const struct trace_span *s); /* copied */
struct span_exporter_counts span_exporter_counts(const struct span_exporter *x);
/* Sends what is there, once, for at most EXPORTER_STOP_MS; then calls done. */
void span_exporter_stop(struct span_exporter *x, loop_fn done, void *ctx);
void span_exporter_free(struct span_exporter *x); /* after collector_stop; accepts NULL */
