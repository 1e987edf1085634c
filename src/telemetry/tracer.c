#include "telemetry/tracer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "base/json/json_scan.h"
#include "base/map.h"
#include "bus/vocabulary.h"
#include "telemetry/otlp.h"

#define SPAN_MAX 65536

struct traced_call {
    char id[128]; /* longer ones are cut: then two calls may share a start */
    int64_t start_ms;
};

struct traced_run {
    uint8_t trace[16], id[8], parent[8];
    bool has_parent, is_sampled;
    int64_t start_ms;
    struct arena arena;
    str conversation_id, workspace_id, model;
    struct traced_call *calls; /* TRACER_CALLS_MAX; made for the first */
    size_t ncalls;
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

static void send_span(struct tracer *t, const struct otlp_span *s)
{
    struct buf b;
    buf_init(&b, SPAN_MAX);
    otlp_add_span(&b, s);
    if (buf_failed(&b))
        t->dropped++;
    else
        span_exporter_add(t->exporter, buf_str(&b));
    buf_done(&b);
}

static void child_of(const struct traced_run *r, struct otlp_span *s)
{
    memcpy(s->trace, r->trace, sizeof s->trace);
    memcpy(s->parent, r->id, sizeof s->parent);
    random_bytes(s->id, sizeof s->id);
    s->has_parent = true;
}

/* "anthropic:claude..." as the conventions name providers. */
static str provider_of(str model)
{
    static const struct {
        const char *nb, *name;
    } NAMES[] = {{"google", "gcp.gemini"},
                 {"gemini", "gcp.gemini"},
                 {"bedrock", "aws.bedrock"},
                 {"mistral", "mistral_ai"},
                 {"xai", "x_ai"}};
    str rest = model, provider;
    if (str_find_char(model, ':') < 0)
        return STR("nb");
    (void)str_split(&rest, ':', &provider);
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (str_eq(provider, str_from(NAMES[i].nb)))
            return str_from(NAMES[i].name);
    return provider;
}

static str bare_model(str model)
{
    ptrdiff_t at = str_find_char(model, ':');
    return at < 0 ? model : str_skip(model, (size_t)at + 1);
}

static struct otlp_attribute text_attribute(const char *key, str text)
{
    return (struct otlp_attribute){.key = key, .text = text};
}

static struct otlp_attribute number_attribute(const char *key, int64_t n)
{
    return (struct otlp_attribute){.key = key, .number = n, .is_number = true};
}

/* ---- runs ---- */

static void new_trace(struct tracer *t, struct traced_run *own, const struct tracer_run *r)
{
    const struct traced_run *up = map_get(&t->runs, r->parent_run_id);
    const struct trace_context *c = r->parent;
    own->is_sampled = true;
    if (!t->exporter)
        return;
    random_bytes(own->id, sizeof own->id);
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
        random_bytes(own->trace, sizeof own->trace);
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
    own->conversation_id = arena_str(&own->arena, r->conversation_id);
    own->workspace_id = arena_str(&own->arena, r->workspace_id);
    own->model = arena_str(&own->arena, r->model);
    own->start_ms = clock_now_ms();
    new_trace(t, own, r);
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
    free(r->calls);
    free(r);
}

static void add_operation(struct tracer *t, const char *name, str model, int64_t ms,
                          const char *error)
{
    str labels[INSTRUMENT_LABELS_MAX] = {str_from(name), STR_NONE, STR_NONE, str_from(error)};
    if (model.n > 0) {
        labels[1] = provider_of(model);
        labels[2] = bare_model(model);
    }
    instruments_add(t->instruments, INSTRUMENT_OPERATIONS, labels, (double)ms / 1000);
}

static void end_run(struct tracer *t, const struct traced_run *r, const struct tracer_end *e)
{
    const struct otlp_attribute attributes[] = {
        text_attribute("gen_ai.operation.name", STR("invoke_agent")),
        text_attribute("gen_ai.agent.name", STR("nb")),
        text_attribute("gen_ai.provider.name", provider_of(r->model)),
        text_attribute("gen_ai.request.model", bare_model(r->model)),
        text_attribute("gen_ai.conversation.id", r->conversation_id),
        number_attribute("gen_ai.usage.input_tokens", e->usage->input_tokens),
        number_attribute("gen_ai.usage.output_tokens", e->usage->output_tokens),
        text_attribute("nb.workspace.id", r->workspace_id),
        text_attribute("nb.stop_reason", str_from(e->stop_reason)),
        text_attribute("error.type", str_from(e->error_type)),
    };
    struct otlp_span s = {.has_parent = r->has_parent,
                          .name = STR("invoke_agent nb"),
                          .kind = OTLP_INTERNAL,
                          .start_ms = r->start_ms,
                          .end_ms = clock_now_ms(),
                          .attributes = attributes,
                          .nattributes = ARRAY_LEN(attributes),
                          .is_error = e->error_type != NULL};
    memcpy(s.trace, r->trace, sizeof s.trace);
    memcpy(s.id, r->id, sizeof s.id);
    memcpy(s.parent, r->parent, sizeof s.parent);
    send_span(t, &s);
}

void tracer_run_end(struct tracer *t, str run_id, const struct tracer_end *e)
{
    struct traced_run *r = t ? map_del(&t->runs, run_id) : NULL;
    if (!r)
        return;
    add_operation(t, "invoke_agent", r->model, clock_now_ms() - r->start_ms, e->error_type);
    if (has_spans(t, r))
        end_run(t, r, e);
    free_run(r);
}

/* ---- lines of the log ---- */

static str line_text(str line, const char *key)
{
    return json_scan_plain(json_scan_field(line, str_from(key)));
}

static int64_t line_int(str line, const char *key)
{
    int64_t v;
    return parse_i64(json_scan_field(line, str_from(key)), &v) < 0 || v < 0 ? 0 : v;
}

static struct conv_usage line_usage(str line)
{
    return (struct conv_usage){
        .input_tokens = line_int(line, "inputTokens"),
        .output_tokens = line_int(line, "outputTokens"),
        .cache_read_tokens = line_int(line, "cacheReadTokens"),
        .cache_write_5m_tokens = line_int(line, "cacheWrite5mTokens"),
        .cache_write_1h_tokens = line_int(line, "cacheWrite1hTokens"),
    };
}

static void model_span(struct tracer *t, struct traced_run *r, str line, const struct conv_usage *u,
                       const double *usd)
{
    struct arena a;
    arena_init(&a);
    str named = line_text(line, "model"), model = named.n > 0 ? named : r->model;
    str finish = line_text(line, "finishReason");
    int64_t now = clock_now_ms();
    struct otlp_attribute attributes[] = {
        text_attribute("gen_ai.operation.name", STR("chat")),
        text_attribute("gen_ai.provider.name", provider_of(r->model)),
        text_attribute("gen_ai.request.model", bare_model(r->model)),
        text_attribute("gen_ai.response.model", bare_model(model)),
        text_attribute("gen_ai.conversation.id", r->conversation_id),
        number_attribute("gen_ai.usage.input_tokens", u->input_tokens),
        number_attribute("gen_ai.usage.output_tokens", u->output_tokens),
        number_attribute("gen_ai.usage.cache_read.input_tokens", u->cache_read_tokens),
        {.key = "gen_ai.response.finish_reasons", .text = finish, .is_list = true},
        {.key = "nb.cost_usd", .is_real = usd != NULL, .real = usd ? *usd : 0},
    };
    struct otlp_span s = {
        .name = arena_printf(&a, "chat %.*s", STR_ARG(bare_model(r->model))),
        .kind = OTLP_CLIENT,
        .start_ms = now - line_int(line, "llmMs"),
        .end_ms = now,
        .attributes = attributes,
        .nattributes = ARRAY_LEN(attributes),
    };
    child_of(r, &s);
    send_span(t, &s);
    arena_done(&a);
}

static void model_call(struct tracer *t, struct traced_run *r, str line)
{
    struct conv_usage u = line_usage(line);
    str labels[INSTRUMENT_LABELS_MAX] = {STR("chat"), provider_of(r->model), bare_model(r->model)};
    double usd = 0;
    bool has_price = t->price && t->price(t->price_ctx, r->model, &u, &usd);
    add_operation(t, "chat", r->model, line_int(line, "llmMs"), NULL);
    if (has_price)
        instruments_add(t->instruments, INSTRUMENT_COST, labels, usd);
    labels[3] = STR("input");
    instruments_add(t->instruments, INSTRUMENT_TOKENS, labels, (double)u.input_tokens);
    labels[3] = STR("output");
    instruments_add(t->instruments, INSTRUMENT_TOKENS, labels, (double)u.output_tokens);
    if (has_spans(t, r))
        model_span(t, r, line, &u, has_price ? &usd : NULL);
}

static void note_call(struct traced_run *r, str line)
{
    str id = line_text(line, "id");
    if (r->ncalls == TRACER_CALLS_MAX || id.n == 0)
        return;
    if (!r->calls)
        r->calls = xcalloc(TRACER_CALLS_MAX, sizeof *r->calls);
    struct traced_call *c = &r->calls[r->ncalls++];
    snprintf(c->id, sizeof c->id, "%.*s", STR_ARG(id));
    c->start_ms = clock_now_ms();
}

/* Results are recorded in the order of the calls, which may be later than they came: the start was
 * noted. A call without one began its duration ago. */
static int64_t call_start(struct traced_run *r, str id, int64_t ms)
{
    for (size_t i = 0; i < r->ncalls; i++) {
        struct traced_call *c = &r->calls[i];
        if (!str_eq(str_from(c->id), str_slice(id, 0, sizeof c->id - 1)))
            continue;
        int64_t start_ms = c->start_ms;
        *c = r->calls[--r->ncalls];
        return start_ms;
    }
    return clock_now_ms() - ms;
}

static void tool_span(struct tracer *t, struct traced_run *r, str line, bool ok, int64_t ms)
{
    struct arena a;
    arena_init(&a);
    str name = line_text(line, "name"), id = line_text(line, "id");
    const struct otlp_attribute attributes[] = {
        text_attribute("gen_ai.operation.name", STR("execute_tool")),
        text_attribute("gen_ai.tool.name", name),
        text_attribute("gen_ai.tool.call.id", id),
        text_attribute("gen_ai.tool.type", STR("function")),
        text_attribute("gen_ai.conversation.id", r->conversation_id),
        text_attribute("error.type", ok ? STR_NONE : STR("tool_error")),
    };
    struct otlp_span s = {
        .name = arena_printf(&a, "execute_tool %.*s", STR_ARG(name)),
        .kind = OTLP_INTERNAL,
        .start_ms = call_start(r, id, ms),
        .attributes = attributes,
        .nattributes = ARRAY_LEN(attributes),
        .is_error = !ok,
    };
    s.end_ms = s.start_ms + ms;
    child_of(r, &s);
    send_span(t, &s);
    arena_done(&a);
}

static void tool_call(struct tracer *t, struct traced_run *r, str line)
{
    bool ok = str_eq(json_scan_field(line, STR("ok")), STR("true"));
    int64_t ms = line_int(line, "ms");
    add_operation(t, "execute_tool", STR_NONE, ms, ok ? NULL : "tool_error");
    if (has_spans(t, r))
        tool_span(t, r, line, ok, ms);
}

void tracer_run_line(struct tracer *t, str run_id, str line)
{
    struct traced_run *r = t ? map_get(&t->runs, run_id) : NULL;
    if (!r)
        return;
    enum event_type type = event_type_of(line_text(line, "type"));
    if (type == EV_LLM_RESPONSE)
        model_call(t, r, line);
    else if (type == EV_TOOL_START && has_spans(t, r))
        note_call(r, line);
    else if (type == EV_TOOL_DONE)
        tool_call(t, r, line);
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
    span_exporter_free(t->exporter);
    metric_exporter_free(t->metrics);
    collector_done(&t->collector);
    instruments_free(t->instruments);
    free(t);
}
