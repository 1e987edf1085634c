#include <errno.h>

#include "unit/mcp/rig.h"

#define ASK(id, method, params)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"

TEST_WITH(answer_keeps_the_id, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"tools/call\",\"send\":[" ASK(
                    "\"q-1\"", "sampling/createMessage", "{\"maxTokens\":1}") "]}]");
    assert_false(mcp_has_asked(r->client));
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("tools/call")});
    assert_true(rig_until(r, &r->is_asked));
    assert_int_equal(r->asks[0]->kind, MCP_ASK_SAMPLING);
    assert_ptr_equal(r->asks[0]->call, c.call); /* the only one there is */
    assert_int_equal(json_get_int(r->asks[0]->params, "maxTokens", 0), 1);
    assert_true(mcp_has_asked(r->client));
    mcp_ask_answer(r->asks[0], rig_json(r, "{\"role\":\"assistant\"}"));
    rig_hears(r, "{\"jsonrpc\":\"2.0\",\"id\":\"q-1\",\"result\":{\"role\":\"assistant\"}}");
    mcp_cancel(c.call, NULL);
    rig_call_done(&c);
}

TEST_WITH(roots_outside_a_call, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"tools/list\",\"send\":[" ASK(
                    "1", "roots/list",
                    "{}") ","
                          "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{}}]},{\"on\":\"tools/"
                          "call\",\"send\":[" ASK("2", "roots/list", "{}") "]}]");
    struct rig_call c;
    rig_request(r, &c, "tools/list", NULL);
    assert_int_equal(r->nasks, 1);
    assert_false(mcp_has_asked(r->client));
    r->is_asked = false;
    rig_start(r, &c, &(struct mcp_request){.method = STR("tools/call")});
    assert_true(rig_until(r, &r->is_asked));
    assert_true(mcp_has_asked(r->client));
    mcp_cancel(c.call, NULL);
    rig_call_done(&c);
}

TEST_WITH(what_is_not_declared, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"a\",\"send\":[" ASK("1", "odd/method", "{}") "," ASK(
                    "2", "elicitation/create",
                    "{\"mode\":\"url\"}") "," ASK("3", "ping", "{}") ",{\"jsonrpc\":\"2.0\",\"id\":"
                                                                     "\"$id\",\"result\":{}}]}]");
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    rig_hears(r, "\"id\":1,\"error\":{\"code\":-32601");
    rig_hears(r, "\"id\":2,\"error\":{\"code\":-32602");
    rig_hears(r, "\"id\":3,\"result\":{}}");
    assert_int_equal(r->nasks, 0);
    assert_false(mcp_has_asked(r->client)); /* a ping asks nothing */
}

TEST_WITH(two_calls_cannot_be_told_apart, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY
                "{\"on\":\"slow\"},{\"on\":\"a\",\"send\":[" ASK("1", "roots/list", "{}") "]}]");
    struct rig_call first, second;
    rig_start(r, &first, &(struct mcp_request){.method = STR("slow")});
    rig_start(r, &second, &(struct mcp_request){.method = STR("a")});
    assert_true(rig_until(r, &r->is_asked));
    assert_null(r->asks[0]->call);
    mcp_ask_refuse(r->asks[0], -1, "no");
    rig_hears(r, "\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}");
    mcp_cancel(first.call, NULL);
    mcp_cancel(second.call, NULL);
    rig_call_done(&first);
    rig_call_done(&second);
}

TEST_WITH(pings_and_lists_are_asked_nothing, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY
                "{\"on\":\"ping\"},{\"on\":\"tools/list\"},{\"on\":\"a\",\"send\":[" ASK(
                    "1", "roots/list", "{}") "]}]");
    struct rig_call ping, list, call;
    rig_start(r, &ping, &(struct mcp_request){.method = STR("ping")});
    rig_start(r, &call, &(struct mcp_request){.method = STR("a")});
    rig_start(r, &list, &(struct mcp_request){.method = STR("tools/list")});
    assert_true(rig_until(r, &r->is_asked));
    assert_ptr_equal(r->asks[0]->call, call.call);
    struct rig_call *all[] = {&ping, &list, &call};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        mcp_cancel(all[i]->call, NULL);
        rig_call_done(all[i]);
    }
}

TEST_WITH(server_takes_it_back, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r,
             "[" RIG_LEGACY "{\"on\":\"a\",\"send\":[" ASK(
                 "7", "roots/list",
                 "{}") ",{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                       "\"requestId\":\"7\"}},"
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                       "\"requestId\":7}},{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{}}]}]");
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_int_equal(r->nasks, 1);
    assert_int_equal(r->ngone, 1); /* the text "7" is another id */
}

TEST_WITH(end_of_the_call_is_the_end_of_its_questions, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r,
             "[" RIG_LEGACY "{\"on\":\"a\",\"send\":[" ASK(
                 "7", "roots/list", "{}") ",{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{}}]}]");
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_int_equal(r->ngone, 1);
    rig_hears(r, "\"id\":7,\"error\":{\"code\":-32603");
}

TEST_WITH(silence_while_we_are_asked, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(
        r,
        "[" RIG_LEGACY "{\"on\":\"a\",\"send\":[" ASK(
            "7", "roots/list",
            "{}") "]},"
                  "{\"on\":\"(answer)\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]}]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("a"), .timeout_ms = 2000});
    assert_true(rig_until(r, &r->is_asked));
    rig_run(r, 2200);
    assert_false(c.is_done); /* the time is ours, not the server's */
    mcp_ask_answer(r->asks[0], rig_json(r, "{\"roots\":[]}"));
    assert_true(rig_until(r, &c.is_done));
    assert_text(c.result, "{}");
    rig_call_done(&c);
}

static void leave_open(void *ctx, struct mcp_ask *a) {}

TEST_WITH(questions_are_bounded, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct buf script;
    buf_init(&script, 1 << 20);
    buf_add_lit(&script, "[" RIG_LEGACY "{\"on\":\"a\",\"send\":[");
    for (int i = 0; i < 65; i++)
        buf_printf(&script, "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"roots/list\"}",
                   i ? "," : "", i + 100);
    buf_add_lit(&script, "]}]");
    rig_open(r, buf_cstr(&script));
    struct rig_call c = {.r = r};
    struct mcp_call_events ev = {.done = rig_on_done, .ask = leave_open};
    struct mcp_call *call =
        mcp_request(r->client, &(struct mcp_request){.method = STR("a")}, &ev, &c);
    rig_hears(r, "\"id\":164,\"error\":{\"code\":-32603,\"message\":\"too many");
    assert_false(rig_has(&r->heard, "\"id\":163,\"error\""));
    mcp_cancel(call, NULL);
    buf_done(&script);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
