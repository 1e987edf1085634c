#include <errno.h>

#include "unit/mcp/rig.h"

#define ASKED(more)                                                                                \
    "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\\\"1\":{\"method\":\"roots/list\"," \
    "\"params\":{}}}" more "}"

#define FIRST(result)                                                                              \
    "{\"on\":\"tools/call\",\"times\":1,\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\","            \
    "\"result\":" result "}]},"

TEST_WITH(answers_and_state_go_back, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN FIRST(ASKED(",\"requestState\":\"a\\u0001\\/\xc3\xbc\""))
                    RIG_RESULT("tools/call", "{\"ok\":true}") "]");
    struct rig_call c;
    rig_start(r, &c,
              &(struct mcp_request){.method = STR("tools/call"),
                                    .params = rig_json(r, "{\"name\":\"t\"}")});
    assert_true(rig_until(r, &r->is_asked));
    assert_ptr_equal(r->asks[0]->call, c.call);
    mcp_ask_answer(r->asks[0], rig_json(r, "{\"roots\":[1]}"));
    assert_true(rig_until(r, &c.is_done));
    assert_text(c.result, "{\"ok\":true}");
    assert_true(rig_has(&r->heard, "\"params\":{\"name\":\"t\",\"inputResponses\":{\"k\\\"1\":"
                                   "{\"roots\":[1]}},\"requestState\":\"a\\u0001/\xc3\xbc\""));
    rig_call_done(&c);
}

TEST_WITH(state_alone_is_repeated, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN FIRST("{\"resultType\":\"input_required\",\"requestState\":\"s\"}")
                    RIG_RESULT("tools/call", "{}") "]");
    struct rig_call c;
    rig_request(r, &c, "tools/call", "{\"name\":\"t\"}");
    assert_text(c.result, "{}");
    assert_true(rig_has(&r->heard, "{\"name\":\"t\",\"requestState\":\"s\""));
    assert_false(rig_has(&r->heard, "inputResponses"));
}

TEST_WITH(refusal_is_the_error, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN RIG_RESULT("tools/call", ASKED("")) "]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("tools/call")});
    assert_true(rig_until(r, &r->is_asked));
    mcp_ask_refuse(r->asks[0], -1, "never");
    assert_true(rig_until(r, &c.is_done));
    assert_text(c.error, "{\"code\":-1,\"message\":\"never\"}");
    rig_call_done(&c);
}

TEST_WITH(what_was_not_offered, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(
        r,
        "[" RIG_MODERN FIRST("{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{"
                             "\"method\":\"secrets/list\"}}}")
            FIRST("{\"resultType\":\"input_required\"}") RIG_RESULT(
                "tools/call",
                "{\"resultType\":\"input_required\",\"inputRequests\":{"
                "\"k\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\"}}}}") "]");
    struct rig_call c;
    for (int i = 0; i < 3; i++) {
        rig_request(r, &c, "tools/call", NULL);
        assert_int_equal(c.err.code, -EPROTO);
    }
    assert_int_equal(r->nasks, 0);
}

static void answer_at_once(void *ctx, struct mcp_ask *a)
{
    struct json roots = {.type = JSON_OBJECT};
    mcp_ask_answer(a, &roots);
}

TEST_WITH(rounds_are_bounded, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN RIG_RESULT("tools/call", ASKED("")) "]");
    struct rig_call c = {.r = r};
    struct mcp_call_events ev = {.done = rig_on_done, .ask = answer_at_once};
    mcp_request(r->client, &(struct mcp_request){.method = STR("tools/call")}, &ev, &c);
    assert_true(rig_until(r, &c.is_done));
    assert_int_equal(c.err.code, -EPROTO);
    assert_non_null(strstr(c.err.msg, "32 rounds"));
    assert_int_equal(r->nasks, 0); /* the call itself was asked */
}

TEST_WITH(cancel_while_waiting, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN RIG_RESULT("tools/call", ASKED("")) "]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("tools/call")});
    assert_true(rig_until(r, &r->is_asked));
    mcp_cancel(c.call, NULL);
    assert_int_equal(r->ngone, 1);
    rig_call_done(&c);
}

TEST_WITH(nobody_answers, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN RIG_RESULT("tools/call", ASKED("")) "]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("tools/call"), .max_ms = 2000});
    assert_true(rig_until(r, &c.is_done));
    assert_int_equal(c.err.code, -ETIMEDOUT);
    assert_int_equal(r->ngone, 1);
    rig_call_done(&c);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
