#include "gateway/metrics.h"
#include "support/unit.h"

static bool has(const struct buf *b, const char *line)
{
    return str_find(buf_str(b), str_from(line), 0) >= 0;
}

TEST(calls_are_counted_by_outcome_and_time)
{
    struct gw_metrics m;
    struct buf b;
    metrics_init(&m);
    buf_init(&b, 1u << 20);
    metrics_add(&m, STR("a__x"), "ok", 400);
    metrics_add(&m, STR("a__x"), "ok", 600);
    metrics_add(&m, STR("a__x"), "tool_error", 40u * 1000 * 1000);
    metrics_write(&m, &b);
    assert_true(has(&b, "nb_mcp_tool_calls_total{tool=\"a__x\",outcome=\"ok\"} 2\n"));
    assert_true(has(&b, "nb_mcp_tool_calls_total{tool=\"a__x\",outcome=\"tool_error\"} 1\n"));
    assert_false(has(&b, "cancelled"));
    assert_true(has(&b, "nb_mcp_tool_seconds_bucket{tool=\"a__x\",le=\"0.0005\"} 1\n"));
    assert_true(has(&b, "nb_mcp_tool_seconds_bucket{tool=\"a__x\",le=\"0.001\"} 2\n"));
    assert_true(has(&b, "nb_mcp_tool_seconds_bucket{tool=\"a__x\",le=\"30\"} 2\n"));
    assert_true(has(&b, "nb_mcp_tool_seconds_bucket{tool=\"a__x\",le=\"+Inf\"} 3\n"));
    assert_true(has(&b, "nb_mcp_tool_seconds_count{tool=\"a__x\"} 3\n"));
    assert_true(has(&b, "nb_mcp_tool_seconds_sum{tool=\"a__x\"} 40.001000\n"));
    buf_done(&b);
    metrics_done(&m);
}

TEST(names_beyond_the_ceiling_share_a_row)
{
    struct gw_metrics m;
    struct buf b;
    char name[32];
    metrics_init(&m);
    buf_init(&b, 16u << 20);
    for (unsigned i = 0; i < METRICS_TOOLS_MAX + 5; i++) {
        snprintf(name, sizeof name, "t__%u", i);
        metrics_add(&m, str_from(name), "ok", 1);
    }
    assert_int_equal(map_len(&m.tools), METRICS_TOOLS_MAX + 1);
    metrics_write(&m, &b);
    assert_true(has(&b, "nb_mcp_tool_calls_total{tool=\"(other)\",outcome=\"ok\"} 5\n"));
    buf_done(&b);
    metrics_done(&m);
}
