#include <errno.h>

#include "unit/mcp/rig.h"

#define ECHO RIG_RESULT("tools/call", "{\"content\":[]}")

TEST_WITH(lines_that_are_no_messages, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(
        r,
        "[{\"on\":\"(start)\",\"send\":[\"Welcome!\",\"\",\"{\\\"level\\\":30}\"]}," RIG_LEGACY ECHO
        "]");
    assert_true(r->is_ready);
    assert_true(rig_has(&r->heard, "not a JSON-RPC message: Welcome!"));
    assert_true(rig_has(&r->heard, "not a JSON-RPC message: {\"level\":30}"));
    struct rig_call c;
    rig_request(r, &c, "tools/call", "{}");
    assert_text(c.result, "{\"content\":[]}");
}

TEST_WITH(nothing_but_noise, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct buf script;
    buf_init(&script, 1 << 20);
    buf_add_lit(&script, "[" RIG_LEGACY "{\"on\":\"noise\",\"send\":[");
    for (int i = 0; i < 1000; i++)
        buf_add_lit(&script, i ? ",\"x\"" : "\"x\"");
    buf_add_lit(&script, "]}]");
    rig_open(r, buf_cstr(&script));
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("noise")});
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, -EPROTO);
    assert_true(c.is_done); /* answered before the end */
    assert_int_equal(c.err.code, -EPROTO);
    rig_call_done(&c);
    buf_done(&script);
}

TEST_WITH(malformed_answer_fails_its_request, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"a\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\","
                "\"result\":5}]},{\"on\":\"b\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\"}]}]");
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_int_equal(c.err.code, -EPROTO);
    rig_request(r, &c, "b", NULL);
    assert_int_equal(c.err.code, -EPROTO);
}

TEST_WITH(answers_to_nobody_are_dropped, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"a\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":999,"
                "\"result\":{\"n\":1}},{\"jsonrpc\":\"2.0\",\"id\":\"3\",\"result\":{\"n\":2}},"
                "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"n\":3}},"
                "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"n\":4}}]}]");
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_text(c.result, "{\"n\":3}");
    rig_run(r, 50);
}

TEST_WITH(batch_of_one_revision, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r,
             "[{\"on\":\"initialize\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{"
             "\"protocolVersion\":\"2025-03-26\",\"capabilities\":{}}}]},{\"on\":\"a\",\"send\":["
             "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},"
             "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{}}]]}]");
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_text(c.result, "{}");
    assert_true(rig_has(&r->notified, "notifications/x"));
}

TEST_WITH(unknown_fields_survive, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY RIG_RESULT("a", "{\"n\":1.50,\"big\":12345678901234567890,"
                                               "\"x-y\":[null,{\"\":0}]}") "]");
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_text(c.result, "{\"n\":1.50,\"big\":12345678901234567890,\"x-y\":[null,{\"\":0}]}");
}

TEST_WITH(log_messages_find_their_call, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"a\",\"send\":["
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":"
                "\"debug\",\"data\":1}},{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
                "\"params\":{\"level\":\"error\",\"data\":2}},"
                "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{}}]}]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("a"), .log_level = STR("warning")});
    assert_true(rig_until(r, &c.is_done));
    assert_text(buf_str(&c.logged), "{\"level\":\"error\",\"data\":2}");
    rig_call_done(&c);
    assert_true(
        rig_has(&r->heard, "\"method\":\"logging/setLevel\",\"params\":{\"level\":\"warning\"}"));
    rig_request(r, &c, "a", NULL); /* wants none: the host hears them */
    assert_true(rig_has(&r->notified, "notifications/message {\"level\":\"debug\",\"data\":1}"));
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
