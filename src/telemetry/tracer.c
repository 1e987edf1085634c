#include "telemetry/tracer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "base/map.h"
#include "telemetry/model_name.h"

#define IDS_BYTES 1024 /* random bytes that are drawn together: each time is a system call */

struct traced_run {
    uint8_t trace[16], id[8], parent[8];
    bool has_parent, is_sampled;
    int64_t start_ms;
    struct arena arena;
    str conversation_id, workspace_id; /* empty without a collector */
    str model;
};

struct tracer {
    tracer_price price; /* or NULL */
    void *price_ctx;
    struct instruments *instruments;
    struct otlp_collector collector;
    struct span_exporter *exporter; /* NULL = nothing is sent */
    struct metric_exporter *metrics;
    struct map runs; /* run id -> struct traced_run */
    uint64_t dropped;
    uint8_t ids[IDS_BYTES];
    size_t nids; /* bytes of them that are not used yet */
    loop_fn on_stopped;
    void *on_stopped_ctx;
};

struct tracer *tracer_new(const struct tracer_conf *c)
{
    struct tracer *t = xcalloc(1, sizeof *t);
    map_init(&t->runs);
    t->instruments = instruments_new();
    collector_init(&t->collector, &c->collector);
    if (c->collector.endpoint.n > 0) {
        t->exporter = span_exporter_new(&t->collector);
        t->metrics = metric_exporter_new(&t->collector, t->instruments, c->metrics_ms);
    }
    return t;
}

struct instruments *tracer_instruments(struct tracer *t)
{
    return t ? t->instruments : NULL;
}

void tracer_set_prices(struct tracer *t, tracer_price price, void *ctx)
{
    t->price = price;
    t->price_ctx = ctx;
}

bool tracer_is_sending(const struct tracer *t)
{
    return t && t->exporter;
}

static bool has_spans(const struct tracer *t, const struct traced_run *r)
{
    return t->exporter && r->is_sampled;
}

/* ---- spans ---- */

static void draw_id(struct tracer *t, uint8_t *out, size_t n)
{
    assert(n <= sizeof t->ids);
    if (t->nids < n) {
        random_bytes(t->ids, sizeof t->ids);
        t->nids = sizeof t->ids;
    }
    t->nids -= n;
    memcpy(out, t->ids + t->nids, n);
}

/* A call of the run, which lasted until now. */
static struct trace_span child_of(struct tracer *t, const struct traced_run *r, enum span_type type,
                                  uint64_t ms)
{
    int64_t now = clock_now_ms();
    struct trace_span s = {.type = type,
                           .has_parent = true,
                           .start_ms = now - (int64_t)ms,
                           .end_ms = now,
                           .texts = {[SPAN_CONVERSATION] = r->conversation_id}};
    memcpy(s.trace, r->trace, sizeof s.trace);
    memcpy(s.parent, r->id, sizeof s.parent);
    draw_id(t, s.id, sizeof s.id);
    return s;
}

/* ---- runs ---- */

static void new_trace(struct tracer *t, struct traced_run *own, const struct tracer_run *r)
{
    const struct traced_run *up = map_get(&t->runs, r->parent_run_id);
    const struct trace_context *c = r->parent;
    own->is_sampled = true;
    draw_id(t, own->id, sizeof own->id);
    if (up) {
        memcpy(own->trace, up->trace, sizeof own->trace);
        memcpy(own->parent, up->id, sizeof own->parent);
        own->has_parent = true;
        own->is_sampled = up->is_sampled;
    } else if (c && c->is_set) {
        memcpy(own->trace, c->trace, sizeof own->trace);
        memcpy(own->parent, c->span, sizeof own->parent);
        own->has_parent = true;
        own->is_sampled = c->is_sampled;
    } else {
        draw_id(t, own->trace, sizeof own->trace);
    }
}

void tracer_run_begin(struct tracer *t, const struct tracer_run *r)
{
    if (!t)
        return;
    if (map_len(&t->runs) >= TRACER_RUNS_MAX || map_get(&t->runs, r->run_id)) {
        t->dropped++;
        return;
    }
    struct traced_run *own = xcalloc(1, sizeof *own);
    arena_init(&own->arena);
    own->model = arena_str(&own->arena, r->model);
    own->start_ms = clock_now_ms();
    if (t->exporter) {
        own->conversation_id = arena_str(&own->arena, r->conversation_id);
        own->workspace_id = arena_str(&own->arena, r->workspace_id);
        new_trace(t, own, r);
    }
    (void)map_put(&t->runs, r->run_id, own);
}

struct trace_context tracer_run_context(const struct tracer *t, str run_id)
{
    const struct traced_run *r = t ? map_get(&t->runs, run_id) : NULL;
    struct trace_context c = {.is_set = r && has_spans(t, r), .is_sampled = true};
    if (c.is_set) {
        memcpy(c.trace, r->trace, sizeof c.trace);
        memcpy(c.span, r->id, sizeof c.span);
    }
    return c;
}

static void free_run(struct traced_run *r)
{
    arena_done(&r->arena);
    free(r);
}

static void add_operation(struct tracer *t, const char *name, str model, int64_t ms,
                          const char *error)
{
    str labels[INSTRUMENT_LABELS_MAX] = {str_from(name), STR_NONE, STR_NONE, str_from(error)};
    if (model.n > 0) {
        labels[1] = model_provider(model);
        labels[2] = model_bare(model);
    }
    instruments_add(t->instruments, INSTRUMENT_OPERATIONS, labels, (double)ms / 1000);
}

static void run_span(struct tracer *t, const struct traced_run *r, const struct tracer_end *e)
{
    struct trace_span s = {.type = SPAN_RUN,
                           .has_parent = r->has_parent,
                           .start_ms = r->start_ms,
                           .end_ms = clock_now_ms(),
                           .input_tokens = e->usage->input_tokens,
                           .output_tokens = e->usage->output_tokens,
                           .texts = {[SPAN_CONVERSATION] = r->conversation_id,
                                     [SPAN_WORKSPACE] = r->workspace_id,
                                     [SPAN_MODEL_ASKED] = r->model,
                                     [SPAN_REASON] = str_from(e->stop_reason),
                                     [SPAN_ERROR] = str_from(e->error_type)}};
    memcpy(s.trace, r->trace, sizeof s.trace);
    memcpy(s.id, r->id, sizeof s.id);
    memcpy(s.parent, r->parent, sizeof s.parent);
    span_exporter_add(t->exporter, &s);
}

void tracer_run_end(struct tracer *t, str run_id, const struct tracer_end *e)
{
    struct traced_run *r = t ? map_del(&t->runs, run_id) : NULL;
    if (!r)
        return;
    add_operation(t, "invoke_agent", r->model, clock_now_ms() - r->start_ms, e->error_type);
    if (has_spans(t, r))
        run_span(t, r, e);
    free_run(r);
}

/* ---- calls ---- */

static void model_span(struct tracer *t, const struct traced_run *r,
                       const struct tracer_model_call *c, const double *usd)
{
    struct trace_span s = child_of(t, r, SPAN_MODEL, c->ms);
    s.input_tokens = c->usage->input_tokens;
    s.output_tokens = c->usage->output_tokens;
    s.cache_read_tokens = c->usage->cache_read_tokens;
    s.has_cost = usd != NULL;
    s.cost_usd = usd ? *usd : 0;
    s.texts[SPAN_MODEL_ASKED] = r->model;
    s.texts[SPAN_MODEL_USED] = c->model;
    s.texts[SPAN_REASON] = str_from(c->finish_reason);
    span_exporter_add(t->exporter, &s);
}

void tracer_model_called(struct tracer *t, str run_id, const struct tracer_model_call *c)
{
    const struct traced_run *r = t ? map_get(&t->runs, run_id) : NULL;
    double usd = 0;
    if (!r)
        return;
    str labels[INSTRUMENT_LABELS_MAX] = {STR("chat"), model_provider(r->model),
                                         model_bare(r->model)};
    bool has_price = t->price && t->price(t->price_ctx, r->model, c->usage, &usd);
    add_operation(t, "chat", r->model, (int64_t)c->ms, NULL);
    if (has_price)
        instruments_add(t->instruments, INSTRUMENT_COST, labels, usd);
    labels[3] = STR("input");
    instruments_add(t->instruments, INSTRUMENT_TOKENS, labels, (double)c->usage->input_tokens);
    labels[3] = STR("output");
    instruments_add(t->instruments, INSTRUMENT_TOKENS, labels, (double)c->usage->output_tokens);
    if (has_spans(t, r))
        model_span(t, r, c, has_price ? &usd : NULL);
}

void tracer_tool_called(struct tracer *t, str run_id, const struct tracer_tool_call *c)
{
    const struct traced_run *r = t ? map_get(&t->runs, run_id) : NULL;
    const char *error = c->ok ? NULL : "tool_error";
    if (!r)
        return;
    add_operation(t, "execute_tool", STR_NONE, (int64_t)c->ms, error);
    if (!has_spans(t, r))
        return;
    struct trace_span s = child_of(t, r, SPAN_TOOL, c->ms);
    s.texts[SPAN_TOOL_NAME] = c->name;
    s.texts[SPAN_CALL_ID] = c->id;
    s.texts[SPAN_ERROR] = str_from(error);
    span_exporter_add(t->exporter, &s);
}

/* ---- life ---- */

struct span_exporter_counts tracer_counts(const struct tracer *t)
{
    struct span_exporter_counts c = {0};
    if (!tracer_is_sending(t))
        return c;
    c = span_exporter_counts(t->exporter);
    c.dropped += t->dropped;
    return c;
}

struct metric_exporter_counts tracer_metric_counts(const struct tracer *t)
{
    return tracer_is_sending(t) ? metric_exporter_counts(t->metrics)
                                : (struct metric_exporter_counts){0};
}

static void on_metrics_stopped(void *tracer)
{
    struct tracer *t = tracer;
    span_exporter_stop(t->exporter, t->on_stopped, t->on_stopped_ctx);
}

void tracer_stop(struct tracer *t, loop_fn done, void *ctx)
{
    if (!tracer_is_sending(t)) {
        done(ctx);
        return;
    }
    t->on_stopped = done;
    t->on_stopped_ctx = ctx;
    metric_exporter_stop(t->metrics, on_metrics_stopped, t);
}

void tracer_free(struct tracer *t)
{
    struct map_entry *e;
    if (!t)
        return;
    for (size_t i = 0; (e = map_next(&t->runs, &i)) != NULL;)
        free_run(e->value);
    map_done(&t->runs);
    collector_stop(&t->collector);
    span_exporter_free(t->exporter);
    metric_exporter_free(t->metrics);
    collector_done(&t->collector);
    instruments_free(t->instruments);
    free(t);
}
