#include <errno.h>

#include "unit/mcp/rig.h"

TEST_WITH(error_is_an_answer, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"x\"}]");
    struct rig_call c;
    rig_request(r, &c, "no/such", NULL);
    assert_text(c.error, "{\"code\":-32601,\"message\":\"no\"}");
}

TEST_WITH(modern_result_types, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r,
             "[" RIG_MODERN RIG_RESULT("a", "{\"resultType\":\"complete\",\"n\":1}") "," RIG_RESULT(
                 "b", "{\"n\":2}") "," RIG_RESULT("c", "{\"resultType\":\"odd\"}") "]");
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_text(c.result, "{\"resultType\":\"complete\",\"n\":1}");
    rig_request(r, &c, "b", NULL); /* absent is complete */
    assert_text(c.result, "{\"n\":2}");
    rig_request(r, &c, "c", NULL);
    assert_int_equal(c.err.code, -EPROTO);
}

TEST_WITH(raw_answers_come_as_they_are, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN RIG_RESULT("tools/call", "{\"resultType\":\"input_required\","
                                                        "\"requestState\":\"s\"}") "]");
    struct rig_call c;
    rig_start(r, &c,
              &(struct mcp_request){.method = STR("tools/call"),
                                    .is_raw = true,
                                    .capabilities = rig_json(r, "{\"roots\":{}}")});
    assert_true(rig_until(r, &c.is_done));
    assert_text(c.result, "{\"resultType\":\"input_required\",\"requestState\":\"s\"}");
    /* Only what the one it is made for can do. */
    assert_true(rig_has(&r->heard, "clientCapabilities\":{\"roots\":{}}"));
    rig_call_done(&c);
}

TEST_WITH(tasks_are_declared_unless_raw, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN RIG_RESULT("a", "{}") "]");
    struct rig_call c;
    buf_clear(&r->heard);
    rig_request(r, &c, "a", NULL);
    rig_hears(r, "io.modelcontextprotocol/tasks");
}

TEST_WITH(methods_that_the_modern_era_lacks, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN RIG_RESULT("a", "{}") "]");
    struct rig_call c;
    rig_request(r, &c, "ping", NULL);
    assert_true(c.result.n > 0);
    rig_request(r, &c, "logging/setLevel", "{\"level\":\"info\"}");
    assert_text(c.result, "{}");
    rig_request(r, &c, "a", NULL);
    assert_true(rig_has(&r->heard, "io.modelcontextprotocol/logLevel\":\"info\""));
    assert_false(rig_has(&r->heard, "\"ping\""));
    assert_false(rig_has(&r->heard, "setLevel"));
}

TEST_WITH(request_on_a_closed_connection, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"x\"}]");
    mcp_close(r->client);
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("x")});
    assert_true(rig_until(r, &c.is_done));
    assert_true(c.err.code == -ENOTCONN || c.err.code == -ECANCELED);
    rig_call_done(&c);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
