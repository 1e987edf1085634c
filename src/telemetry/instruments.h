/* instruments.h - how long things take and how much they use, as histograms: for Prometheus
 * (GET /metrics) and for a collector of OpenTelemetry.
 *
 * An instrument has a series for each combination of its labels. Labels are routes, status codes,
 * models and kinds of operations: names from tables of nb and its settings, never text that a
 * client or a model may choose. Series beyond INSTRUMENT_SERIES_MAX are counted as one
 * (otel.metric.overflow). Loop thread only. */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"

#define INSTRUMENT_LABELS_MAX 4
#define INSTRUMENT_SERIES_MAX 512 /* of one instrument */

enum instrument {
    INSTRUMENT_REQUESTS,   /* seconds: method, route, status */
    INSTRUMENT_OPERATIONS, /* seconds: operation, provider, model, error */
    INSTRUMENT_TOKENS,     /* operation, provider, model, kind of tokens */
    INSTRUMENT_COST,       /* US dollars: operation, provider, model */
    INSTRUMENT_COUNT,
};

struct instruments;

struct instruments *instruments_new(void);
/* One value; the labels in the order above, an empty one is left out. */
void instruments_add(struct instruments *x, enum instrument which,
                     const str labels[INSTRUMENT_LABELS_MAX], double value);
void instruments_write_prometheus(const struct instruments *x, struct buf *out);
void instruments_write_otlp(const struct instruments *x, struct json_writer *w); /* the metrics */
void instruments_free(struct instruments *x);                                    /* accepts NULL */
