/* tools/list and tools/call: which tools a caller has, under which names, and how calls end. */
#include "support/gateway_rig.h"
#include "tools/registry_impl.h"

/* The names of a result of tools/list, sorted as they came, with spaces. */
static const char *names_in(const struct json *reply)
{
    const struct json *tools = json_get(json_get(reply, "result"), "tools");
    struct buf b;
    buf_init(&b, 1u << 16);
    for (uint32_t i = 0; json_is(tools, JSON_ARRAY) && i < tools->len; i++)
        buf_printf(&b, "%s%.*s", i ? " " : "", STR_ARG(json_get_string(&tools->items[i], "name")));
    str all = arena_str(gw.arena, buf_str(&b));
    buf_done(&b);
    return all.n > 0 ? all.p : "";
}

static const char *list_at(const char *path)
{
    return names_in(gw_reply(gw_modern_at(path, "", "tools/list", "{}")));
}

static const struct json *tool_named(const struct json *reply, const char *name)
{
    const struct json *tools = json_get(json_get(reply, "result"), "tools");
    for (uint32_t i = 0; i < tools->len; i++)
        if (str_eq(json_get_string(&tools->items[i], "name"), str_from(name)))
            return &tools->items[i];
    return NULL;
}

/* Ana with a token for these tools. */
static struct actor *with_tools(const char *globs)
{
    return gw_actor((struct principal){.user_id = STR("usr_ana")}, globs);
}

static void deny(const char *glob)
{
    struct permission_rules *rules = ARENA_NEW(gw.arena, struct permission_rules);
    rules->deny.items = ARENA_NEW(gw.arena, str);
    rules->deny.items[0] = str_from(glob);
    rules->deny.len = 1;
    gw.permissions = rules;
}

/* ---- lists ---- */

TEST_GATEWAY(the_list_has_all_tools_of_the_workspace_with_prefixes)
{
    assert_string_equal(list_at("/mcp"), "new__k new__t old__k old__t t__drop t__fail t__hang "
                                         "t__ping t__read t__slow nb__chat");
}

TEST_GATEWAY(at_one_source_tools_have_the_names_of_their_server)
{
    assert_string_equal(list_at("/mcp/old"), "k t");
    assert_string_equal(list_at("/mcp/t"), "drop fail hang ping read slow");
}

TEST_GATEWAY(a_token_sees_only_its_tools)
{
    gw.who = with_tools("['old__*','t__ping']");
    assert_string_equal(list_at("/mcp"), "old__k old__t t__ping");
    gw.who = with_tools("['nb__chat']");
    assert_string_equal(list_at("/mcp"), "nb__chat");
    gw.who = with_tools("[]");
    assert_like(gw_reply(gw_modern("tools/list", "{}")), "{'result':{'tools':[]}}");
}

TEST_GATEWAY(a_denied_tool_is_neither_listed_nor_callable)
{
    deny("t__p*");
    assert_string_equal(list_at("/mcp/t"), "drop fail hang read slow");
    assert_like(gw_reply(gw_modern("tools/call", "{'name':'t__ping'}")),
                "{'error':{'code':-32602,'message':'Unknown tool: t__ping'}}");
    assert_int_equal(rig_tools.started, 0);
}

TEST_GATEWAY(an_internal_tool_is_neither_listed_nor_callable)
{
    rig_tools.tools[0].is_internal = true;
    registry_changed(gw.base->tools, &rig_tools.source);
    assert_string_equal(list_at("/mcp/t"), "drop fail hang read slow");
    assert_like(gw_reply(gw_modern("tools/call", "{'name':'t__ping'}")),
                "{'error':{'code':-32602}}");
}

TEST_GATEWAY(a_tool_that_would_ask_in_a_chat_is_callable)
{
    assert_like(gw_reply(gw_modern("tools/call", "{'name':'t__drop'}")),
                "{'result':{'content':[{'text':'pong'}]}}");
}

TEST_GATEWAY(a_tool_is_listed_in_the_form_of_the_clients_era)
{
    const struct json *modern = gw_reply(gw_modern("tools/list", "{}"));
    const struct json *legacy = gw_reply(gw_legacy(gw_open(), "tools/list", "{}"));
    assert_like(tool_named(modern, "new__t"), "{'outputSchema':{'type':'array'}}");
    assert_like(tool_named(legacy, "new__t"), "{'outputSchema':null}"); /* only objects there */
    assert_like(tool_named(modern, "old__k"), "{'execution':null}");
    assert_like(tool_named(legacy, "old__k"), "{'execution':{'taskSupport':'required'}}");
    assert_like(tool_named(legacy, "old__t"), "{'description':'old__t'}"); /* the server has none */
    assert_like(modern, "{'result':{'resultType':'complete','cacheScope':'private'}}");
    assert_like(legacy, "{'result':{'resultType':null,'ttlMs':null,'_meta':null}}");
}

TEST_GATEWAY(the_list_has_pages)
{
    struct gw_client *c = gw_modern("tools/list", "{'cursor':'at-9'}");
    assert_string_equal(names_in(gw_reply(c)), "t__slow nb__chat");
    assert_like(gw_reply(c), "{'result':{'nextCursor':null}}");
    assert_like(gw_reply(gw_modern("tools/list", "{'cursor':'at-11'}")), "{'result':{'tools':[]}}");
}

TEST_GATEWAY(a_cursor_that_the_gateway_did_not_make_is_refused)
{
    static const char *const PARAMS[] = {
        "{'cursor':'at-12'}", "{'cursor':'at--1'}", "{'cursor':'at-'}",
        "{'cursor':'9'}",     "{'cursor':9}",       "{'cursor':''}",
    };
    for (size_t i = 0; i < ARRAY_LEN(PARAMS); i++)
        assert_like(gw_reply(gw_modern("tools/list", PARAMS[i])),
                    "{'error':{'code':-32602,'message':'Unknown cursor.'}}");
}

/* ---- calls of built-in tools ---- */

TEST_GATEWAY(params_of_a_call_are_checked)
{
    static const char *const PARAMS[] = {
        "{}",
        "{'name':7}",
        "{'name':'t__ping','arguments':[]}",
        "{'name':'t__ping','arguments':7}",
        "{'name':'nosuch'}",
        "{'name':'ping'}",
    };
    const char *session = gw_open();
    for (size_t i = 0; i < ARRAY_LEN(PARAMS); i++)
        assert_like(gw_reply(gw_legacy(session, "tools/call", PARAMS[i])),
                    "{'error':{'code':-32602}}");
    assert_int_equal(rig_tools.started, 0);
}

TEST_GATEWAY(arguments_that_do_not_fit_the_schema_are_a_result_for_the_model)
{
    struct gw_client *c = gw_modern("tools/call", "{'name':'t__ping','arguments':{'n':'x'}}");
    assert_like(gw_reply(c), "{'result':{'isError':true}}");
    assert_int_equal(rig_tools.started, 0);
    assert_like(gw_reply(gw_modern("tools/call", "{'name':'t__ping','arguments':{'n':3}}")),
                "{'result':{'isError':null}}");
    assert_string_equal(rig_tools.args, "{\"n\":3}");
}

TEST_GATEWAY(a_tool_acts_for_the_person_who_calls)
{
    gw.who = gw.base->ben;
    (void)gw_reply(gw_modern("tools/call", "{'name':'t__ping'}"));
    assert_string_equal(rig_tools.user_id, "usr_ben");
    assert_string_equal(rig_tools.conversation_id, "");
}

TEST_GATEWAY(a_failed_tool_is_a_result_with_an_error)
{
    assert_like(gw_reply(gw_modern("tools/call", "{'name':'t__fail'}")),
                "{'result':{'isError':true,'content':[{'type':'text','text':'it failed'}]}}");
}

TEST_GATEWAY(progress_is_sent_before_the_result_to_clients_that_gave_a_token)
{
    struct gw_client *with =
        gw_modern("tools/call", "{'name':'t__slow','_meta':{'progressToken':'p1'}}");
    gw_until(rig_tools.started == 1);
    tools_progress(1, 4, "first");
    tools_progress(2, 0, "");
    assert_like(gw_message(with, 0), "{'method':'notifications/progress','params':{"
                                     "'progressToken':'p1','total':4,'message':'first'}}");
    assert_like(gw_message(with, 1), "{'params':{'total':null,'message':null}}");
    tools_release();
    assert_like(gw_reply(with), "{'result':{'content':[{'text':'pong'}]}}");
    assert_int_equal(gw_messages(with), 3);
    struct gw_client *without = gw_modern("tools/call", "{'name':'t__slow'}");
    gw_until(rig_tools.started == 2);
    tools_progress(1, 4, "first");
    tools_release();
    assert_like(gw_reply(without), "{'result':{}}");
    assert_false(gw_is_stream(without));
}

TEST_GATEWAY(a_progress_token_is_a_text_or_a_number)
{
    struct gw_client *c =
        gw_modern("tools/call", "{'name':'t__slow','_meta':{'progressToken':{'x':1}}}");
    gw_until(rig_tools.started == 1);
    tools_progress(1, 4, "first");
    tools_release();
    (void)gw_reply(c);
    assert_false(gw_is_stream(c));
}

/* ---- calls of tools of bundles ---- */

TEST_GATEWAY(a_server_gets_its_own_name_of_the_tool_and_no_metadata_of_the_client)
{
    struct gw_client *c = gw_modern(
        "tools/call", "{'name':'old__t','arguments':{'b':'1'},'_meta':{'progressToken':'mine',"
                      "'com.example/x':1}}");
    struct gw_heard *h = gw_heard("tools/call");
    assert_string_equal(h->peer->name, "old");
    assert_like(h->m.params, "{'name':'t','arguments':{'b':'1'},'_meta':{'com.example/x':1,"
                             "'" META_VERSION "':null,'" META_CAPABILITIES "':null}}");
    assert_false(
        str_eq(json_get_string(json_get(h->m.params, "_meta"), "progressToken"), STR("mine")));
    gw_answer(h, "{'content':[],'structuredContent':[1]}");
    assert_like(gw_reply(c), "{'result':{'resultType':'complete','structuredContent':[1]}}");
}

TEST_GATEWAY(metadata_of_the_protocol_stays_between_the_client_and_the_gateway)
{
    static const char *const CALLS[] = {
        "{'name':'old__t','_meta':{'io.modelcontextprotocol/future':1,'com.example/x':1}}",
        "{'name':'old__t','_meta':{'io.modelcontextprotocol/future':1}}",
    };
    (void)gw_modern("tools/call", CALLS[0]);
    assert_like(gw_heard("tools/call")->m.params,
                "{'_meta':{'com.example/x':1,'io.modelcontextprotocol/future':null}}");
    (void)gw_modern("tools/call", CALLS[1]);
    assert_like(gw_heard("tools/call")->m.params, "{'_meta':null}"); /* nothing is left of it */
}

TEST_GATEWAY(at_one_source_a_call_uses_the_name_of_the_server)
{
    struct gw_client *c = gw_modern_at("/mcp/old", "", "tools/call", "{'name':'t'}");
    gw_answer(gw_heard("tools/call"), "{'content':[]}");
    assert_like(gw_reply(c), "{'result':{'content':[]}}");
    assert_like(gw_reply(gw_modern_at("/mcp/old", "", "tools/call", "{'name':'old__t'}")),
                "{'error':{'code':-32602}}");
    assert_like(gw_reply(gw_modern_at("/mcp/old", "", "tools/call", "{'name':'ping'}")),
                "{'error':{'code':-32602}}");
}

static void set_starting(bool is_starting)
{
    static const struct json *capabilities;
    if (is_starting)
        capabilities = gw.old->capabilities;
    gw.old->capabilities = is_starting ? NULL : capabilities;
    gw.old->is_without_tools = is_starting;
    registry_changed(gw.base->tools, &gw.sources[1]);
}

/* Calls that wait for a source, and the gateway itself from its first request on. */
static size_t nwaiting(void)
{
    size_t n = 0;
    LIST_FOREACH (o, &gw.base->tools->observers)
        n++;
    return n;
}

TEST_GATEWAY(a_call_waits_for_the_tools_of_a_server_that_is_starting)
{
    (void)list_at("/mcp/t");
    size_t before = nwaiting();
    set_starting(true);
    struct gw_client *c = gw_modern_at("/mcp/old", "", "tools/call", "{'name':'t'}");
    struct gw_client *unknown = gw_modern_at("/mcp/old", "", "tools/call", "{'name':'later'}");
    gw.who = with_tools("['old__k']");
    struct gw_client *narrow = gw_modern_at("/mcp/old", "", "tools/call", "{'name':'t'}");
    assert_like(gw_reply(narrow), "{'error':{'code':-32602}}"); /* not its source: no waiting */
    gw.who = gw.base->ana;
    deny("old__t");
    struct gw_client *denied = gw_modern_at("/mcp/old", "", "tools/call", "{'name':'t'}");
    gw_until(nwaiting() == before + 3);
    set_starting(false);
    gw_answer(gw_heard("tools/call"), "{'content':[]}");
    assert_like(gw_reply(c), "{'result':{}}");
    assert_like(gw_reply(denied), "{'error':{'code':-32602,'message':'Unknown tool: t'}}");
    assert_like(gw_reply(unknown), "{'error':{'code':-32602,'message':'Unknown tool: later'}}");
}

TEST_GATEWAY(a_call_that_waits_for_a_server_can_be_given_up)
{
    (void)list_at("/mcp/t");
    size_t before = nwaiting();
    set_starting(true);
    struct gw_client *c = gw_modern_at("/mcp/old", "", "tools/call", "{'name':'t'}");
    gw_until(nwaiting() == before + 1);
    gw_leave(c);
    gw_until(nwaiting() == before);
    set_starting(false);
}

TEST_GATEWAY(a_tool_for_apps_alone_is_neither_listed_nor_callable_in_both_eras)
{
    static const char *const CALL = "{'name':'old__t'}";
    gw.is_for_apps_alone[0] = true;
    registry_changed(gw.base->tools, &gw.sources[0]);
    registry_changed(gw.base->tools, &gw.sources[1]);
    assert_string_equal(list_at("/mcp/old"), "k");
    assert_string_equal(list_at("/mcp/new"), "k");
    assert_like(gw_reply(gw_modern("tools/call", CALL)),
                "{'error':{'code':-32602,'message':'Unknown tool: old__t'}}");
    assert_like(gw_reply(gw_legacy(gw_open(), "tools/call", CALL)),
                "{'error':{'code':-32602,'message':'Unknown tool: old__t'}}");
    assert_like(gw_reply(gw_modern_at("/mcp/new", "", "tools/call", "{'name':'t'}")),
                "{'error':{'code':-32602,'message':'Unknown tool: t'}}");
    set_starting(true); /* nor while its server starts */
    size_t before = nwaiting();
    struct gw_client *c = gw_modern_at("/mcp/old", "", "tools/call", "{'name':'t'}");
    gw_until(nwaiting() == before + 1);
    set_starting(false);
    assert_like(gw_reply(c), "{'error':{'code':-32602,'message':'Unknown tool: t'}}");
}

TEST_GATEWAY(the_interface_of_a_tool_passes_through)
{
    gw.old->tools[0] = gw_json("{'name':'t','inputSchema':{'type':'object'},'_meta':{'ui':"
                               "{'resourceUri':'ui://old/t','visibility':['model','app']},"
                               "'ui/resourceUri':'ui://old/t'}}");
    registry_changed(gw.base->tools, &gw.sources[1]);
    const char *meta = "{'_meta':{'ui':{'resourceUri':'ui://old/t','visibility':['model','app']},"
                       "'ui/resourceUri':'ui://old/t'}}";
    assert_like(tool_named(gw_reply(gw_modern("tools/list", "{}")), "old__t"), meta);
    assert_like(tool_named(gw_reply(gw_legacy(gw_open(), "tools/list", "{}")), "old__t"), meta);
}

/* ---- what is recorded ---- */

static bool has_metric(const char *line)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    gateway_write_metrics(gw.g, &b);
    bool has = str_find(buf_str(&b), str_from(line), 0) >= 0;
    buf_done(&b);
    return has;
}

TEST_GATEWAY(each_call_is_counted_once_with_its_outcome)
{
    (void)gw_reply(gw_modern("tools/call", "{'name':'t__ping'}"));
    (void)gw_reply(gw_modern("tools/call", "{'name':'t__fail'}"));
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t'}");
    gw_fail(gw_heard("tools/call"), "{'code':-32000,'message':'no'}");
    (void)gw_reply(c);
    c = gw_modern("tools/call", "{'name':'t__hang'}");
    gw_until(rig_tools.started == 3);
    gw_leave(c);
    gw_until(rig_tools.cancelled == 1);
    assert_true(has_metric("nb_mcp_tool_calls_total{tool=\"t__ping\",outcome=\"ok\"} 1\n"));
    assert_true(has_metric("nb_mcp_tool_calls_total{tool=\"t__fail\",outcome=\"tool_error\"} 1\n"));
    assert_true(has_metric("nb_mcp_tool_calls_total{tool=\"old__t\",outcome=\"error\"} 1\n"));
    assert_true(has_metric("nb_mcp_tool_calls_total{tool=\"t__hang\",outcome=\"cancelled\"} 1\n"));
    assert_true(has_metric("nb_mcp_sessions 0\n"));
}

TEST_GATEWAY(requests_that_call_no_tool_are_not_counted)
{
    (void)gw_reply(gw_modern("tools/call", "{'name':'nosuch'}"));
    (void)gw_reply(gw_modern("tools/list", "{}"));
    assert_false(has_metric("nb_mcp_tool_calls_total{"));
}

TEST_GATEWAY(each_call_is_logged_with_its_person_its_client_and_its_outcome)
{
    struct err e = {0};
    str line, rest;
    gw.audit_path = arena_printf(gw.arena, "%s/calls.jsonl", gw.base->dir.path).p;
    gw_use_limits((struct gateway_limits){0});
    (void)gw_reply(gw_modern("tools/call", "{'name':'t__ping'}"));
    gw.who = gw.base->ben;
    (void)gw_reply(gw_legacy(gw_open(), "tools/call", "{'name':'t__fail'}"));
    (void)gw_reply(gw_modern("tools/call", "{'name':'nosuch'}"));
    gw_settle();
    gateway_free(gw.g); /* writes what is left */
    gw.g = NULL;
    assert_int_equal(file_read(gw.arena, gw.audit_path, 1u << 16, &rest, &e), 0);
    assert_true(str_split(&rest, '\n', &line));
    assert_like(gw_json_of(line), "{'user':'usr_ana','workspace':'" RIG_WORKSPACE
                                  "','client':'modern','tool':'t__ping','outcome':'ok'}");
    assert_true(str_split(&rest, '\n', &line));
    assert_like(gw_json_of(line),
                "{'user':'usr_ben','client':'legacy','tool':'t__fail','outcome':'tool_error'}");
    assert_int_equal(rest.n, 0);
}
