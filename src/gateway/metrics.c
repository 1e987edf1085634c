#include "gateway/metrics.h"

#include <assert.h>

#define OTHER "(other)"

static const uint64_t BOUNDS_US[METRICS_BUCKETS] = {
    500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 500000, 1000000, 5000000, 30000000,
};

static const char *const OUTCOMES[] = {"ok", "tool_error", "error", "cancelled"};

struct metrics_tool {
    uint64_t outcomes[ARRAY_LEN(OUTCOMES)];
    uint64_t buckets[METRICS_BUCKETS]; /* not cumulative */
    uint64_t count, sum_us;
};

void metrics_init(struct gw_metrics *m)
{
    map_init(&m->tools);
}

void metrics_done(struct gw_metrics *m)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&m->tools, &i)) != NULL;)
        free(e->value);
    map_done(&m->tools);
}

static struct metrics_tool *row_of(struct gw_metrics *m, str tool)
{
    struct metrics_tool *t = map_get(&m->tools, tool);
    if (!t && map_len(&m->tools) >= METRICS_TOOLS_MAX) {
        tool = STR(OTHER);
        t = map_get(&m->tools, tool);
    }
    if (t)
        return t;
    t = xcalloc(1, sizeof *t);
    map_put(&m->tools, tool, t);
    return t;
}

void metrics_add(struct gw_metrics *m, str tool, const char *outcome, uint64_t took_us)
{
    struct metrics_tool *t = row_of(m, tool);
    ptrdiff_t which = STR_INDEX(str_from(outcome), OUTCOMES);
    assert(which >= 0);
    t->outcomes[which]++;
    t->count++;
    t->sum_us += took_us;
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        if (took_us <= BOUNDS_US[i]) {
            t->buckets[i]++;
            break;
        }
    }
}

/* Names of tools consist of [A-Za-z0-9_-], so nothing needs escaping. */
static void write_counts(const struct gw_metrics *m, struct buf *out)
{
    struct map_entry *e;
    buf_add_lit(out, "# HELP nb_mcp_tool_calls_total Tool calls that came through /mcp.\n"
                     "# TYPE nb_mcp_tool_calls_total counter\n");
    for (size_t i = 0; (e = map_next(&m->tools, &i)) != NULL;) {
        const struct metrics_tool *t = e->value;
        for (size_t k = 0; k < ARRAY_LEN(OUTCOMES); k++) {
            if (t->outcomes[k] > 0)
                buf_printf(out, "nb_mcp_tool_calls_total{tool=\"%s\",outcome=\"%s\"} %llu\n",
                           e->key.p, OUTCOMES[k], (unsigned long long)t->outcomes[k]);
        }
    }
}

static void write_histogram(struct buf *out, const char *name, const struct metrics_tool *t)
{
    uint64_t below = 0;
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        below += t->buckets[i];
        buf_printf(out, "nb_mcp_tool_seconds_bucket{tool=\"%s\",le=\"%g\"} %llu\n", name,
                   (double)BOUNDS_US[i] / 1e6, (unsigned long long)below);
    }
    buf_printf(out,
               "nb_mcp_tool_seconds_bucket{tool=\"%s\",le=\"+Inf\"} %llu\n"
               "nb_mcp_tool_seconds_sum{tool=\"%s\"} %.6f\n"
               "nb_mcp_tool_seconds_count{tool=\"%s\"} %llu\n",
               name, (unsigned long long)t->count, name, (double)t->sum_us / 1e6, name,
               (unsigned long long)t->count);
}

void metrics_write(const struct gw_metrics *m, struct buf *out)
{
    struct map_entry *e;
    write_counts(m, out);
    buf_add_lit(out, "# HELP nb_mcp_tool_seconds How long these calls took.\n"
                     "# TYPE nb_mcp_tool_seconds histogram\n");
    for (size_t i = 0; (e = map_next(&m->tools, &i)) != NULL;)
        write_histogram(out, e->key.p, e->value);
}
