/* Clients with one input and one output: `nb mcp serve`, and the oldest transport over HTTP. */
#include "support/gateway_rig.h"

#define META "'_meta':{'" META_VERSION "':'" GW_MODERN "','" META_CAPABILITIES "':{}}"
#define INITIALIZE                                                                                 \
    "{'jsonrpc':'2.0','id':'i','method':'initialize','params':{'protocolVersion':'2025-11-25',"    \
    "'capabilities':{},'clientInfo':{'name':'c'}}}"

/* ---- lines ---- */

TEST_GATEWAY(a_line_that_is_not_a_request_is_answered_with_its_kind_of_error)
{
    static const struct {
        const char *line;
        int code;
        const char *id;
    } ROWS[] = {
        {"", RPC_PARSE_ERROR, "null"},
        {"{'jsonrpc':", RPC_PARSE_ERROR, "null"},
        {"[{'jsonrpc':'2.0','id':1,'method':'ping'}]", RPC_INVALID_REQUEST, "null"},
        {"{'jsonrpc':'2.0','id':5}", RPC_INVALID_REQUEST, "5"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        str want =
            arena_printf(gw.arena, "{'id':%s,'error':{'code':%d}}", ROWS[i].id, ROWS[i].code);
        gw_line(ROWS[i].line);
        assert_like(gw_line_got(i), want.p);
    }
    assert_true(gateway_pipe_is_idle(gw.pipe));
}

TEST_GATEWAY(a_pipe_speaks_both_eras)
{
    gw_line("{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{" META "}}");
    assert_like(gw_line_got(0), "{'id':1,'result':{'resultType':'complete'}}");
    assert_int_equal(map_len(&gw.g->sessions), 0);
    gw_line(INITIALIZE);
    assert_like(gw_line_got(1), "{'id':'i','result':{'protocolVersion':'2025-11-25'}}");
    gw_line("{'jsonrpc':'2.0','id':2,'method':'tools/call','params':{'name':'t__ping'}}");
    assert_like(gw_line_got(2), "{'id':2,'result':{'resultType':null,'content':[{}]}}");
    assert_int_equal(map_len(&gw.g->sessions), 1);
}

TEST_GATEWAY(discovery_without_a_version_is_answered_in_the_stateless_era)
{
    gw_line("{'jsonrpc':'2.0','id':1,'method':'server/discover'}");
    assert_like(gw_line_got(0), "{'error':{'code':-32602}}"); /* the metadata is missing */
    gw_line(INITIALIZE);
    (void)gw_line_got(1);
    gw_line("{'jsonrpc':'2.0','id':2,'method':'server/discover'}");
    assert_like(gw_line_got(2), "{'error':{'code':-32601}}"); /* the client has chosen */
}

TEST_GATEWAY(before_initialize_only_ping_is_answered)
{
    gw_line("{'jsonrpc':'2.0','id':1,'method':'ping'}");
    assert_like(gw_line_got(0), "{'result':{}}");
    gw_line("{'jsonrpc':'2.0','id':2,'method':'tools/list'}");
    assert_like(gw_line_got(1), "{'error':{'code':-32600,'message':'Send initialize first.'}}");
}

TEST_GATEWAY(progress_and_results_of_a_pipe_are_lines)
{
    gw_line("{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'t__slow','_meta':{"
            "'progressToken':'p','" META_VERSION "':'" GW_MODERN "','" META_CAPABILITIES "':{}}}}");
    gw_until(rig_tools.started == 1);
    assert_false(gateway_pipe_is_idle(gw.pipe));
    tools_progress(1, 2, "half");
    tools_release();
    assert_like(gw_line_got(0), "{'method':'notifications/progress'}");
    assert_like(gw_line_got(1), "{'id':1,'result':{}}");
    assert_true(gateway_pipe_is_idle(gw.pipe));
}

TEST_GATEWAY(a_cancellation_reaches_requests_of_both_eras)
{
    gw_line("{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'t__hang'," META "}}");
    gw_line(INITIALIZE);
    gw_line("{'jsonrpc':'2.0','id':2,'method':'tools/call','params':{'name':'t__hang'}}");
    gw_until(rig_tools.started == 2);
    gw_line("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':1}}");
    assert_int_equal(rig_tools.cancelled, 1);
    assert_false(gateway_pipe_is_idle(gw.pipe));
    gw_line("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':2}}");
    assert_int_equal(rig_tools.cancelled, 2);
    assert_true(gateway_pipe_is_idle(gw.pipe));
    gw_settle();
    assert_int_equal(gw.nlines, 1); /* the answer to initialize */
}

TEST_GATEWAY(a_closed_pipe_cancels_its_requests)
{
    gw_line(INITIALIZE);
    gw_line("{'jsonrpc':'2.0','id':2,'method':'tools/call','params':{'name':'t__hang'}}");
    gw_line("{'jsonrpc':'2.0','id':3,'method':'tools/call','params':{'name':'t__hang'," META "}}");
    gw_until(rig_tools.started == 2);
    gateway_pipe_close(gw.pipe);
    gw.pipe = NULL;
    assert_int_equal(rig_tools.cancelled, 2);
    assert_int_equal(map_len(&gw.g->sessions), 0);
}

TEST_GATEWAY(a_subscription_on_a_pipe_lasts_until_it_is_cancelled)
{
    gw_line("{'jsonrpc':'2.0','id':1,'method':'subscriptions/listen','params':{'notifications':{"
            "'toolsListChanged':true}," META "}}");
    assert_like(gw_line_got(0), "{'method':'notifications/subscriptions/acknowledged'}");
    registry_changed(gw.base->tools, &rig_tools.source);
    assert_like(gw_line_got(1), "{'method':'notifications/tools/list_changed'}");
    gw_line("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':1}}");
    registry_changed(gw.base->tools, &rig_tools.source);
    gw_settle();
    assert_int_equal(gw.nlines, 2);
}

TEST_GATEWAY(a_question_of_a_server_is_a_line)
{
    gw_line("{'jsonrpc':'2.0','id':'i','method':'initialize','params':{'protocolVersion':"
            "'2025-11-25','capabilities':" GW_ASKABLE "}}");
    gw_line("{'jsonrpc':'2.0','id':2,'method':'tools/call','params':{'name':'old__t'}}");
    struct gw_heard *h = gw_heard("tools/call");
    gw_server_asks(h, "s1", "roots/list", "{}");
    assert_like(gw_line_got(1), "{'id':1,'method':'roots/list'}");
    gw_line("{'jsonrpc':'2.0','id':1,'result':{'roots':[]}}");
    assert_like(gw_heard("")->m.result, "{'roots':[]}");
}

/* ---- the oldest transport ---- */

static struct gw_client *stream;

/* Opens the stream, and returns the path to which messages are posted. */
static const char *open_old(const char *path)
{
    stream = gw_send("GET", path, "", STR_NONE);
    assert_true(gw_is_stream(stream));
    gw_until(gw_field(stream, "data", 0).p);
    assert_true(str_eq(gw_field(stream, "event", 0), STR("endpoint")));
    str address = arena_str(gw.arena, gw_field(stream, "data", 0));
    assert_true(str_starts(address, STR("/nb/sse/message?session=")));
    return arena_cstr(gw.arena, str_skip(address, 3));
}

TEST_GATEWAY(the_stream_names_the_address_for_messages)
{
    const char *path = open_old("/sse");
    assert_int_equal(gw_status(gw_send("POST", path, "", gw_text(INITIALIZE))), 202);
    gw_until(gw_field(stream, "data", 1).p);
    assert_like(gw_json_of(gw_field(stream, "data", 1)), "{'id':'i','result':{'serverInfo':{}}}");
    (void)gw_send("POST", path, "",
                  gw_text("{'jsonrpc':'2.0','id':2,'method':'tools/list','params':{" META "}}"));
    gw_until(gw_field(stream, "data", 2).p);
    assert_like(gw_json_of(gw_field(stream, "data", 2)), "{'result':{'resultType':'complete'}}");
}

TEST_GATEWAY(the_address_of_a_stream_belongs_to_its_person_and_source)
{
    const char *path = open_old("/sse?source=old");
    assert_non_null(strstr(path, "&source=old"));
    gw.who = gw.base->ben;
    assert_int_equal(gw_status(gw_send("POST", path, "", gw_text(INITIALIZE))), 404);
    gw.who = gw.base->ana;
    str bare = str_slice(str_from(path), 0, strlen(path) - strlen("&source=old"));
    assert_int_equal(gw_status(gw_send("POST", arena_cstr(gw.arena, bare), "", STR("{}"))), 404);
    assert_int_equal(gw_status(gw_send("POST", path, "", gw_text(INITIALIZE))), 202);
}

TEST_GATEWAY(a_session_of_streamable_http_is_not_an_address_for_messages)
{
    str path = arena_printf(gw.arena, "/sse/message?session=%s", gw_open());
    assert_int_equal(gw_status(gw_send("POST", path.p, "", STR("{}"))), 404);
}

TEST_GATEWAY(a_lost_stream_ends_its_session)
{
    const char *path = open_old("/sse");
    (void)gw_send("POST", path, "", gw_text(INITIALIZE));
    (void)gw_send("POST", path, "",
                  gw_text("{'jsonrpc':'2.0','id':2,'method':'tools/call','params':{'name':"
                          "'t__hang'}}"));
    gw_until(rig_tools.started == 1);
    gw_leave(stream);
    gw_until(map_len(&gw.g->sessions) == 0);
    assert_int_equal(rig_tools.cancelled, 1);
    assert_int_equal(gw_status(gw_send("POST", path, "", STR("{}"))), 404);
}

TEST_GATEWAY(a_session_that_ends_disconnects_its_stream)
{
    (void)open_old("/sse");
    gateway_drop_user(gw.g, STR_NONE, STR("usr_ana"));
    gw_until(stream->fd < 0);
    assert_int_equal(map_len(&gw.g->sessions), 0);
}

TEST_GATEWAY(a_message_that_is_not_json_is_answered_on_the_stream)
{
    const char *path = open_old("/sse");
    struct gw_client *c = gw_send("POST", path, "", STR("not json"));
    assert_int_equal(gw_status(c), 202);
    gw_until(gw_field(stream, "data", 1).p);
    assert_like(gw_json_of(gw_field(stream, "data", 1)), "{'error':{'code':-32700}}");
}
