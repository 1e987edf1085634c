/* otlp.h - spans and histograms in the JSON encoding of OpenTelemetry's protocol (OTLP 1.x): ids
 * are hexadecimal, 64-bit integers are strings, enumerations are numbers. Pure. */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"
#include "telemetry/collector.h"

enum otlp_kind { OTLP_INTERNAL = 1, OTLP_CLIENT = 3 };

struct otlp_attribute {
    const char *key;
    str text;       /* or, when it is empty: */
    int64_t number; /* or, when is_list: */
    bool is_number, is_list;
    double real; /* or, when is_real */
    bool is_real;
};

#define OTLP_TEXT_MAX 1024 /* bytes of an attribute; the rest is cut */

struct otlp_span {
    uint8_t trace[16], id[8], parent[8];
    bool has_parent;
    str name;
    enum otlp_kind kind;
    int64_t start_ms, end_ms;
    const struct otlp_attribute *attributes; /* those with an empty text are left out */
    size_t nattributes;
    bool is_error;
    str message; /* of the error; may be empty */
};

void otlp_write_span(struct json_writer *w, const struct otlp_span *s); /* one object */

/* Values since start_ms in classes: `counts` has one more than `bounds`, for those above. */
struct otlp_point {
    const struct otlp_attribute *attributes;
    size_t nattributes;
    int64_t start_ms, now_ms;
    const uint64_t *counts;
    const double *bounds;
    size_t nbounds;
    uint64_t count;
    double sum;
};

void otlp_begin_metric(struct json_writer *w, const char *name, const char *unit, const char *help);
void otlp_write_point(struct json_writer *w, const struct otlp_point *p);
void otlp_end_metric(struct json_writer *w);

/* Begins the body of a request: spans or metrics follow, then jw_close. */
enum otlp_signal { OTLP_SPANS, OTLP_METRICS };
void otlp_begin(struct json_writer *w, struct buf *out, enum otlp_signal signal,
                const struct otlp_collector *c);
