#include "mcp/protocol.h"
#include "support/unit.h"

static void eras(void **state)
{
    assert_int_equal(protocol_era(STR("2024-11-05")), MCP_ERA_LEGACY);
    assert_int_equal(protocol_era(STR(MCP_REVISION_BATCH)), MCP_ERA_LEGACY);
    assert_int_equal(protocol_era(STR("2025-06-18")), MCP_ERA_LEGACY);
    assert_int_equal(protocol_era(STR(MCP_REVISION_LEGACY)), MCP_ERA_LEGACY);
    assert_int_equal(protocol_era(STR(MCP_REVISION_MODERN)), MCP_ERA_MODERN);
    assert_int_equal(protocol_era(STR("2026-07-2")), MCP_ERA_UNKNOWN);
    assert_int_equal(protocol_era(STR_NONE), MCP_ERA_UNKNOWN);
}

static void methods(void **state)
{
    assert_string_equal(protocol_name_member(STR("tools/call")), "name");
    assert_string_equal(protocol_name_member(STR("resources/read")), "uri");
    assert_string_equal(protocol_name_member(STR("tasks/get")), "taskId");
    assert_null(protocol_name_member(STR("tools/list")));
    assert_true(protocol_may_need_input(STR("prompts/get")));
    assert_false(protocol_may_need_input(STR("tasks/get")));
    assert_false(protocol_may_need_input(STR("tools/list")));
}

static void modern_errors(void **state)
{
    assert_true(protocol_is_modern_error(-32020));
    assert_true(protocol_is_modern_error(-32022));
    assert_false(protocol_is_modern_error(-32000));
    assert_false(protocol_is_modern_error(-32601));
}

static void log_levels_are_ordered(void **state)
{
    assert_int_equal(protocol_log_level(STR("debug")), 0);
    assert_int_equal(protocol_log_level(STR("emergency")), 7);
    assert_true(protocol_log_level(STR("notice")) < protocol_log_level(STR("warning")));
    assert_int_equal(protocol_log_level(STR("Debug")), -1);
    assert_int_equal(protocol_log_level(STR_NONE), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eras),
        cmocka_unit_test(methods),
        cmocka_unit_test(modern_errors),
        cmocka_unit_test(log_levels_are_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
