#include <errno.h>

#include "unit/mcp/rig.h"

TEST_WITH(handshake, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"x\"}]");
    assert_true(r->is_ready);
    assert_int_equal(mcp_era(r->client), MCP_ERA_LEGACY);
    assert_text(mcp_version(r->client), "2025-11-25");
    assert_text(mcp_instructions(r->client), "be kind");
    assert_text(json_get_string(mcp_server_info(r->client), "name"), "rig");
    assert_non_null(json_get(mcp_server_capabilities(r->client), "tools"));
    assert_true(mcp_pid(r->client) > 0);
    rig_hears(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_true(rig_has(&r->heard, "\"method\":\"server/discover\""));
}

TEST_WITH(stateless_server, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN "{\"on\":\"x\"}]");
    assert_true(r->is_ready);
    assert_int_equal(mcp_era(r->client), MCP_ERA_MODERN);
    assert_text(mcp_version(r->client), "2026-07-28");
    rig_run(r, 100);
    assert_false(rig_has(&r->heard, "initialize"));
}

TEST_WITH(version_is_tried_again, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[{\"on\":\"server/discover\",\"times\":1,\"send\":[{\"jsonrpc\":\"2.0\",\"id\":"
                "\"$id\",\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{\"supported\":["
                "\"2026-07-28\"],\"requested\":\"x\"}}}]}," RIG_MODERN "{\"on\":\"x\"}]");
    assert_true(r->is_ready);
    assert_int_equal(mcp_era(r->client), MCP_ERA_MODERN);
}

TEST_WITH(no_version_in_common, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[{\"on\":\"server/discover\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\","
                "\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{\"supported\":["
                "\"2099-01-01\"]}}}]}]");
    assert_true(r->is_closed);
    assert_int_equal(r->closed.code, -EPROTO);
    assert_non_null(strstr(r->closed.msg, "no MCP protocol version"));
}

TEST_WITH(unknown_revision_ends_it, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_RESULT("initialize", "{\"protocolVersion\":\"1999-01-01\","
                                             "\"capabilities\":{}}") "]");
    assert_true(r->is_closed);
    assert_non_null(strstr(r->closed.msg, "1999-01-01"));
}

/* Some servers end themselves over any first message but "initialize". */
TEST_WITH(server_that_dies_over_the_probe, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[{\"on\":\"server/discover\",\"exit\":1}," RIG_LEGACY "{\"on\":\"x\"}]");
    assert_true(r->is_ready);
    assert_int_equal(mcp_era(r->client), MCP_ERA_LEGACY);
}

TEST_WITH(server_that_dies_always, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[{\"on\":\"*\",\"exit\":7}]");
    assert_true(r->is_closed);
    assert_int_equal(r->closed.code, -ECONNRESET);
    assert_non_null(strstr(r->closed.msg, "status 7"));
}

/* The answer to server/discover comes when the handshake is under way: the child started slowly. */
#define LATE                                                                                       \
    "{\"on\":\"server/discover\",\"times\":1},{\"on\":\"initialize\",\"send\":["                   \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\","                       \
    "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},\"ttlMs\":0,"          \
    "\"cacheScope\":\"public\"}},{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{"                 \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"                          \
    "\"serverInfo\":{\"name\":\"rig\",\"version\":\"1\"}}}]},"

TEST_WITH(slow_server_of_both_eras_is_modern, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" LATE RIG_MODERN "{\"on\":\"x\"}]");
    assert_true(r->is_ready);
    assert_int_equal(mcp_era(r->client), MCP_ERA_MODERN);
    assert_false(rig_has(&r->heard, "notifications/initialized"));
}

TEST_WITH(slow_server_that_has_begun_a_session_keeps_it, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" LATE "{\"on\":\"x\"}]"); /* refuses the second server/discover */
    assert_true(r->is_ready);
    assert_int_equal(mcp_era(r->client), MCP_ERA_LEGACY);
    rig_hears(r, "notifications/initialized");
}

TEST_WITH(slow_server_that_ignores_the_second_probe_keeps_its_session, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" LATE "{\"on\":\"server/discover\"}]");
    assert_true(r->is_ready);
    assert_int_equal(mcp_era(r->client), MCP_ERA_LEGACY);
}

TEST_WITH(silence_is_bounded, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct mcp_dial dial = rig_child(r, "[{\"on\":\"*\"}]");
    dial.connect_timeout_ms = 300;
    rig_dial(r, &dial);
    assert_true(r->is_closed);
    assert_int_equal(r->closed.code, -ETIMEDOUT);
}

TEST_WITH(no_such_program, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    const char *argv[] = {"/no/such/program", NULL};
    rig_dial(r, &(struct mcp_dial){.wire = MCP_WIRE_STDIO, .child = {.argv = argv}});
    assert_true(r->is_closed);
    assert_int_equal(r->closed.code, -ENOENT);
}

TEST_WITH(remembered_era_skips_the_probe, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct mcp_dial dial = rig_child(r, "[" RIG_LEGACY "{\"on\":\"x\"}]");
    dial.era = MCP_ERA_LEGACY;
    rig_dial(r, &dial);
    assert_true(r->is_ready);
    rig_hears(r, "notifications/initialized");
    assert_false(rig_has(&r->heard, "server/discover"));
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
