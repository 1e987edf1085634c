#include <errno.h>

#include "unit/mcp/rig.h"

#define CREATED                                                                                    \
    RIG_RESULT("tools/call", "{\"resultType\":\"task\",\"taskId\":\"t1\",\"status\":\"working\","  \
                             "\"pollIntervalMs\":20,\"ttlMs\":null}")
#define STATE_ONCE(state)                                                                          \
    "{\"on\":\"tasks/get\",\"times\":1,\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{" \
    "\"resultType\":\"complete\",\"taskId\":\"t1\"," state "}}]},"

TEST_WITH(modern_task, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN CREATED "," STATE_ONCE("\"status\":\"working\"") STATE_ONCE(
                    "\"status\":\"completed\",\"result\":{\"content\":[5]}") "{\"on\":\"x\"}]");
    struct rig_call c;
    rig_request(r, &c, "tools/call", NULL);
    assert_text(c.result, "{\"content\":[5]}");
}

TEST_WITH(modern_questions_are_put_once, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN CREATED
                "," STATE_ONCE("\"status\":\"input_required\",\"inputRequests\":{\"k\":{\"method\":"
                               "\"roots/list\"}}")
                    RIG_RESULT("tasks/update", "{\"resultType\":\"complete\"}") "," STATE_ONCE(
                        "\"status\":\"input_required\",\"inputRequests\":{\"k\":{\"method\":"
                        "\"roots/list\"}}")
                        STATE_ONCE("\"status\":\"completed\",\"result\":{}") "{\"on\":\"x\"}]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("tools/call")});
    assert_true(rig_until(r, &r->is_asked));
    mcp_ask_answer(r->asks[0], rig_json(r, "{\"roots\":[]}"));
    assert_true(rig_until(r, &c.is_done));
    assert_text(c.result, "{}");
    assert_int_equal(r->nasks, 1);
    assert_true(rig_has(&r->heard, "{\"taskId\":\"t1\",\"inputResponses\":{\"k\":{\"roots\":[]}}"));
    rig_call_done(&c);
}

TEST_WITH(modern_ends, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN CREATED
                "," STATE_ONCE("\"status\":\"failed\",\"error\":{\"code\":-5,\"message\":\"m\"}")
                    STATE_ONCE("\"status\":\"cancelled\"")
                        STATE_ONCE("\"status\":\"lost\"") "{\"on\":\"x\"}]");
    struct rig_call c;
    rig_request(r, &c, "tools/call", NULL);
    assert_text(c.error, "{\"code\":-5,\"message\":\"m\"}");
    rig_request(r, &c, "tools/call", NULL);
    assert_int_equal(c.err.code, -ECANCELED);
    rig_request(r, &c, "tools/call", NULL);
    assert_int_equal(c.err.code, -EPROTO);
}

TEST_WITH(cancelled_task_is_cancelled_there, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN CREATED "," RIG_RESULT("tasks/get", "{\"status\":\"working\"}") "]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("tools/call")});
    rig_hears(r, "tasks/get");
    mcp_cancel(c.call, NULL);
    rig_hears(r, "\"method\":\"tasks/cancel\",\"params\":{\"taskId\":\"t1\"");
    rig_call_done(&c);
    buf_clear(&r->heard);
    rig_start(r, &c, &(struct mcp_request){.method = STR("tools/call"), .max_ms = 2000});
    assert_true(rig_until(r, &c.is_done));
    assert_int_equal(c.err.code, -ETIMEDOUT);
    rig_hears(r, "tasks/cancel");
    rig_call_done(&c);
}

#define LEGACY_TASK                                                                                \
    RIG_RESULT("tools/call", "{\"task\":{\"taskId\":\"t2\",\"status\":\"working\","                \
                             "\"pollInterval\":20}}")

TEST_WITH(legacy_task, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY RIG_RESULT(
                    "tools/list", "{\"tools\":[{\"name\":\"t\",\"execution\":{"
                                  "\"taskSupport\":\"required\"}},{\"name\":\"u\"}"
                                  "]}") "," LEGACY_TASK ","
                                        "{\"on\":\"tasks/"
                                        "get\",\"times\":1,\"send\":[{\"jsonrpc\":"
                                        "\"2.0\",\"id\":\"$id\","
                                        "\"result\":{\"taskId\":\"t2\",\"status\":"
                                        "\"working\"}}]}," RIG_RESULT(
                                            "tasks/get", "{\"taskId\":\"t2\",\"status\":"
                                                         "\"completed\"}") "," RIG_RESULT("task"
                                                                                          "s/"
                                                                                          "resu"
                                                                                          "lt",
                                                                                          "{\"c"
                                                                                          "onte"
                                                                                          "nt\""
                                                                                          ":[1]"
                                                                                          "}") "]");
    struct rig_call c;
    rig_request(r, &c, "tools/list", NULL);
    rig_request(r, &c, "tools/call", "{\"name\":\"t\"}");
    assert_text(c.result, "{\"content\":[1]}");
    assert_true(rig_has(&r->heard, "{\"name\":\"t\",\"task\":{}}"));
    rig_request(r, &c, "tools/call", "{\"name\":\"u\"}"); /* not asked for: an answer like others */
    assert_true(str_starts(c.result, STR("{\"task\":")));
}

TEST_WITH(task_without_a_name, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN RIG_RESULT("tools/call", "{\"resultType\":\"task\"}") "]");
    struct rig_call c;
    rig_request(r, &c, "tools/call", NULL);
    assert_int_equal(c.err.code, -EPROTO);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
