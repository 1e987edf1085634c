/* tracer.h - what runs do: spans of OpenTelemetry, and histograms, with the conventions for
 * generative AI.
 *
 *   trace_context.h    the caller's trace (traceparent)
 *   instruments.h      histograms, also those of requests
 *   span.h             what is kept of a span until it is sent
 *   model_name.h       providers and models by their names there
 *   otlp.h             spans and histograms as JSON
 *   collector.h        where they go, and the thread that sends them
 *   span_exporter.h    queue of spans, in batches
 *   metric_exporter.h  requests with the histograms
 *   tracer.h           runs, model calls and tool calls
 *
 * The span of a run has the spans of its model calls and tool calls as children; a delegated run is
 * a child of the run that asked for it. Spans have names, ids, times, counts and kinds of errors:
 * never text of people, models or tools. A caller whose trace is not sampled has no spans.
 * Without a collector in the settings, only the histograms are kept and nothing is sent. A tracer
 * that is NULL does nothing. Loop thread only. */
#pragma once

#include "base/json/usage.h"
#include "telemetry/instruments.h"
#include "telemetry/metric_exporter.h"
#include "telemetry/span_exporter.h"
#include "telemetry/trace_context.h"

#define TRACER_RUNS_MAX 4096 /* at the same time; others are not traced, and counted as dropped */

struct tracer;

struct tracer_conf {
    struct collector_conf collector; /* its endpoint may be empty: nothing is sent */
    uint64_t metrics_ms;             /* between two requests with metrics */
};

/* The cost of a model call. False: not known. */
typedef bool (*tracer_price)(void *ctx, str model, const struct conv_usage *u, double *ret_usd);

struct tracer *tracer_new(const struct tracer_conf *c);
struct instruments *tracer_instruments(struct tracer *t); /* of NULL: NULL */
void tracer_set_prices(struct tracer *t, tracer_price price, void *ctx);
bool tracer_is_sending(const struct tracer *t);

struct tracer_run {
    str run_id, conversation_id, workspace_id, model;
    str parent_run_id;                  /* of a delegated run; may be empty */
    const struct trace_context *parent; /* of the request, or NULL */
};
void tracer_run_begin(struct tracer *t, const struct tracer_run *r);
/* The trace of the run, if its spans are sent. */
struct trace_context tracer_run_context(const struct tracer *t, str run_id);

/* What the run has just learned about a call of its own; everything is borrowed. */
struct tracer_model_call {
    str model; /* that answered, "provider:model"; empty = the model of the run */
    const struct conv_usage *usage;
    const char *finish_reason;
    uint64_t ms;
};
void tracer_model_called(struct tracer *t, str run_id, const struct tracer_model_call *c);
struct tracer_tool_call {
    str id, name;
    bool ok;
    uint64_t ms;
};
void tracer_tool_called(struct tracer *t, str run_id, const struct tracer_tool_call *c);

struct tracer_end {
    const struct conv_usage *usage;
    const char *stop_reason;
    const char *error_type; /* or NULL */
};
void tracer_run_end(struct tracer *t, str run_id, const struct tracer_end *e);

/* Zero without a collector. */
struct span_exporter_counts tracer_counts(const struct tracer *t);
struct metric_exporter_counts tracer_metric_counts(const struct tracer *t);
void tracer_stop(struct tracer *t, loop_fn done, void *ctx); /* of NULL: calls done immediately */
void tracer_free(struct tracer *t);                          /* accepts NULL */
