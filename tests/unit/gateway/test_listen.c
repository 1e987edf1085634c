/* Notifications of changes: to sessions, and on streams of stateless clients. */
#include "gateway/methods/listen.h"
#include "support/gateway_rig.h"

/* Opens a stream for these changes and waits for its acknowledgement. */
static struct gw_client *listen_to(const char *notifications)
{
    struct gw_client *c = gw_modern(
        "subscriptions/listen", arena_printf(gw.arena, "{'notifications':%s}", notifications).p);
    assert_like(gw_message(c, 0), "{'method':'notifications/subscriptions/acknowledged'}");
    return c;
}

static struct gw_client *watch_session(const char *session)
{
    struct gw_client *c = gw_get(session, "");
    assert_int_equal(gw_status(c), 200);
    return c;
}

/* The server of "new" announces that x://one has changed. */
static void update(const char *uri)
{
    gateway_bundle_notified(gw.g, gw.base->tools, gw.new, STR("notifications/resources/updated"),
                            gw_json(arena_printf(gw.arena, "{'uri':'%s','x':1}", uri).p));
}

/* ---- lists ---- */

TEST_GATEWAY(a_changed_list_is_announced_to_every_session_once)
{
    struct gw_client *c = watch_session(gw_open());
    registry_changed(gw.base->tools, &rig_tools.source);
    registry_changed(gw.base->tools, &rig_tools.source);
    assert_like(gw_message(c, 1), "{'method':'notifications/tools/list_changed'}");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_RESOURCES);
    assert_like(gw_message(c, 2), "{'method':'notifications/resources/list_changed'}");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_PROMPTS);
    assert_like(gw_message(c, 3), "{'method':'notifications/prompts/list_changed'}");
    gw_settle();
    assert_int_equal(gw_messages(c), 4);
}

TEST_GATEWAY(a_stateless_client_is_told_what_it_asked_for)
{
    struct gw_client *c = listen_to("{'promptsListChanged':true,'toolsListChanged':false}");
    assert_like(gw_message(c, 0),
                arena_printf(gw.arena,
                             "{'params':{'notifications':{'promptsListChanged':true,"
                             "'toolsListChanged':null},'_meta':{'" META_SUBSCRIPTION "':%d}}}",
                             c->id)
                    .p);
    registry_changed(gw.base->tools, &rig_tools.source);
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_PROMPTS);
    assert_like(gw_message(c, 1),
                arena_printf(gw.arena,
                             "{'method':'notifications/prompts/list_changed','params':{'_meta':{"
                             "'" META_SUBSCRIPTION "':%d}}}",
                             c->id)
                    .p);
    gw_settle();
    assert_int_equal(gw_messages(c), 2);
}

TEST_GATEWAY(a_subscription_names_its_notifications)
{
    assert_like(gw_reply(gw_modern("subscriptions/listen", "{}")), "{'error':{'code':-32602}}");
    assert_like(gw_reply(gw_modern("subscriptions/listen", "{'notifications':[]}")),
                "{'error':{'code':-32602}}");
    assert_true(list_empty(&gw_space()->listens));
}

TEST_GATEWAY(a_client_that_accepts_only_json_cannot_subscribe)
{
    struct gw_client *c = gw_modern_at("/mcp", "Accept: application/json\r\n",
                                       "subscriptions/listen", "{'notifications':{}}");
    assert_like(gw_reply(c), "{'error':{'code':-32603}}");
    assert_true(list_empty(&gw_space()->listens));
}

TEST_GATEWAY(a_subscription_ends_with_its_stream)
{
    struct gw_client *c = listen_to("{'toolsListChanged':true}");
    assert_false(list_empty(&gw_space()->listens));
    gw_leave(c);
    gw_until(list_empty(&gw_space()->listens));
    assert_true(list_empty(&gw_space()->requests));
}

TEST_GATEWAY(a_subscription_ends_when_its_credential_expires)
{
    struct principal p = {.user_id = STR("usr_ana"),
                          .session_id = STR("ses_1"),
                          .expires_ms = clock_now_ms() + 60000};
    struct gw_client *stays = listen_to("{'toolsListChanged':true}");
    gw.who = gw_actor(p, NULL);
    struct gw_client *ends = listen_to("{'toolsListChanged':true}");
    gw.login_until_ms = 0;
    gw_listen_expire(gw_space(), p.expires_ms - 1);
    assert_open(ends);
    gw_listen_expire(gw_space(), p.expires_ms);
    gw_until(ends->fd < 0);
    assert_open(stays);
}

/* ---- resources ---- */

TEST_GATEWAY(a_resource_is_subscribed_to_once_for_all_clients)
{
    const char *a = gw_open(), *b = gw_open();
    assert_like(gw_reply(gw_legacy(a, "resources/subscribe", "{'uri':'x://one'}")),
                "{'result':{}}");
    assert_like(gw_reply(gw_legacy(a, "resources/subscribe", "{'uri':'x://one'}")),
                "{'result':{}}");
    (void)gw_reply(gw_legacy(b, "resources/subscribe", "{'uri':'x://one'}"));
    assert_like(gw_heard("subscriptions/listen")->m.params,
                "{'notifications':{'resourceSubscriptions':['x://one']}}");
    assert_int_equal(map_len(&gw_space()->watches), 1);
    struct gw_client *sa = watch_session(a), *sb = watch_session(b);
    update("x://one");
    update("x://two");
    assert_like(gw_message(sa, 1),
                "{'method':'notifications/resources/updated','params':{'uri':'x://one','x':null}}");
    (void)gw_message(sb, 1);
    gw_settle();
    assert_int_equal(gw_messages(sa), 2);
}

TEST_GATEWAY(the_last_client_that_leaves_ends_the_subscription_at_the_server)
{
    gw_serve("new", "resources/list", "{'resources':[]}");
    gw_serve("old", "resources/list", "{'resources':[{'uri':'o://1','name':'o'}]}");
    const char *a = gw_open(), *b = gw_open();
    (void)gw_reply(gw_legacy(a, "resources/subscribe", "{'uri':'o://1'}"));
    (void)gw_reply(gw_legacy(b, "resources/subscribe", "{'uri':'o://1'}"));
    assert_like(gw_heard("resources/subscribe")->m.params, "{'uri':'o://1'}");
    (void)gw_reply(gw_legacy(a, "resources/unsubscribe", "{'uri':'o://1'}"));
    (void)gw_reply(gw_legacy(a, "resources/unsubscribe", "{'uri':'o://1'}")); /* has none */
    assert_not_heard("resources/unsubscribe");
    gw_session_end(gw_session(b));
    assert_like(gw_heard("resources/unsubscribe")->m.params, "{'uri':'o://1'}");
    assert_int_equal(map_len(&gw_space()->watches), 0);
}

TEST_GATEWAY(a_resource_that_no_server_has_cannot_be_subscribed_to)
{
    const char *session = gw_open();
    assert_like(gw_reply(gw_legacy(session, "resources/subscribe", "{'uri':'none://'}")),
                "{'error':{'code':-32002}}");
    assert_like(gw_reply(gw_legacy(session, "resources/subscribe", "{}")),
                "{'error':{'code':-32602}}");
    assert_int_equal(map_len(&gw_space()->watches), 0);
}

TEST_GATEWAY(a_session_has_a_ceiling_of_watched_resources)
{
    const char *session = gw_open();
    gw_session(session)->nwatches = GW_SESSION_WATCHES;
    assert_like(gw_reply(gw_legacy(session, "resources/subscribe", "{'uri':'x://one'}")),
                "{'error':{'code':-32603}}");
    gw_session(session)->nwatches = 0;
    assert_like(gw_reply(gw_legacy(session, "resources/subscribe", "{'uri':'x://one'}")),
                "{'result':{}}");
}

TEST_GATEWAY(a_stream_watches_the_resources_that_exist)
{
    struct gw_client *c = listen_to("{'resourceSubscriptions':['x://one','none://',7]}");
    assert_like(gw_message(c, 0),
                "{'params':{'notifications':{'resourceSubscriptions':['x://one']}}}");
    update("x://one");
    assert_like(gw_message(c, 1),
                "{'method':'notifications/resources/updated','params':{'uri':'x://one'}}");
    gw_leave(c);
    gw_until(map_len(&gw_space()->watches) == 0);
}

TEST_GATEWAY(an_update_of_another_bundle_with_the_same_address_is_not_announced)
{
    struct gw_client *c = listen_to("{'resourceSubscriptions':['x://one']}");
    gateway_bundle_notified(gw.g, gw.base->tools, gw.old, STR("notifications/resources/updated"),
                            gw_json("{'uri':'x://one'}"));
    gateway_bundle_notified(gw.g, gw.base->tools, gw.new, STR("notifications/other"),
                            gw_json("{'uri':'x://one'}"));
    gw_settle();
    assert_int_equal(gw_messages(c), 1);
}

TEST_GATEWAY(a_restarted_server_is_subscribed_to_again)
{
    gw_serve("new", "resources/list", "{'resources':[]}");
    gw_serve("old", "resources/list", "{'resources':[{'uri':'o://1','name':'o'}]}");
    (void)listen_to("{'resourceSubscriptions':['o://1']}");
    (void)gw_heard("resources/subscribe");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_STATE);
    assert_like(gw_heard("resources/subscribe")->m.params, "{'uri':'o://1'}");
}

TEST_GATEWAY(a_subscription_survives_a_removed_bundle_without_notifications)
{
    struct gw_client *c = listen_to("{'resourceSubscriptions':['x://one']}");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.new, BUNDLE_REMOVED);
    assert_int_equal(map_len(&gw_space()->watches), 0);
    assert_open(c);
    gw_leave(c); /* frees the watch without a message to the server */
    assert_true(list_empty(&gw_space()->listens));
}

TEST_GATEWAY(a_client_may_leave_while_its_resources_are_looked_for)
{
    gw_serve("new", "resources/list", "{'resources':[{'uri':'n://1','name':'n'}]}");
    gw_serve("old", "resources/list", NULL);
    struct gw_client *c =
        gw_modern("subscriptions/listen",
                  "{'notifications':{'toolsListChanged':true,'resourceSubscriptions':['o://1']}}");
    (void)gw_heard("resources/list");
    gw_until(!list_empty(&gw_space()->listens));
    gw_leave(c);
    gw_until(list_empty(&gw_space()->listens));
    assert_true(list_empty(&gw_space()->requests));
    registry_changed(gw.base->tools, &rig_tools.source);
    gw_settle();
}

/* The first address is watched already, the second is looked for in the templates. */
TEST_GATEWAY(a_client_that_leaves_during_the_search_ends_its_other_subscriptions)
{
    gw_serve("new", "resources/templates/list", NULL);
    struct gw_client *c = gw_modern(
        "subscriptions/listen", "{'notifications':{'resourceSubscriptions':['x://one','none://']}}");
    (void)gw_heard("resources/templates/list");
    assert_int_equal(map_len(&gw_space()->watches), 1);
    gw_leave(c);
    gw_until(list_empty(&gw_space()->listens));
    assert_int_equal(map_len(&gw_space()->watches), 0);
}
