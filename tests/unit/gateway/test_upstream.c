/* Requests on their way to a bundle: what the server gets, what the client gets back, and what
 * happens when one of the two disappears. */
#include "gateway/upstream/upstream.h"
#include "support/gateway_rig.h"

static void assert_nothing_in_progress(void)
{
    assert_true(list_empty(&gw_space()->ups));
    assert_true(list_empty(&gw_space()->requests));
}

/* ---- results and errors between the eras ---- */

TEST_GATEWAY(a_result_is_passed_on_in_the_form_of_the_clients_era)
{
    static const char RESULT[] =
        "{'content':[{'type':'text','text':'x'}],'structuredContent':[1],"
        "'resultType':'complete','ttlMs':5,'cacheScope':'public',"
        "'unknown':{'kept':true},'_meta':{'a':1,'" META_SERVER_INFO "':{'name':'server'}}}";
    struct gw_client *c = gw_modern("tools/call", "{'name':'new__t'}");
    gw_answer(gw_heard("tools/call"), RESULT);
    assert_like(gw_reply(c), "{'result':{'structuredContent':[1],'ttlMs':5,'unknown':{'kept':true},"
                             "'_meta':{'a':1,'" META_SERVER_INFO "':{'name':'nimblebrain'}}}}");
    c = gw_legacy(gw_open(), "tools/call", "{'name':'new__t'}");
    gw_answer(gw_heard("tools/call"), RESULT);
    assert_like(gw_reply(c),
                "{'result':{'content':[{'text':'x'}],'structuredContent':null,'resultType':null,"
                "'ttlMs':null,'cacheScope':null,'unknown':{'kept':true},'_meta':{'a':1,"
                "'" META_SERVER_INFO "':null}}}");
}

TEST_GATEWAY(an_error_of_a_server_is_passed_on_with_its_data)
{
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t'}");
    gw_fail(gw_heard("tools/call"), "{'code':-32099,'message':'no','data':{'why':[1,2]}}");
    assert_int_equal(gw_status(c), 200);
    assert_like(gw_reply(c), "{'error':{'code':-32099,'message':'no','data':{'why':[1,2]}}}");
}

TEST_GATEWAY(a_missing_resource_has_the_code_of_the_clients_era)
{
    struct gw_client *c = gw_modern_at("/mcp/old", "", "resources/read", "{'uri':'x://none'}");
    gw_fail(gw_heard("resources/read"), "{'code':-32002,'message':'gone'}");
    assert_like(gw_reply(c),
                "{'error':{'code':-32602,'message':'gone','data':{'uri':'x://none'}}}");
    c = gw_legacy_at("/mcp/new", gw_open_at("/mcp/new", GW_LEGACY), "resources/read",
                     "{'uri':'x://none'}");
    gw_fail(gw_heard("resources/read"), "{'code':-32602,'message':'gone'}");
    assert_like(gw_reply(c), "{'error':{'code':-32002,'data':{'uri':'x://none'}}}");
    /* between parties of one era, a code is what it was */
    c = gw_modern_at("/mcp/new", "", "resources/read", "{'uri':'x://none'}");
    gw_fail(gw_heard("resources/read"), "{'code':-32602,'message':'gone'}");
    assert_like(gw_reply(c), "{'error':{'code':-32602,'data':null}}");
}

TEST_GATEWAY(a_capability_that_an_older_client_cannot_declare_is_a_failed_tool)
{
    str error =
        arena_printf(gw.arena, "{'code':%d,'message':'needs sampling'}", MCP_MISSING_CAPABILITY);
    struct gw_client *c = gw_legacy(gw_open(), "tools/call", "{'name':'new__t'}");
    gw_fail(gw_heard("tools/call"), error.p);
    assert_like(gw_reply(c), "{'result':{'isError':true}}");
    c = gw_modern("tools/call", "{'name':'new__t'}");
    gw_fail(gw_heard("tools/call"), error.p);
    assert_int_equal(gw_status(c), 400);
    assert_like(gw_reply(c), "{'error':{'message':'needs sampling'}}");
}

/* ---- before the result ---- */

TEST_GATEWAY(progress_of_a_server_has_the_token_of_the_client)
{
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t','_meta':{'progressToken':7}}");
    struct gw_heard *h = gw_heard("tools/call");
    str token = json_to_str(gw.arena, json_get(json_get(h->m.params, "_meta"), "progressToken"));
    gw_server_tells(
        h, "notifications/progress",
        arena_printf(gw.arena, "{'progressToken':%.*s,'progress':1,'x':2}", STR_ARG(token)).p);
    gw_answer(h, "{'content':[]}");
    assert_like(gw_reply(c), "{'result':{}}");
    assert_int_equal(gw_messages(c), 2);
    assert_like(gw_message(c, 0), "{'method':'notifications/progress','params':{'progressToken':7,"
                                  "'progress':1,'x':2}}");
}

TEST_GATEWAY(a_server_is_not_asked_for_progress_that_no_client_wants)
{
    (void)gw_modern("tools/call", "{'name':'old__t'}");
    struct gw_heard *h = gw_heard("tools/call");
    assert_null(json_get(json_get(h->m.params, "_meta"), "progressToken"));
    gw_answer(h, "{'content':[]}");
    gw_settle();
}

TEST_GATEWAY(log_messages_reach_stateless_clients_that_named_a_level)
{
    static const char MESSAGE[] = "{'level':'%s','data':'%s'}";
    struct gw_client *c =
        gw_modern("tools/call", "{'name':'new__t','_meta':{'" META_LOG_LEVEL "':'warning'}}");
    struct gw_heard *h = gw_heard("tools/call");
    assert_like(h->m.params, "{'_meta':{'" META_LOG_LEVEL "':'warning'}}");
    gw_server_tells(h, "notifications/message", arena_printf(gw.arena, MESSAGE, "info", "small").p);
    gw_server_tells(h, "notifications/message", arena_printf(gw.arena, MESSAGE, "error", "big").p);
    gw_answer(h, "{'resultType':'complete','content':[]}");
    assert_like(gw_reply(c), "{'result':{}}");
    assert_int_equal(gw_messages(c), 2);
    assert_like(gw_message(c, 0), "{'method':'notifications/message','params':{'data':'big'}}");
}

/* ---- which connection ---- */

TEST_GATEWAY(clients_that_cannot_be_asked_share_the_connection_of_the_bundle)
{
    struct gw_client *a = gw_modern("tools/call", "{'name':'old__t'}");
    struct gw_client *b = gw_legacy(gw_open(), "tools/call", "{'name':'old__t'}");
    struct gw_heard *first = gw_heard("tools/call"), *second = gw_heard("tools/call");
    assert_ptr_equal(first->peer, second->peer);
    assert_string_equal(gw.old->asked_as, "usr_ana");
    gw_answer(second, "{'content':[{'text':'2'}]}");
    gw_answer(first, "{'content':[{'text':'1'}]}");
    (void)gw_reply(a);
    (void)gw_reply(b);
    assert_nothing_in_progress();
}

TEST_GATEWAY(a_server_with_accounts_of_people_is_asked_as_the_person)
{
    gw.old->is_per_person = true;
    gw.who = gw.base->ben;
    gw.capabilities = GW_ASKABLE; /* would have a connection of its own otherwise */
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t'}");
    struct gw_heard *h = gw_heard("tools/call");
    assert_string_equal(gw.old->asked_as, "usr_ben");
    assert_true(list_empty(&gw_space()->suspended));
    assert_int_equal(map_len(&gw_space()->pools), 0);
    gw_answer(h, "{'content':[]}");
    (void)gw_reply(c);
}

TEST_GATEWAY(a_question_on_the_shared_connection_is_refused)
{
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t'}");
    struct gw_heard *h = gw_heard("tools/call");
    gw_server_asks(h, "q", "elicitation/create", "{'message':'who?'}");
    assert_like(gw_heard("")->m.error, "{'code':-32601}");
    gw_answer(h, "{'content':[]}");
    assert_like(gw_reply(c), "{'result':{}}");
}

/* ---- ends ---- */

TEST_GATEWAY(a_cancelled_call_is_cancelled_at_the_server)
{
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t'}");
    struct gw_heard *h = gw_heard("tools/call");
    gw_leave(c);
    struct gw_heard *told = gw_heard("notifications/cancelled");
    assert_like(told->m.params, arena_printf(gw.arena, "{'requestId':%.*s}", STR_ARG(h->id)).p);
    gw_answer(h, "{'content':[]}"); /* too late */
    gw_settle();
    assert_nothing_in_progress();
}

TEST_GATEWAY(a_lost_server_is_a_failed_tool_and_an_error_of_other_methods)
{
    struct gw_client *call = gw_modern("tools/call", "{'name':'old__t'}");
    struct gw_client *get = gw_modern_at("/mcp/old", "", "prompts/get", "{'name':'p'}");
    (void)gw_heard("tools/call");
    (void)gw_heard("prompts/get");
    peers_lose(0);
    assert_like(gw_reply(call), "{'result':{'isError':true,'content':[{'text':'The server old did "
                                "not answer.'}]}}");
    assert_like(gw_reply(get),
                "{'error':{'code':-32603,'message':'The server old did not answer.'}}");
    assert_nothing_in_progress();
}

TEST_GATEWAY(a_removed_bundle_fails_its_calls_and_no_others)
{
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t'}");
    struct gw_client *other = gw_modern("tools/call", "{'name':'new__t'}");
    (void)gw_heard("tools/call");
    (void)gw_heard("tools/call");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_REMOVED);
    assert_like(gw_reply(c), "{'result':{'isError':true}}");
    assert_open(other);
}

TEST_GATEWAY(a_result_beyond_the_ceiling_of_messages_is_an_error)
{
    size_t n = GW_MESSAGE_MAX - 200;
    char *big = arena_alloc(gw.arena, n + 1);
    memset(big, 'x', n);
    big[n] = 0;
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t'}");
    /* fits as the server sends it, and not with what the gateway adds */
    gw_answer(gw_heard("tools/call"),
              arena_printf(gw.arena, "{'content':[{'type':'text','text':'%s'}]}", big).p);
    assert_like(gw_reply(c), "{'error':{'code':-32603,'message':'The response is too large.'}}");
    c = gw_modern("tools/call", "{'name':'t__ping'}");
    assert_like(gw_reply(c), "{'result':{'content':[{'text':'pong'}]}}");
}
