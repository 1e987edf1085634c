#include <errno.h>

#include "base/clock.h"
#include "unit/mcp/rig.h"

TEST_WITH(message_of_100_mb, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    const char *argv[] = {"/bin/sh", "-c",
                          "head -c 104857600 /dev/zero | tr '\\0' x; echo; sleep 5", NULL};
    const char *env[] = {"PATH=/usr/bin:/bin", NULL};
    struct mcp_dial dial = {
        .wire = MCP_WIRE_STDIO, .child = {.argv = argv, .env = env}, .era = MCP_ERA_LEGACY};
    rig_dial(r, &dial);
    assert_true(r->is_closed);
    assert_int_equal(r->closed.code, -EMSGSIZE);
    assert_non_null(strstr(r->closed.msg, "16 MiB"));
}

TEST_WITH(large_answer_fails_only_its_call, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    /* Answers the handshake, then one call with 40 MB, then the next one properly. */
    const char *argv[] = {
        "/bin/sh", "-c",
        "read -r a; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{}}}'; read -r b; read -r c;"
        "printf '{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"x\":\"';"
        "head -c 41943040 /dev/zero | tr '\\0' x; echo '\"}}';"
        "read -r d; echo '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}'; read -r e",
        NULL};
    const char *env[] = {"PATH=/usr/bin:/bin", NULL};
    rig_dial(r, &(struct mcp_dial){.wire = MCP_WIRE_STDIO,
                                   .child = {.argv = argv, .env = env},
                                   .era = MCP_ERA_LEGACY});
    assert_true(r->is_ready);
    struct rig_call c;
    rig_request(r, &c, "big", NULL);
    assert_int_equal(c.err.code, -EMSGSIZE);
    rig_request(r, &c, "small", NULL);
    assert_text(c.result, "{}");
}

TEST_WITH(server_that_does_not_stop, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    const char *argv[] = {
        "/bin/sh", "-c",
        "trap '' TERM; read -r a; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"
        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}'; while :; do sleep 1; done",
        NULL};
    const char *env[] = {"PATH=/usr/bin:/bin", NULL};
    rig_dial(r, &(struct mcp_dial){.wire = MCP_WIRE_STDIO,
                                   .child = {.argv = argv, .env = env},
                                   .era = MCP_ERA_LEGACY});
    assert_true(r->is_ready);
    uint64_t began = clock_mono_ms();
    mcp_close(r->client);
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, 0);
    assert_true(clock_mono_ms() - began < 60000);
}

TEST_WITH(server_that_does_not_read, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    const char *argv[] = {"/bin/sh", "-c",
                          "read -r a; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"
                          "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}'; sleep 30",
                          NULL};
    const char *env[] = {"PATH=/usr/bin:/bin", NULL};
    rig_dial(r, &(struct mcp_dial){.wire = MCP_WIRE_STDIO,
                                   .child = {.argv = argv, .env = env, .write_max = 1u << 20},
                                   .era = MCP_ERA_LEGACY});
    char *text = xrealloc(NULL, 900u << 10);
    memset(text, 'x', 900u << 10);
    struct json_member m = {STR("big"), json_of_str((str){text, 900u << 10})};
    struct json params = {.type = JSON_OBJECT, .len = 1, .members = &m};
    struct rig_call c[3];
    for (int i = 0; i < 3; i++)
        rig_start(r, &c[i], &(struct mcp_request){.method = STR("a"), .params = &params});
    assert_true(rig_until(r, &c[2].is_done));
    assert_int_equal(c[2].err.code, -ENOBUFS);
    assert_non_null(strstr(c[2].err.msg, "does not read"));
    free(text);
    mcp_abort(r->client);
    r->client = NULL;
    for (int i = 0; i < 3; i++)
        rig_call_done(&c[i]);
}

TEST_WITH(carriage_returns, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[{\"on\":\"initialize\",\"send\":[\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":2,"
                "\\\"result\\\":{\\\"protocolVersion\\\":\\\"2025-11-25\\\"}}\\r\"]}]");
    assert_true(r->is_ready);
    assert_false(rig_has(&r->heard, "not a JSON-RPC message"));
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
