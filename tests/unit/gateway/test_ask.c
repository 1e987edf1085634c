/* Questions of servers to clients with a session, on the session's own connection. */
#include "gateway/upstream/session_connection.h"
#include "support/gateway_rig.h"

#define FORM "{'message':'name?','requestedSchema':{'type':'object'}}"

static const char *session;
static struct gw_client *client;
static struct gw_heard *call;

/* A session whose client can be asked, and a call of it that the server has got. */
static void begin_call(void)
{
    gw.capabilities = GW_ASKABLE;
    session = gw_open();
    client = gw_legacy(session, "tools/call", "{'name':'old__t'}");
    call = gw_heard("tools/call");
}

static void answer_as(const char *id, const char *result)
{
    gw_tell(session, arena_printf(gw.arena, "{'jsonrpc':'2.0','id':%s,'result':%s}", id, result).p);
}

TEST_GATEWAY(a_question_is_sent_on_the_stream_of_its_call_and_the_answer_returns)
{
    begin_call();
    gw_server_asks(call, "s1", "elicitation/create", FORM);
    /* the first event of the stream has only an id */
    assert_like(gw_message(client, 1), "{'id':1,'method':'elicitation/create','params':" FORM "}");
    answer_as("1", "{'action':'accept','content':{'name':'x'}}");
    struct gw_heard *answer = gw_heard("");
    assert_true(str_eq(answer->id, STR("\"s1\"")));
    assert_like(answer->m.result, "{'action':'accept','content':{'name':'x'}}");
    gw_answer(call, "{'content':[]}");
    assert_like(gw_reply(client), "{'result':{'content':[]}}");
    assert_true(list_empty(&gw_session(session)->asks));
}

TEST_GATEWAY(each_kind_of_question_reaches_a_client_that_can_answer_it)
{
    static const struct {
        const char *method, *params;
    } ROWS[] = {
        {"sampling/createMessage", "{'messages':[],'maxTokens':5}"},
        {"elicitation/create", FORM},
        {"roots/list", "{}"},
    };
    begin_call();
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        gw_server_asks(call, ROWS[i].method, ROWS[i].method, ROWS[i].params);
        str want = arena_printf(gw.arena, "{'id':%zu,'method':'%s'}", i + 1, ROWS[i].method);
        assert_like(gw_message(client, i + 1), want.p);
    }
}

TEST_GATEWAY(the_server_learns_the_capabilities_of_the_client)
{
    begin_call();
    struct gw_heard *init = gw_heard("initialize");
    assert_like(init->m.params,
                "{'capabilities':{'sampling':{},'elicitation':{'form':{},'url':{}},'roots':{}}}");
    /* and nothing else that the client declared */
    gw.capabilities = "{'roots':{'listChanged':true},'experimental':{'x':1}}";
    (void)gw_legacy(gw_open(), "tools/call", "{'name':'old__t'}");
    init = gw_heard("initialize");
    assert_like(init->m.params, "{'capabilities':{'roots':{'listChanged':true},'experimental':null,"
                                "'sampling':null}}");
}

TEST_GATEWAY(a_question_that_the_client_cannot_answer_is_refused)
{
    gw.capabilities = "{'roots':{},'elicitation':{'form':{}}}";
    session = gw_open();
    client = gw_legacy(session, "tools/call", "{'name':'old__t'}");
    call = gw_heard("tools/call");
    gw_server_asks(call, "s1", "sampling/createMessage", "{'messages':[]}");
    assert_like(gw_heard("")->m.error, "{'code':-32601}"); /* the method is not declared */
    gw_server_asks(call, "s2", "elicitation/create", "{'mode':'url','url':'https://a'}");
    assert_like(gw_heard("")->m.error, "{'code':-32602}"); /* the mode is not declared */
    assert_true(list_empty(&gw_session(session)->asks));
}

TEST_GATEWAY(what_a_client_can_be_asked_follows_from_its_declaration)
{
    static const struct {
        const char *capabilities;
        bool form, url, sampling, roots;
    } ROWS[] = {
        {"{}", false, false, false, false},
        {"{'elicitation':{}}", true, false, false, false}, /* before modes existed */
        {"{'elicitation':{'form':{}}}", true, false, false, false},
        {"{'elicitation':{'url':{}}}", false, true, false, false},
        {"{'elicitation':{'form':{},'url':{}}}", true, true, false, false},
        {"{'elicitation':true}", false, false, false, false},
        {"{'sampling':{},'roots':{}}", false, false, true, true},
    };
    const struct json *url = gw_json("{'mode':'url'}"), *form = gw_json("{}");
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        const struct json *can = gw_json(ROWS[i].capabilities);
        assert_int_equal(mcp_ask_is_declared(can, MCP_ASK_ELICITATION, form), ROWS[i].form);
        assert_int_equal(mcp_ask_is_declared(can, MCP_ASK_ELICITATION, url), ROWS[i].url);
        assert_int_equal(mcp_ask_is_declared(can, MCP_ASK_SAMPLING, form), ROWS[i].sampling);
        assert_int_equal(mcp_ask_is_declared(can, MCP_ASK_ROOTS, form), ROWS[i].roots);
    }
    assert_false(mcp_ask_is_declared(NULL, MCP_ASK_ROOTS, NULL));
}

TEST_GATEWAY(an_address_to_visit_gets_the_id_that_this_revision_requires)
{
    begin_call();
    gw_server_asks(call, "s1", "elicitation/create", "{'mode':'url','url':'https://a'}");
    const struct json *params = json_get(gw_message(client, 1), "params");
    assert_like(params, "{'mode':'url','url':'https://a'}");
    assert_true(json_get_string(params, "elicitationId").n > 16);
    gw_server_asks(call, "s2", "elicitation/create",
                   "{'mode':'url','url':'https://a','elicitationId':'mine'}");
    assert_like(gw_message(client, 2), "{'params':{'elicitationId':'mine'}}");
}

TEST_GATEWAY(an_error_of_the_client_is_an_error_for_the_server)
{
    begin_call();
    gw_server_asks(call, "s1", "roots/list", "{}");
    (void)gw_message(client, 1);
    gw_tell(session, "{'jsonrpc':'2.0','id':1,'error':{'code':-1,'message':'rejected'}}");
    assert_like(gw_heard("")->m.error, "{'code':-1}");
}

TEST_GATEWAY(only_the_first_answer_with_the_right_id_is_passed_on)
{
    begin_call();
    gw_server_asks(call, "s1", "roots/list", "{}");
    (void)gw_message(client, 1);
    answer_as("2", "{'roots':[2]}");
    answer_as("'1'", "{'roots':['1']}");
    answer_as("1", "{'roots':[1]}");
    answer_as("1", "{'roots':[3]}");
    assert_like(gw_heard("")->m.result, "{'roots':[1]}");
    assert_not_heard("");
}

TEST_GATEWAY(another_session_cannot_answer)
{
    begin_call();
    gw_server_asks(call, "s1", "roots/list", "{}");
    (void)gw_message(client, 1);
    const char *other = gw_open();
    gw_tell(other, "{'jsonrpc':'2.0','id':1,'result':{'roots':[]}}");
    assert_not_heard("");
    assert_false(list_empty(&gw_session(session)->asks));
}

TEST_GATEWAY(a_withdrawn_question_is_cancelled_at_the_client)
{
    begin_call();
    struct gw_client *stream = gw_get(session, "");
    assert_int_equal(gw_status(stream), 200);
    gw_server_asks(call, "s1", "roots/list", "{}");
    (void)gw_message(client, 1);
    gw_server_tells(call, "notifications/cancelled", "{'requestId':'s1'}");
    assert_like(gw_message(stream, 1),
                "{'method':'notifications/cancelled','params':{'requestId':1}}");
    answer_as("1", "{'roots':[]}");
    assert_not_heard("");
}

TEST_GATEWAY(questions_end_with_the_call_that_they_belong_to)
{
    begin_call();
    gw_server_asks(call, "s1", "roots/list", "{}");
    (void)gw_message(client, 1);
    gw_answer(call, "{'content':[]}");
    (void)gw_reply(client);
    assert_true(list_empty(&gw_session(session)->asks));
    /* the connection has told the server; an answer of the client comes too late */
    assert_like(gw_heard("")->m.error, "{'code':-32603}");
    answer_as("1", "{'roots':[]}");
    assert_not_heard("");
}

TEST_GATEWAY(the_end_of_a_session_closes_its_connections)
{
    begin_call();
    gw_server_asks(call, "s1", "roots/list", "{}");
    (void)gw_message(client, 1);
    assert_non_null(call->peer);
    str header = arena_printf(gw.arena, "Mcp-Session-Id: %s\r\n", session);
    assert_int_equal(gw_status(gw_send("DELETE", "/mcp", header.p, STR_NONE)), 204);
    gw_until(!call->peer);
    gw_until(client->fd < 0);
}

TEST_GATEWAY(a_session_has_a_ceiling_of_unanswered_questions)
{
    begin_call();
    for (int i = 0; i < 65; i++)
        gw_server_asks(call, arena_printf(gw.arena, "s%d", i).p, "roots/list", "{}");
    struct gw_heard *refused = gw_heard("");
    assert_true(str_eq(refused->id, STR("\"s64\"")));
    assert_like(refused->m.error, "{'code':-32603}");
    assert_int_equal(gw_session(session)->next_ask, 64);
}

/* ---- the connection of a session ---- */

TEST_GATEWAY(a_session_keeps_its_connection_for_later_calls)
{
    begin_call();
    gw_answer(call, "{'content':[]}");
    (void)gw_reply(client);
    struct peer *first = call->peer;
    (void)gw_legacy(session, "tools/call", "{'name':'old__t'}");
    assert_ptr_equal(gw_heard("tools/call")->peer, first);
    (void)gw_legacy(gw_open(), "tools/call", "{'name':'old__t'}"); /* another session */
    assert_ptr_not_equal(gw_heard("tools/call")->peer, first);
}

TEST_GATEWAY(a_stateless_server_needs_no_connection_per_session)
{
    gw.capabilities = GW_ASKABLE;
    session = gw_open();
    (void)gw_legacy(session, "tools/call", "{'name':'new__t'}");
    (void)gw_heard("tools/call");
    assert_true(list_empty(&gw_session(session)->connections));
}

TEST_GATEWAY(a_server_that_cannot_be_connected_to_fails_the_call)
{
    gw.capabilities = GW_ASKABLE;
    gw.old->is_unreachable = true; /* for new connections */
    client = gw_legacy(gw_open(), "tools/call", "{'name':'old__t'}");
    assert_like(gw_reply(client), "{'result':{'isError':true}}");
    assert_not_heard("tools/call");
}

TEST_GATEWAY(messages_without_a_request_belong_to_the_only_call)
{
    begin_call();
    gw_server_tells(call, "notifications/message", "{'level':'debug','data':'small'}");
    gw_server_tells(call, "notifications/message", "{'level':'error','data':'big'}");
    assert_like(gw_message(client, 1),
                "{'method':'notifications/message','params':{'data':'big'}}");
    struct gw_client *second = gw_legacy(session, "tools/call", "{'name':'old__t'}");
    struct gw_client *stream = gw_get(session, "");
    (void)gw_heard("tools/call");
    gw_server_tells(call, "notifications/elicitation/complete", "{'elicitationId':'e'}");
    assert_like(gw_message(stream, 1), "{'method':'notifications/elicitation/complete'}");
    assert_open(second);
    assert_int_equal(second->got.n, 0);
}

TEST_GATEWAY(changed_roots_and_levels_reach_the_servers_of_a_session)
{
    begin_call();
    assert_like(gw_heard("logging/setLevel")->m.params, "{'level':'info'}"); /* when it opened */
    gw_tell(session, "{'jsonrpc':'2.0','method':'notifications/roots/list_changed'}");
    assert_ptr_equal(gw_heard("notifications/roots/list_changed")->peer, call->peer);
    (void)gw_reply(gw_legacy(session, "logging/setLevel", "{'level':'debug'}"));
    assert_like(gw_heard("logging/setLevel")->m.params, "{'level':'debug'}");
}

TEST_GATEWAY(a_lost_connection_of_a_session_is_opened_again_by_the_next_call)
{
    begin_call();
    peers_lose(0);
    assert_like(gw_reply(client), "{'result':{'isError':true}}");
    assert_true(list_empty(&gw_session(session)->connections));
    client = gw_legacy(session, "tools/call", "{'name':'old__t'}");
    gw_answer(gw_heard("tools/call"), "{'content':[]}");
    assert_like(gw_reply(client), "{'result':{'isError':null}}");
}

TEST_GATEWAY(a_removed_bundle_ends_the_connections_of_sessions)
{
    begin_call();
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_REMOVED);
    assert_like(gw_reply(client), "{'result':{'isError':true}}");
    assert_true(list_empty(&gw_session(session)->connections));
    gw_until(!call->peer);
}
