#include "telemetry/otlp.h"

#include <assert.h>
#include <math.h>

#include "base/bytes/base64.h"
#include "base/json/json_framed.h"
#include "base/utf8.h"

#define NS_PER_MS   1000000
#define KEY_MAX     64 /* of nb's own keys */
#define INT64_LEN   20
#define REAL_DIGITS 9 /* amounts are US dollars: a token costs more than 1e-9 */
#define REAL_SCALE  1000000000
#define REAL_MAX    1e6 /* above it, a double has fewer digits */

/* All keys are nb's own, and have nothing to escape. */
static void write_id(struct json_writer *w, const char *key, const uint8_t *id, size_t n)
{
    char text[33];
    hex_encode(text, id, n);
    jw_key_plain(w, str_from(key));
    jw_str(w, str_make(text, 2 * n));
}

static str int64_text(char out[INT64_LEN], int64_t v)
{
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    char *at = out + INT64_LEN;
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (v < 0)
        *--at = '-';
    return str_make(at, (size_t)(out + INT64_LEN - at));
}

static void write_int64(struct json_writer *w, const char *key, int64_t v)
{
    char text[INT64_LEN];
    jw_key_plain(w, str_from(key));
    jw_str(w, int64_text(text, v));
}

/* A batch has thousands of attributes: all around a value is one piece. */
static void write_framed(struct json_writer *w, const char *key, str kind, str value, str after)
{
    static const char BEFORE[] = "{\"key\":\"", BETWEEN[] = "\",\"value\":{";
    char before[sizeof BEFORE + KEY_MAX + sizeof BETWEEN + KEY_MAX];
    size_t n = strlen(key);
    assert(n <= KEY_MAX && kind.n <= KEY_MAX);
    char *at = mempcpy(before, BEFORE, sizeof BEFORE - 1);
    at = mempcpy(at, key, n);
    at = mempcpy(at, BETWEEN, sizeof BETWEEN - 1);
    at = mempcpy(at, kind.p, kind.n);
    jw_framed_str(w, str_make(before, (size_t)(at - before)), value, after);
}

/* A number with up to REAL_DIGITS digits behind its point; printf would need as long as the rest of
 * a span. */
static void write_decimal(struct json_writer *w, double v)
{
    char text[INT64_LEN];
    int64_t scaled = llround(fabs(v) * REAL_SCALE);
    str whole = int64_text(text, scaled / REAL_SCALE);
    char out[1 + INT64_LEN + 1 + REAL_DIGITS], *at = out;
    if (v < 0 && scaled > 0)
        *at++ = '-';
    at = mempcpy(at, whole.p, whole.n);
    int64_t rest = scaled % REAL_SCALE;
    if (rest > 0)
        *at++ = '.';
    for (int64_t place = REAL_SCALE / 10; rest > 0; place /= 10) {
        *at++ = (char)('0' + rest / place);
        rest %= place;
    }
    jw_raw(w, str_make(out, (size_t)(at - out)));
}

static void write_real(struct json_writer *w, const struct otlp_attribute *a)
{
    jw_object(w);
    jw_kcstr(w, "key", a->key);
    jw_kobject(w, "value");
    jw_key(w, "doubleValue");
    if (fabs(a->real) < REAL_MAX)
        write_decimal(w, a->real);
    else
        jw_double(w, a->real);
    jw_end(w);
    jw_end(w);
}

static void write_attribute(struct json_writer *w, const struct otlp_attribute *a)
{
    char digits[INT64_LEN];
    str text = utf8_truncate(a->text, OTLP_TEXT_MAX);
    if (a->is_number)
        write_framed(w, a->key, STR("\"intValue\":"), int64_text(digits, a->number), STR("}}"));
    else if (a->is_real)
        write_real(w, a);
    else if (a->is_list)
        write_framed(w, a->key, STR("\"arrayValue\":{\"values\":[{\"stringValue\":"), text,
                     STR("}]}}}"));
    else
        write_framed(w, a->key, STR("\"stringValue\":"), text, STR("}}"));
}

static void write_attributes(struct json_writer *w, const struct otlp_attribute *all, size_t n)
{
    jw_karray(w, "attributes");
    for (size_t i = 0; i < n; i++)
        if (all[i].is_number || all[i].is_real || all[i].text.n > 0)
            write_attribute(w, &all[i]);
    jw_end(w);
}

void otlp_write_span(struct json_writer *w, const struct otlp_span *s)
{
    jw_object(w);
    write_id(w, "traceId", s->trace, sizeof s->trace);
    write_id(w, "spanId", s->id, sizeof s->id);
    if (s->has_parent)
        write_id(w, "parentSpanId", s->parent, sizeof s->parent);
    jw_kstr(w, "name", utf8_truncate(s->name, OTLP_TEXT_MAX));
    jw_kint(w, "kind", s->kind);
    write_int64(w, "startTimeUnixNano", s->start_ms * NS_PER_MS);
    write_int64(w, "endTimeUnixNano", s->end_ms * NS_PER_MS);
    write_attributes(w, s->attributes, s->nattributes);
    jw_kobject(w, "status");
    if (s->is_error) {
        jw_kint(w, "code", 2);
        jw_kstr_if(w, "message", utf8_truncate(s->message, OTLP_TEXT_MAX));
    }
    jw_end(w);
    jw_end(w);
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
