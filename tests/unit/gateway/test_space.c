/* Workspaces of the gateway: who loses what when access, a login or the workspace ends. */
#include "support/gateway_rig.h"

/* A session with a request in progress, and a stateless request. */
struct busy {
    const char *session;
    struct gw_client *in_session, *stateless;
};

static struct busy begin(struct actor *who)
{
    unsigned before = rig_tools.started;
    gw.who = who;
    struct busy b = {.session = gw_open()};
    b.in_session = gw_legacy(b.session, "tools/call", "{'name':'t__hang'}");
    b.stateless = gw_modern("tools/call", "{'name':'t__hang'}");
    gw_until(rig_tools.started == before + 2);
    return b;
}

static void assert_ended(struct busy b)
{
    gw_until(b.in_session->fd < 0 && b.stateless->fd < 0);
    assert_null(gw_session(b.session));
}

static void assert_alive(struct busy b)
{
    assert_open(b.in_session);
    assert_open(b.stateless);
    assert_non_null(gw_session(b.session));
}

TEST_GATEWAY(a_workspace_is_made_once)
{
    (void)gw_open();
    (void)gw_open();
    assert_ptr_equal(gw.g->spaces.next, gw.g->spaces.prev);
    assert_string_equal(gw_space()->id, RIG_WORKSPACE);
    assert_false(timer_active(&gw.g->expiry)); /* their credentials do not expire */
}

TEST_GATEWAY(a_removed_member_loses_everything_immediately)
{
    struct busy anas = begin(gw.base->ana), bens = begin(gw.base->ben);
    gateway_drop_user(gw.g, STR(RIG_WORKSPACE), STR("usr_ben"));
    assert_int_equal(rig_tools.cancelled, 2);
    assert_ended(bens);
    assert_alive(anas);
}

TEST_GATEWAY(no_workspace_and_no_user_mean_all)
{
    struct busy anas = begin(gw.base->ana), bens = begin(gw.base->ben);
    gateway_drop_user(gw.g, STR("ws_other"), STR_NONE);
    assert_alive(bens);
    gateway_drop_user(gw.g, STR_NONE, STR("usr_ana"));
    assert_ended(anas);
    assert_alive(bens);
    gateway_drop_user(gw.g, STR(RIG_WORKSPACE), STR_NONE);
    assert_ended(bens);
}

TEST_GATEWAY(an_ended_login_ends_what_was_opened_with_it)
{
    struct busy login = begin(
        gw_actor((struct principal){.user_id = STR("usr_ana"), .session_id = STR("ses_1")}, NULL));
    struct busy other = begin(
        gw_actor((struct principal){.user_id = STR("usr_ana"), .session_id = STR("ses_2")}, NULL));
    struct busy token = begin(
        gw_actor((struct principal){.user_id = STR("usr_ana"), .token_id = STR("tok_1")}, NULL));
    gateway_drop_login(gw.g, STR_NONE, STR_NONE); /* names nobody */
    assert_alive(login);
    gateway_drop_login(gw.g, STR("ses_1"), STR_NONE);
    assert_ended(login);
    assert_alive(other);
    gateway_drop_login(gw.g, STR_NONE, STR("tok_1"));
    assert_ended(token);
    assert_alive(other);
}

TEST_GATEWAY(a_workspace_that_closes_ends_everything_in_it)
{
    struct busy anas = begin(gw.base->ana);
    gateway_space_gone(gw.g, gw.base->tools);
    assert_ended(anas);
    assert_true(list_empty(&gw.g->spaces));
    gateway_space_gone(gw.g, gw.base->tools); /* not known any more */
    (void)gw_open();                          /* and made again */
}

TEST_GATEWAY(a_gateway_that_stops_has_no_timers)
{
    struct busy anas = begin(gw.base->ana);
    gateway_stop(gw.g);
    assert_ended(anas);
    assert_false(timer_active(&gw.g->expiry));
    assert_false(timer_active(&gw.g->sweep));
}

TEST_GATEWAY(news_of_unknown_workspaces_are_ignored)
{
    struct registry *other = registry_new(gw.base->loop);
    gateway_bundle_changed(gw.g, other, gw.old, BUNDLE_REMOVED);
    gateway_bundle_notified(gw.g, other, gw.old, STR("notifications/resources/updated"), NULL);
    assert_true(list_empty(&gw.g->spaces));
    registry_free(other);
}

/* ---- requests ---- */

TEST_GATEWAY(freed_requests_are_used_again_without_anything_of_the_last)
{
    (void)gw_reply(gw_modern("tools/call", "{'name':'t__ping','_meta':{'progressToken':'p'}}"));
    assert_int_equal(gw.g->nspare, 1);
    struct gateway_caller who = gw_caller(gw.base->ben);
    struct gw_request *q = gw_request_make(gw_space(), &who, STR("old"));
    assert_int_equal(gw.g->nspare, 0);
    assert_true(str_eq(actor_user(q->actor), STR("usr_ben")));
    assert_true(str_eq(q->source, STR("old")));
    assert_null(q->progress_token);
    assert_null(q->params);
    assert_null(q->out);
    assert_int_equal(q->tool.n, 0);
    assert_int_equal(q->log_level, -1);
    gw_request_free(q);
    assert_int_equal(gw.g->nspare, 1);
}

TEST_GATEWAY(a_large_request_is_not_kept)
{
    struct gateway_caller who = gw_caller(gw.base->ana);
    (void)gw_reply(gw_legacy("", "ping", "{}"));
    struct gw_request *q = gw_request_make(gw_space(), &who, STR_NONE);
    (void)arena_alloc(&q->arena, 1u << 20);
    gw_request_free(q);
    assert_int_equal(gw.g->nspare, 0);
}

TEST_GATEWAY(the_table_of_methods_marks_what_filters_of_tokens_apply_to)
{
    static const char *const FREE[] = {"ping", "logging/setLevel"};
    struct gateway_method m;
    for (size_t i = 0; gateway_method_at(i, &m); i++) {
        bool is_free = false;
        for (size_t k = 0; k < ARRAY_LEN(FREE); k++)
            is_free |= str_eq(m.name, str_from(FREE[k]));
        assert_int_equal(m.is_filtered, !is_free);
    }
}

TEST_GATEWAY(discovery_describes_the_workspace_to_stateless_clients)
{
    assert_like(gw_reply(gw_modern("server/discover", "{}")),
                "{'result':{'resultType':'complete','supportedVersions':['" GW_MODERN "'],"
                "'capabilities':{'tools':{},'resources':{},'prompts':{},'completions':{},"
                "'logging':{},'tasks':null,'extensions':{'" MCP_EXTENSION_TASKS "':{}}},"
                "'instructions':'# new\\nbe kind\\n\\n# old\\nbe kind','cacheScope':'private',"
                "'_meta':{'" META_SERVER_INFO "':{'name':'nimblebrain'}}}}");
}

TEST_GATEWAY(instructions_of_sources_that_a_token_may_not_use_are_left_out)
{
    gw.who = gw_actor((struct principal){.user_id = STR("usr_ana")}, "['old__*']");
    assert_like(gw_reply(gw_modern("server/discover", "{}")),
                "{'result':{'instructions':'# old\\nbe kind'}}");
}
