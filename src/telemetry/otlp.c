#include "telemetry/otlp.h"

#include "base/bytes/base64.h"
#include "base/utf8.h"

#define NS_PER_MS 1000000

static void write_id(struct json_writer *w, const char *key, const uint8_t *id, size_t n)
{
    char text[33];
    hex_encode(text, id, n);
    jw_kcstr(w, key, text);
}

static void write_int64(struct json_writer *w, const char *key, int64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)v);
    jw_kcstr(w, key, text);
}

static void write_text(struct json_writer *w, str text)
{
    jw_kstr(w, "stringValue", utf8_truncate(text, OTLP_TEXT_MAX));
}

static void write_attribute(struct json_writer *w, const struct otlp_attribute *a)
{
    jw_object(w);
    jw_kcstr(w, "key", a->key);
    jw_kobject(w, "value");
    if (a->is_number) {
        write_int64(w, "intValue", a->number);
    } else if (a->is_real) {
        jw_kdouble(w, "doubleValue", a->real);
    } else if (a->is_list) {
        jw_kobject(w, "arrayValue");
        jw_karray(w, "values");
        jw_object(w);
        write_text(w, a->text);
        jw_end(w);
        jw_end(w);
        jw_end(w);
    } else {
        write_text(w, a->text);
    }
    jw_end(w);
    jw_end(w);
}

static void write_attributes(struct json_writer *w, const struct otlp_attribute *all, size_t n)
{
    jw_karray(w, "attributes");
    for (size_t i = 0; i < n; i++)
        if (all[i].is_number || all[i].is_real || all[i].text.n > 0)
            write_attribute(w, &all[i]);
    jw_end(w);
}

void otlp_add_span(struct buf *out, const struct otlp_span *s)
{
    struct json_writer w;
    jw_init(&w, out);
    jw_object(&w);
    write_id(&w, "traceId", s->trace, sizeof s->trace);
    write_id(&w, "spanId", s->id, sizeof s->id);
    if (s->has_parent)
        write_id(&w, "parentSpanId", s->parent, sizeof s->parent);
    jw_kstr(&w, "name", utf8_truncate(s->name, OTLP_TEXT_MAX));
    jw_kint(&w, "kind", s->kind);
    write_int64(&w, "startTimeUnixNano", s->start_ms * NS_PER_MS);
    write_int64(&w, "endTimeUnixNano", s->end_ms * NS_PER_MS);
    write_attributes(&w, s->attributes, s->nattributes);
    jw_kobject(&w, "status");
    if (s->is_error) {
        jw_kint(&w, "code", 2);
        jw_kstr_if(&w, "message", utf8_truncate(s->message, OTLP_TEXT_MAX));
    }
    jw_close(&w);
}

/* ---- metrics ---- */

#define CUMULATIVE 2 /* each request has all values since the start: a lost one loses nothing */

void otlp_begin_metric(struct json_writer *w, const char *name, const char *unit, const char *help)
{
    jw_object(w);
    jw_kcstr(w, "name", name);
    jw_kcstr(w, "unit", unit);
    jw_kcstr(w, "description", help);
    jw_kobject(w, "histogram");
    jw_kint(w, "aggregationTemporality", CUMULATIVE);
    jw_karray(w, "dataPoints");
}

void otlp_end_metric(struct json_writer *w)
{
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

static void write_classes(struct json_writer *w, const struct otlp_point *p)
{
    jw_karray(w, "bucketCounts");
    for (size_t i = 0; i <= p->nbounds; i++) {
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)p->counts[i]);
        jw_cstr(w, text);
    }
    jw_end(w);
    jw_karray(w, "explicitBounds");
    for (size_t i = 0; i < p->nbounds; i++)
        jw_double(w, p->bounds[i]);
    jw_end(w);
}

void otlp_write_point(struct json_writer *w, const struct otlp_point *p)
{
    jw_object(w);
    write_attributes(w, p->attributes, p->nattributes);
    write_int64(w, "startTimeUnixNano", p->start_ms * NS_PER_MS);
    write_int64(w, "timeUnixNano", p->now_ms * NS_PER_MS);
    write_int64(w, "count", (int64_t)p->count);
    jw_kdouble(w, "sum", p->sum);
    write_classes(w, p);
    jw_end(w);
}

/* ---- requests ---- */

void otlp_begin(struct json_writer *w, struct buf *out, enum otlp_signal signal,
                const struct otlp_collector *c)
{
    static const char *const NAMES[][3] = {
        [OTLP_SPANS] = {"resourceSpans", "scopeSpans", "spans"},
        [OTLP_METRICS] = {"resourceMetrics", "scopeMetrics", "metrics"}};
    const struct otlp_attribute resource[] = {{"service.name", c->conf.service_name},
                                              {"service.version", STR(NB_VERSION)},
                                              {"service.instance.id", c->instance}};
    jw_init(w, out);
    jw_object(w);
    jw_karray(w, NAMES[signal][0]);
    jw_object(w);
    jw_kobject(w, "resource");
    write_attributes(w, resource, ARRAY_LEN(resource));
    jw_end(w);
    jw_karray(w, NAMES[signal][1]);
    jw_object(w);
    jw_kobject(w, "scope");
    jw_kcstr(w, "name", "nb");
    jw_end(w);
    jw_karray(w, NAMES[signal][2]);
}
