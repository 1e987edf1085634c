/* metrics.h - counts the calls of each tool by result, and measures their duration.
 *
 * At most METRICS_TOOLS_MAX names have rows of their own; the others share one row. Loop thread
 * only. */
#pragma once

#include "base/buf.h"
#include "base/map.h"

#define METRICS_TOOLS_MAX 1000
#define METRICS_BUCKETS   12

struct gw_metrics {
    struct map tools; /* name -> struct metrics_tool */
};

void metrics_init(struct gw_metrics *m);
void metrics_done(struct gw_metrics *m);
void metrics_add(struct gw_metrics *m, str tool, const char *outcome, uint64_t took_us);
void metrics_write(const struct gw_metrics *m, struct buf *out); /* Prometheus text */
