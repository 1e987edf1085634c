/* Sessions of the older revisions: opening, owners, ceilings, ends. */
#include "gateway/http/session_log.h"
#include "support/gateway_rig.h"

static struct actor *with_credential(const char *user_id, const char *token_id,
                                     const char *session_id, int64_t expires_ms)
{
    return gw_actor((struct principal){.user_id = str_from(user_id),
                                       .token_id = str_from(token_id),
                                       .session_id = str_from(session_id),
                                       .expires_ms = expires_ms},
                    NULL);
}

static int status_of(const char *session)
{
    return gw_status(gw_legacy(session, "ping", "{}"));
}

/* ---- the handshake ---- */

TEST_GATEWAY(initialize_agrees_on_a_revision)
{
    static const struct {
        const char *asked, *answer;
    } ROWS[] = {
        {"2025-11-25", "2025-11-25"}, {"2025-06-18", "2025-06-18"}, {"2025-03-26", "2025-03-26"},
        {"2024-11-05", "2024-11-05"}, {"1999-01-01", "2025-11-25"}, {GW_MODERN, "2025-11-25"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        str params = arena_printf(gw.arena, "{'protocolVersion':'%s'}", ROWS[i].asked);
        str want = arena_printf(gw.arena, "{'result':{'protocolVersion':'%s'}}", ROWS[i].answer);
        assert_like(gw_reply(gw_legacy("", "initialize", params.p)), want.p);
    }
}

TEST_GATEWAY(initialize_describes_the_workspace)
{
    struct gw_client *c = gw_legacy("", "initialize", "{'protocolVersion':'2025-11-25'}");
    assert_like(gw_reply(c),
                "{'result':{'capabilities':{'tools':{'listChanged':true},'resources':{'subscribe':"
                "true,'listChanged':true},'prompts':{'listChanged':true},'completions':{},"
                "'logging':{},'tasks':{'list':{},'cancel':{},'requests':{'tools':{'call':{}}}}},"
                "'instructions':'# new\\nbe kind\\n\\n# old\\nbe kind'}}");
}

TEST_GATEWAY(initialize_at_one_source_describes_that_source)
{
    gw.old->capabilities = gw_json("{'tools':{},'prompts':{}}");
    struct gw_client *c =
        gw_legacy_at("/mcp/old", "", "initialize", "{'protocolVersion':'2025-11-25'}");
    assert_like(gw_reply(c), "{'result':{'instructions':'be kind','capabilities':{'prompts':{},"
                             "'resources':null,'completions':null,'tasks':null}}}");
    /* a server that has not started may turn out to have everything */
    gw.old->capabilities = NULL;
    c = gw_legacy_at("/mcp/old", "", "initialize", "{'protocolVersion':'2025-11-25'}");
    assert_like(gw_reply(c), "{'result':{'instructions':null,'capabilities':{'prompts':{},"
                             "'resources':{},'completions':{}}}}");
}

TEST_GATEWAY(a_failed_handshake_leaves_no_session)
{
    static const char *const PARAMS[] = {"{}", "{'protocolVersion':7}"};
    for (size_t i = 0; i < ARRAY_LEN(PARAMS); i++) {
        struct gw_client *c = gw_legacy("", "initialize", PARAMS[i]);
        assert_like(gw_reply(c), "{'error':{'code':-32600}}");
        gw_settle();
        assert_int_equal(map_len(&gw.g->sessions), 0);
    }
}

TEST_GATEWAY(a_session_is_initialized_once)
{
    struct gw_client *c = gw_legacy(gw_open(), "initialize", "{'protocolVersion':'2025-11-25'}");
    assert_like(gw_reply(c), "{'error':{'message':'This session is already initialized.'}}");
}

/* ---- who may use it ---- */

TEST_GATEWAY(a_session_does_not_exist_for_another_credential)
{
    gw.who = with_credential("usr_ana", "", "ses_1", 0);
    const char *id = gw_open();
    gw.who = gw.base->ben;
    assert_int_equal(status_of(id), 404);
    gw.who = with_credential("usr_ana", "tok_1", "", 0); /* the same person, with a token */
    assert_int_equal(status_of(id), 404);
    assert_int_equal(gw_status(gw_get(id, "")), 404);
    gw.who = with_credential("usr_ana", "", "ses_2", 0); /* the same person, a later login */
    assert_int_equal(status_of(id), 200);
}

TEST_GATEWAY(a_session_belongs_to_the_source_that_it_was_opened_at)
{
    const char *id = gw_open_at("/mcp/old", GW_LEGACY);
    assert_int_equal(gw_status(gw_legacy_at("/mcp/old", id, "ping", "{}")), 200);
    assert_int_equal(gw_status(gw_legacy_at("/mcp", id, "ping", "{}")), 404);
    assert_int_equal(gw_status(gw_legacy_at("/mcp/new", id, "ping", "{}")), 404);
}

/* ---- ends ---- */

TEST_GATEWAY(delete_ends_a_session_and_its_requests)
{
    const char *id = gw_open();
    struct gw_client *stream = gw_get(id, "");
    struct gw_client *call = gw_legacy(id, "tools/call", "{'name':'t__hang'}");
    gw_until(rig_tools.started == 1);
    str header = arena_printf(gw.arena, "Mcp-Session-Id: %s\r\n", id);
    assert_int_equal(gw_status(gw_send("DELETE", "/mcp", header.p, STR_NONE)), 204);
    gw_until(call->fd < 0 && stream->fd < 0);
    assert_int_equal(rig_tools.cancelled, 1);
    assert_int_equal(status_of(id), 404);
    assert_int_equal(gw_status(gw_send("DELETE", "/mcp", header.p, STR_NONE)), 404);
}

TEST_GATEWAY(a_session_that_nobody_uses_ends)
{
    gw_use_limits((struct gateway_limits){.session_ttl_ms = 60000});
    const char *idle = gw_open(), *watched = gw_open(), *busy = gw_open(), *fresh = gw_open();
    struct gw_client *stream = gw_get(watched, "");
    (void)gw_legacy(busy, "tools/call", "{'name':'t__hang'}");
    gw_until(rig_tools.started == 1);
    assert_int_equal(gw_status(stream), 200);
    assert_int_equal(status_of(fresh), 200); /* is the last one used */
    gw_session(idle)->used_ms -= 60000;
    gw_session(watched)->used_ms -= 60000;
    gw_session(busy)->used_ms -= 60000;
    gw_fire(&gw.g->sweep);
    assert_null(gw_session(idle));
    assert_non_null(gw_session(watched));
    assert_non_null(gw_session(busy));
    assert_non_null(gw_session(fresh));
    assert_true(timer_active(&gw.g->sweep)); /* looks again, as long as there are sessions */
}

TEST_GATEWAY(a_session_ends_with_the_login_that_opened_it)
{
    int64_t now = clock_now_ms();
    gw.login_until_ms = 0; /* the login was not refreshed */
    gw.who = with_credential("usr_ana", "", "ses_1", now + 60000);
    const char *ends = gw_open();
    gw.who = with_credential("usr_ben", "tok_1", "", 0); /* a token that does not expire */
    const char *stays = gw_open();
    gw_session(ends)->expires_ms = now - 1;
    gw_fire(&gw.g->expiry);
    assert_null(gw_session(ends));
    assert_non_null(gw_session(stays));
    assert_false(timer_active(&gw.g->expiry)); /* nothing is left that can expire */
    gw.who = with_credential("usr_ana", "", "ses_2", now + 60000);
    (void)gw_open();
    assert_true(timer_active(&gw.g->expiry));
}

TEST_GATEWAY(a_refreshed_login_keeps_its_sessions)
{
    int64_t now = clock_now_ms();
    gw.login_until_ms = now + 60000;
    gw.who = with_credential("usr_ana", "", "ses_1", now + 60000);
    const char *id = gw_open();
    gw_session(id)->expires_ms = now - 1;
    gw_fire(&gw.g->expiry);
    assert_non_null(gw_session(id));
    assert_int_equal(gw_session(id)->expires_ms, gw.login_until_ms);
}

TEST_GATEWAY(with_a_bearer_token_of_a_provider_only_the_stream_ends)
{
    int64_t now = clock_now_ms();
    gw.who = with_credential("usr_ana", "", "", now + 60000);
    const char *id = gw_open();
    struct gw_client *stream = gw_get(id, "");
    assert_int_equal(gw_status(stream), 200);
    gw_session(id)->expires_ms = now - 1;
    gw_fire(&gw.g->expiry);
    gw_until(stream->fd < 0);
    assert_non_null(gw_session(id));
    /* the client returns with a new token */
    gw.who = with_credential("usr_ana", "", "", now + 120000);
    assert_int_equal(status_of(id), 200);
    assert_int_equal(gw_session(id)->expires_ms, now + 120000);
    assert_true(timer_active(&gw.g->expiry));
}

/* ---- ceilings ---- */

TEST_GATEWAY(a_users_oldest_idle_session_makes_room)
{
    gw_use_limits((struct gateway_limits){.sessions_per_user = 2});
    const char *first = gw_open(), *second = gw_open();
    assert_int_equal(status_of(first), 200); /* now the second is the oldest */
    const char *third = gw_open();
    assert_null(gw_session(second));
    assert_non_null(gw_session(first));
    assert_non_null(gw_session(third));
}

TEST_GATEWAY(busy_sessions_are_not_ended_for_a_new_one)
{
    gw_use_limits((struct gateway_limits){.sessions_per_user = 1});
    (void)gw_legacy(gw_open(), "tools/call", "{'name':'t__slow'}");
    gw_until(rig_tools.started == 1);
    struct gw_client *c = gw_legacy("", "initialize", "{'protocolVersion':'2025-11-25'}");
    assert_int_equal(gw_status(c), 429);
    assert_like(gw_reply(c), "{'error':{'code':-32000}}");
    assert_int_equal(gw_status(gw_send("GET", "/sse", "", STR_NONE)), 429);
    gw.who = gw.base->ben; /* other users have places of their own */
    (void)gw_open();
    tools_release();
}

TEST_GATEWAY(the_ceiling_of_all_sessions_ends_the_callers_own_first)
{
    gw_use_limits((struct gateway_limits){.sessions = 2});
    const char *bens, *anas;
    gw.who = gw.base->ben;
    bens = gw_open(); /* least recently used */
    gw.who = gw.base->ana;
    anas = gw_open();
    (void)gw_open();
    assert_null(gw_session(anas));
    assert_non_null(gw_session(bens));
    gw.who = gw.base->cyd; /* has none: the least recently used one ends */
    (void)gw_open();
    assert_null(gw_session(bens));
    assert_int_equal(map_len(&gw.g->sessions), 2);
}

TEST_GATEWAY(a_session_has_a_ceiling_of_requests_in_progress)
{
    const char *id = gw_open();
    gw_session(id)->nrequests = GW_SESSION_REQUESTS;
    struct gw_client *c = gw_legacy(id, "ping", "{}");
    assert_like(gw_reply(c), "{'error':{'code':-32603}}");
    gw_session(id)->nrequests = 0;
    assert_like(gw_reply(gw_legacy(id, "ping", "{}")), "{'result':{}}");
    assert_int_equal(gw_session(id)->nrequests, 0);
}

/* ---- messages ---- */

TEST_GATEWAY(a_cancelled_request_is_not_answered)
{
    const char *id = gw_open();
    struct gw_client *c = gw_legacy(id, "tools/call", "{'name':'t__hang'}");
    gw_until(rig_tools.started == 1);
    gw_tell(id, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':77}}");
    assert_open(c);
    gw_tell(id, arena_printf(gw.arena,
                             "{'jsonrpc':'2.0','method':'notifications/cancelled','params':"
                             "{'requestId':%d}}",
                             c->id)
                    .p);
    gw_until(c->fd < 0);
    assert_int_equal(rig_tools.cancelled, 1);
    assert_int_equal(gw_messages(c), 1); /* the event that has only an id */
    assert_int_equal(gw_field(c, "data", 0).n, 0);
    assert_int_equal(gw_session(id)->nrequests, 0);
}

TEST_GATEWAY(an_id_is_compared_with_its_type)
{
    const char *id = gw_open();
    struct gw_client *c = gw_legacy(id, "tools/call", "{'name':'t__slow'}");
    gw_until(rig_tools.started == 1);
    gw_tell(id, arena_printf(gw.arena,
                             "{'jsonrpc':'2.0','method':'notifications/cancelled','params':"
                             "{'requestId':'%d'}}",
                             c->id)
                    .p);
    tools_release();
    assert_like(gw_reply(c), "{'result':{'content':[{'text':'pong'}]}}");
}

TEST_GATEWAY(the_log_level_of_a_session_is_one_that_exists)
{
    const char *id = gw_open();
    assert_like(gw_reply(gw_legacy(id, "logging/setLevel", "{'level':'loud'}")),
                "{'error':{'code':-32602}}");
    assert_int_equal(gw_session(id)->log_level, protocol_log_level(STR("info")));
    assert_like(gw_reply(gw_legacy(id, "logging/setLevel", "{'level':'error'}")), "{'result':{}}");
    assert_int_equal(gw_session(id)->log_level, protocol_log_level(STR("error")));
}

TEST_GATEWAY(a_client_of_the_older_revisions_survives_its_lost_connection)
{
    const char *id = gw_open();
    struct gw_client *c = gw_legacy(id, "tools/call", "{'name':'t__slow'}");
    gw_until(rig_tools.started == 1);
    gw_leave(c);
    assert_int_equal(rig_tools.cancelled, 0); /* only a notification cancels */
    tools_release();
    gw_until(gw_session(id)->nrequests == 0);
}

TEST_GATEWAY(a_stateless_client_cancels_by_disconnecting)
{
    struct gw_client *c = gw_modern("tools/call", "{'name':'t__hang'}");
    gw_until(rig_tools.started == 1);
    gw_leave(c);
    gw_until(rig_tools.cancelled == 1);
}
