#include "telemetry/instruments.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/utf8.h"
#include "telemetry/otlp.h"

#define BOUNDS_MAX   16
#define LABEL_MAX    200u /* bytes; the rest is cut */
#define LABELS_BYTES (INSTRUMENT_LABELS_MAX * (LABEL_MAX + 1))
#define SEPARATOR    '\x1f'

struct label {
    const char *otlp, *prometheus;
    bool is_number;
};

/* Names, units and classes are those of the semantic conventions of OpenTelemetry where they have
 * the instrument; the cost is nb's own. */
static const struct instrument_type {
    const char *otlp, *prometheus, *unit, *help;
    struct label labels[INSTRUMENT_LABELS_MAX];
    double bounds[BOUNDS_MAX]; /* the first 0 ends them */
} TYPES[INSTRUMENT_COUNT] = {
    [INSTRUMENT_REQUESTS] = {"http.server.request.duration",
                             "nb_http_request_duration_seconds",
                             "s",
                             "Time until a response begins.",
                             {{"http.request.method", "method", false},
                              {"http.route", "route", false},
                              {"http.response.status_code", "status", true}},
                             {0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5,
                              10}},
    [INSTRUMENT_OPERATIONS] =
        {"gen_ai.client.operation.duration",
         "nb_gen_ai_operation_duration_seconds",
         "s",
         "Duration of model calls (chat), tool calls (execute_tool) and runs (invoke_agent).",
         {{"gen_ai.operation.name", "operation", false},
          {"gen_ai.provider.name", "provider", false},
          {"gen_ai.request.model", "model", false},
          {"error.type", "error", false}},
         {0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}},
    [INSTRUMENT_TOKENS] = {"gen_ai.client.token.usage",
                           "nb_gen_ai_tokens",
                           "{token}",
                           "Tokens of a model call.",
                           {{"gen_ai.operation.name", "operation", false},
                            {"gen_ai.provider.name", "provider", false},
                            {"gen_ai.request.model", "model", false},
                            {"gen_ai.token.type", "type", false}},
                           {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304,
                            16777216, 67108864}},
    [INSTRUMENT_COST] = {"nb.gen_ai.cost",
                         "nb_gen_ai_cost_usd",
                         "{USD}",
                         "Cost of a model call at known prices.",
                         {{"gen_ai.operation.name", "operation", false},
                          {"gen_ai.provider.name", "provider", false},
                          {"gen_ai.request.model", "model", false}},
                         {0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5}},
};

struct series {
    char labels[LABELS_BYTES]; /* each ends with a NUL; all empty: the series of all others */
    uint64_t counts[BOUNDS_MAX];
    uint64_t count;
    double sum;
};

struct instruments {
    struct map series[INSTRUMENT_COUNT]; /* labels with separators -> struct series */
    int64_t start_ms;
};

struct instruments *instruments_new(void)
{
    struct instruments *x = xcalloc(1, sizeof *x);
    for (size_t i = 0; i < INSTRUMENT_COUNT; i++)
        map_init(&x->series[i]);
    x->start_ms = clock_now_ms();
    return x;
}

void instruments_free(struct instruments *x)
{
    struct map_entry *e;
    if (!x)
        return;
    for (size_t k = 0; k < INSTRUMENT_COUNT; k++) {
        for (size_t i = 0; (e = map_next(&x->series[k], &i)) != NULL;)
            free(e->value);
        map_done(&x->series[k]);
    }
    free(x);
}

static size_t bounds_of(const struct instrument_type *t)
{
    size_t n = 0;
    while (n < BOUNDS_MAX && t->bounds[n] > 0)
        n++;
    assert(n < BOUNDS_MAX); /* counts[n] are those above the last bound */
    return n;
}

/* ---- counting ---- */

static str series_key(const str *labels, char out[LABELS_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; i < INSTRUMENT_LABELS_MAX; i++) {
        str one = utf8_truncate(labels[i], LABEL_MAX);
        if (one.n > 0)
            memcpy(out + n, one.p, one.n);
        n += one.n;
        out[n++] = SEPARATOR;
    }
    return str_make(out, n);
}

static struct series *series_of(struct map *m, str key)
{
    struct series *s = map_get(m, key);
    if (!s && map_len(m) >= INSTRUMENT_SERIES_MAX) {
        key = STR_NONE;
        s = map_get(m, key);
    }
    if (s)
        return s;
    s = xcalloc(1, sizeof *s);
    for (size_t i = 0; i < key.n; i++)
        s->labels[i] = key.p[i] == SEPARATOR ? '\0' : key.p[i];
    (void)map_put(m, key, s);
    return s;
}

void instruments_add(struct instruments *x, enum instrument which,
                     const str labels[INSTRUMENT_LABELS_MAX], double value)
{
    const struct instrument_type *t = &TYPES[which];
    char key[LABELS_BYTES];
    if (!x)
        return;
    struct series *s = series_of(&x->series[which], series_key(labels, key));
    size_t n = bounds_of(t), at = 0;
    while (at < n && value > t->bounds[at])
        at++;
    s->counts[at]++;
    s->count++;
    s->sum += value;
}

/* ---- writing ---- */

static size_t labels_of(const struct series *s, str ret[INSTRUMENT_LABELS_MAX])
{
    const char *p = s->labels;
    bool has_any = false;
    for (size_t i = 0; i < INSTRUMENT_LABELS_MAX; i++) {
        ret[i] = str_from(p);
        has_any |= ret[i].n > 0;
        p += ret[i].n + 1;
    }
    return has_any ? INSTRUMENT_LABELS_MAX : 0;
}

static void add_label(struct buf *out, const char *name, str value)
{
    buf_printf(out, "%s=\"", name);
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '"' || value.p[i] == '\\')
            buf_add_lit(out, "\\");
        buf_add_char(out, value.p[i] == '\n' ? ' ' : value.p[i]);
    }
    buf_add_lit(out, "\"");
}

static void add_labels(struct buf *out, const struct instrument_type *t, const struct series *s)
{
    str values[INSTRUMENT_LABELS_MAX];
    bool is_first = true;
    if (labels_of(s, values) == 0)
        add_label(out, "otel_metric_overflow", STR("true"));
    for (size_t i = 0; i < INSTRUMENT_LABELS_MAX; i++) {
        if (values[i].n == 0)
            continue;
        buf_add_lit(out, is_first ? "" : ",");
        add_label(out, t->labels[i].prometheus, values[i]);
        is_first = false;
    }
}

static void add_series(struct buf *out, const struct instrument_type *t, const struct series *s)
{
    struct buf labels;
    uint64_t below = 0;
    buf_init(&labels, 2 * LABELS_BYTES + 256);
    add_labels(&labels, t, s);
    const char *text = buf_cstr(&labels);
    for (size_t i = 0; i < bounds_of(t); i++) {
        below += s->counts[i];
        buf_printf(out, "%s_bucket{%s,le=\"%g\"} %llu\n", t->prometheus, text, t->bounds[i],
                   (unsigned long long)below);
    }
    buf_printf(out, "%s_bucket{%s,le=\"+Inf\"} %llu\n", t->prometheus, text,
               (unsigned long long)s->count);
    buf_printf(out, "%s_sum{%s} %.9g\n", t->prometheus, text, s->sum);
    buf_printf(out, "%s_count{%s} %llu\n", t->prometheus, text, (unsigned long long)s->count);
    buf_done(&labels);
}

void instruments_write_prometheus(const struct instruments *x, struct buf *out)
{
    struct map_entry *e;
    for (size_t k = 0; x && k < INSTRUMENT_COUNT; k++) {
        const struct instrument_type *t = &TYPES[k];
        buf_printf(out, "# HELP %s %s\n# TYPE %s histogram\n", t->prometheus, t->help,
                   t->prometheus);
        for (size_t i = 0; (e = map_next(&x->series[k], &i)) != NULL;)
            add_series(out, t, e->value);
    }
}

static void write_point(struct json_writer *w, const struct instruments *x,
                        const struct instrument_type *t, const struct series *s)
{
    struct otlp_attribute attributes[INSTRUMENT_LABELS_MAX + 1] = {0};
    str values[INSTRUMENT_LABELS_MAX];
    size_t n = labels_of(s, values);
    for (size_t i = 0; i < n; i++) {
        attributes[i] = (struct otlp_attribute){.key = t->labels[i].otlp, .text = values[i]};
        attributes[i].is_number =
            t->labels[i].is_number && parse_i64(values[i], &attributes[i].number) == 0;
    }
    if (n == 0)
        attributes[n++] = (struct otlp_attribute){"otel.metric.overflow", .text = STR("true")};
    struct otlp_point p = {.attributes = attributes,
                           .nattributes = n,
                           .start_ms = x->start_ms,
                           .now_ms = clock_now_ms(),
                           .counts = s->counts,
                           .bounds = t->bounds,
                           .nbounds = bounds_of(t),
                           .count = s->count,
                           .sum = s->sum};
    otlp_write_point(w, &p);
}

void instruments_write_otlp(const struct instruments *x, struct json_writer *w)
{
    struct map_entry *e;
    for (size_t k = 0; k < INSTRUMENT_COUNT; k++) {
        const struct instrument_type *t = &TYPES[k];
        if (map_len(&x->series[k]) == 0)
            continue;
        otlp_begin_metric(w, t->otlp, t->unit, t->help);
        for (size_t i = 0; (e = map_next(&x->series[k], &i)) != NULL;)
            write_point(w, x, t, e->value);
        otlp_end_metric(w);
    }
}
