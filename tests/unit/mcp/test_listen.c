#include "unit/mcp/rig.h"

#define ACK                                                                                        \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{"    \
    "\"notifications\":{},\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"$id\"}}}"
#define CHANGED                                                                                    \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":{" \
    "\"io.modelcontextprotocol/subscriptionId\":\"$id\"}}}"

static struct mcp_dial quick(struct rig *r, const char *script)
{
    struct mcp_dial dial = rig_child(r, script);
    dial.reconnect.initial_ms = 30;
    return dial;
}

TEST_WITH(what_the_server_offers_is_asked_for, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN "{\"on\":\"subscriptions/listen\",\"send\":[" ACK "," CHANGED "]}]");
    rig_hears(r, "\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{"
                 "\"toolsListChanged\":true}");
    for (int i = 0; i < 100 && r->notified.n == 0; i++)
        rig_run(r, 10);
    assert_true(str_starts(buf_str(&r->notified), STR("notifications/tools/list_changed")));
    assert_false(rig_has(&r->notified, "acknowledged"));
}

TEST_WITH(subscriptions_open_it_anew, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN "{\"on\":\"subscriptions/listen\",\"send\":[" ACK "]}]");
    rig_hears(r, "subscriptions/listen");
    struct rig_call c;
    rig_request(r, &c, "resources/subscribe", "{\"uri\":\"a://b\"}");
    assert_text(c.result, "{}");
    rig_hears(r, "\"resourceSubscriptions\":[\"a://b\"]");
    rig_hears(r, "notifications/cancelled"); /* of the first */
    buf_clear(&r->heard);
    rig_request(r, &c, "resources/unsubscribe", "{\"uri\":\"a://b\"}");
    rig_hears(r, "{\"notifications\":{\"toolsListChanged\":true},");
    assert_false(rig_has(&r->heard, "\"resources/"));
}

TEST_WITH(end_is_followed_by_another, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct mcp_dial dial =
        quick(r, "[" RIG_MODERN "{\"on\":\"subscriptions/listen\",\"times\":1,\"send\":[" ACK
                 ",{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"resultType\":\"complete\"}}]},"
                 "{\"on\":\"subscriptions/listen\",\"send\":[" ACK "]}]");
    rig_dial(r, &dial);
    for (int i = 0; i < 200 && r->notified.n == 0; i++)
        rig_run(r, 10);
    /* What may have been missed between the two. */
    assert_true(rig_has(&r->notified, "notifications/tools/list_changed"));
}

TEST_WITH(end_by_notification, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct mcp_dial dial =
        quick(r, "[" RIG_MODERN "{\"on\":\"subscriptions/listen\",\"times\":1,\"send\":[" ACK
                 ",{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                 "\"requestId\":\"$id\"}}]},{\"on\":\"subscriptions/listen\",\"send\":[" ACK "]}]");
    rig_dial(r, &dial);
    for (int i = 0; i < 200 && r->notified.n == 0; i++)
        rig_run(r, 10);
    assert_true(rig_has(&r->notified, "notifications/tools/list_changed"));
}

TEST_WITH(server_without_it, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct mcp_dial dial = quick(r, "[" RIG_MODERN "{\"on\":\"x\"}]");
    rig_dial(r, &dial);
    rig_hears(r, "the server does not send change notifications: no");
    buf_clear(&r->heard);
    rig_run(r, 200);
    assert_false(rig_has(&r->heard, "subscriptions/listen"));
    assert_false(r->is_closed);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
