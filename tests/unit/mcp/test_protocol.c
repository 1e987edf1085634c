#include "mcp/protocol.h"
#include "support/unit.h"

TEST(eras)
{
    assert_int_equal(protocol_era(STR("2024-11-05")), MCP_ERA_LEGACY);
    assert_int_equal(protocol_era(STR(MCP_REVISION_BATCH)), MCP_ERA_LEGACY);
    assert_int_equal(protocol_era(STR("2025-06-18")), MCP_ERA_LEGACY);
    assert_int_equal(protocol_era(STR(MCP_REVISION_LEGACY)), MCP_ERA_LEGACY);
    assert_int_equal(protocol_era(STR(MCP_REVISION_MODERN)), MCP_ERA_MODERN);
    assert_int_equal(protocol_era(STR("2026-07-2")), MCP_ERA_UNKNOWN);
    assert_int_equal(protocol_era(STR_NONE), MCP_ERA_UNKNOWN);
}

TEST(methods)
{
    assert_string_equal(protocol_name_member(STR("tools/call")), "name");
    assert_string_equal(protocol_name_member(STR("resources/read")), "uri");
    assert_string_equal(protocol_name_member(STR("tasks/get")), "taskId");
    assert_null(protocol_name_member(STR("tools/list")));
    assert_true(protocol_may_need_input(STR("prompts/get")));
    assert_false(protocol_may_need_input(STR("tasks/get")));
    assert_false(protocol_may_need_input(STR("tools/list")));
}

TEST(modern_errors)
{
    assert_true(protocol_is_modern_error(-32020));
    assert_true(protocol_is_modern_error(-32022));
    assert_false(protocol_is_modern_error(-32000));
    assert_false(protocol_is_modern_error(-32601));
}

TEST(log_levels_are_ordered)
{
    assert_int_equal(protocol_log_level(STR("debug")), 0);
    assert_int_equal(protocol_log_level(STR("emergency")), 7);
    assert_true(protocol_log_level(STR("notice")) < protocol_log_level(STR("warning")));
    assert_int_equal(protocol_log_level(STR("Debug")), -1);
    assert_int_equal(protocol_log_level(STR_NONE), -1);
}
