/* /mcp before any method runs: bodies that are not requests, headers, the choice of the era. */
#include "support/gateway_rig.h"

#define VERSION_HEADER "MCP-Protocol-Version: " GW_MODERN "\r\n"
#define PING           "{'jsonrpc':'2.0','id':1,'method':'ping'}"

/* ---- both eras ---- */

TEST_GATEWAY(a_body_that_is_not_a_request_is_answered_with_its_kind_of_error)
{
    static const struct {
        const char *body;
        int code;
        const char *id;
    } ROWS[] = {
        {"", RPC_PARSE_ERROR, "null"},
        {"{", RPC_PARSE_ERROR, "null"},
        {"not json", RPC_PARSE_ERROR, "null"},
        {"7", RPC_INVALID_REQUEST, "null"},
        {"'text'", RPC_INVALID_REQUEST, "null"},
        {"{}", RPC_INVALID_REQUEST, "null"},
        {"{'jsonrpc':'1.0','id':3,'method':'ping'}", RPC_INVALID_REQUEST, "3"},
        {"{'jsonrpc':'2.0','id':3}", RPC_INVALID_REQUEST, "3"},
        {"{'jsonrpc':'2.0','id':{},'method':'ping'}", RPC_INVALID_REQUEST, "null"},
        {"{'jsonrpc':'2.0','id':4,'method':7}", RPC_INVALID_REQUEST, "4"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct gw_client *c = gw_post("", ROWS[i].body);
        str want = arena_printf(gw.arena, "{'jsonrpc':'2.0','id':%s,'error':{'code':%d}}",
                                ROWS[i].id, ROWS[i].code);
        assert_int_equal(gw_status(c), 400);
        assert_like(gw_reply(c), want.p);
    }
}

TEST_GATEWAY(a_post_must_be_json_by_its_content_type)
{
    static const struct {
        const char *type;
        int status;
    } ROWS[] = {
        {"application/json", 200},
        {"Application/JSON; charset=utf-8", 200},
        {"application/json-patch+json", 415},
        {"text/plain", 415},
        {"", 415},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        str header = arena_printf(gw.arena, "Content-Type: %s\r\n", ROWS[i].type);
        assert_int_equal(gw_status(gw_post(header.p, PING)), ROWS[i].status);
    }
}

TEST_GATEWAY(an_address_of_one_source_exists_only_for_sources_of_the_workspace)
{
    assert_int_equal(gw_status(gw_send("POST", "/mcp/old", "", gw_text(PING))), 200);
    assert_int_equal(gw_status(gw_send("POST", "/mcp/t", "", gw_text(PING))), 200);
    struct gw_client *c = gw_send("POST", "/mcp/nosuch", "", gw_text(PING));
    assert_int_equal(gw_status(c), 404);
    assert_like(gw_json_of(gw_body(c)), "{'error':'not_found','message':'Unknown tool source.'}");
    assert_int_equal(gw_status(gw_send("GET", "/mcp/nosuch", "", STR_NONE)), 404);
    assert_int_equal(gw_status(gw_send("GET", "/sse?source=nosuch", "", STR_NONE)), 404);
}

TEST_GATEWAY(the_version_in_meta_or_header_chooses_the_stateless_era)
{
    static const char DISCOVER[] =
        "{'jsonrpc':'2.0','id':1,'method':'server/discover','params':"
        "{'_meta':{'" META_VERSION "':'" GW_MODERN "','" META_CAPABILITIES "':{}}}}";
    static const char BARE[] = "{'jsonrpc':'2.0','id':1,'method':'server/discover','params':{}}";
    assert_like(gw_reply(gw_post(VERSION_HEADER "Mcp-Method: server/discover\r\n", DISCOVER)),
                "{'result':{'supportedVersions':['" GW_MODERN "']}}");
    /* only the header: stateless, and the metadata is missing */
    assert_like(gw_reply(gw_post(VERSION_HEADER "Mcp-Method: server/discover\r\n", BARE)),
                "{'error':{'code':-32602}}");
    /* neither: a client of the older revisions without a session */
    assert_like(gw_reply(gw_post("", BARE)), "{'error':{'code':-32000}}");
    /* a session id means the older revisions, whatever the body says */
    assert_int_equal(gw_status(gw_post("Mcp-Session-Id: 00\r\n", DISCOVER)), 404);
}

TEST_GATEWAY(an_unknown_method_has_the_status_of_its_era)
{
    struct gw_client *c = gw_modern("no/such", "{}");
    assert_int_equal(gw_status(c), 404);
    assert_like(gw_reply(c), "{'error':{'code':-32601,'message':'Method not found: no/such'}}");
    c = gw_legacy(gw_open(), "no/such", "{}");
    assert_int_equal(gw_status(c), 200);
    assert_like(gw_reply(c), "{'error':{'code':-32601}}");
}

TEST_GATEWAY(a_method_exists_only_in_the_eras_of_its_row)
{
    const char *session = gw_open();
    struct gateway_method m;
    size_t n = 0;
    for (; gateway_method_at(n, &m); n++) {
        const char *name = arena_cstr(gw.arena, m.name);
        if (!m.is_legacy)
            assert_like(gw_reply(gw_legacy(session, name, "{}")), "{'error':{'code':-32601}}");
        if (!m.is_modern)
            assert_like(gw_reply(gw_modern(name, "{}")), "{'error':{'code':-32601}}");
        assert_true(m.is_legacy || m.is_modern);
    }
    assert_true(n > 10);
}

/* ---- the stateless era ---- */

TEST_GATEWAY(a_stateless_request_needs_its_metadata)
{
    static const char *const BODIES[] = {
        "{'jsonrpc':'2.0','id':1,'method':'tools/list'}",
        "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':{}}}",
        "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':{'" META_VERSION
        "':'" GW_MODERN "'}}}",
        "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':{'" META_CAPABILITIES
        "':{}}}}",
        "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':{'" META_VERSION
        "':'" GW_MODERN "','" META_CAPABILITIES "':[]}}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(BODIES); i++) {
        struct gw_client *c = gw_post(VERSION_HEADER "Mcp-Method: tools/list\r\n", BODIES[i]);
        assert_int_equal(gw_status(c), 400);
        assert_like(gw_reply(c), "{'id':1,'error':{'code':-32602}}");
    }
}

TEST_GATEWAY(an_unknown_revision_is_answered_with_the_supported_ones)
{
    static const char BODY[] = "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':{"
                               "'" META_VERSION "':'2031-01-01','" META_CAPABILITIES "':{}}}}";
    struct gw_client *c =
        gw_post("MCP-Protocol-Version: 2031-01-01\r\nMcp-Method: tools/list\r\n", BODY);
    assert_int_equal(gw_status(c), 400);
    assert_like(gw_reply(c),
                "{'error':{'data':{'supported':['" GW_MODERN "'],'requested':'2031-01-01'}}}");
    assert_int_equal(json_get_int(json_get(gw_reply(c), "error"), "code", 0),
                     MCP_UNSUPPORTED_VERSION);
}

TEST_GATEWAY(the_version_header_must_equal_the_version_in_meta)
{
    struct gw_client *c;
    str body = json_to_str(gw.arena, gw_modern_body("tools/list", "{}", 1));
    static const char *const HEADERS[] = {
        "Mcp-Method: tools/list\r\n",
        "MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(HEADERS); i++) {
        c = gw_send("POST", "/mcp", HEADERS[i], body);
        assert_int_equal(gw_status(c), 400);
        assert_int_equal(json_get_int(json_get(gw_reply(c), "error"), "code", 0),
                         MCP_HEADER_MISMATCH);
    }
}

TEST_GATEWAY(a_stateless_notification_is_accepted_and_an_answer_is_refused)
{
    static const char NOTE[] = "{'jsonrpc':'2.0','method':'notifications/x','params':{'_meta':{"
                               "'" META_VERSION "':'" GW_MODERN "'}}}";
    struct gw_client *c = gw_post(VERSION_HEADER, NOTE);
    assert_int_equal(gw_status(c), 202);
    assert_int_equal(gw_body(c).n, 0);
    c = gw_post(VERSION_HEADER, "{'jsonrpc':'2.0','id':1,'result':{}}");
    assert_int_equal(gw_status(c), 400);
    assert_like(gw_reply(c), "{'error':{'code':-32600}}");
}

TEST_GATEWAY(stateless_clients_have_neither_get_nor_delete)
{
    static const char *const METHODS[] = {"GET", "DELETE"};
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++) {
        struct gw_client *c = gw_send(METHODS[i], "/mcp", VERSION_HEADER, STR_NONE);
        assert_int_equal(gw_status(c), 405);
        assert_true(str_eq(gw_header(c, "allow"), STR("POST")));
    }
}

/* ---- the older revisions ---- */

TEST_GATEWAY(old_scripts_list_and_call_tools_without_a_session)
{
    assert_like(gw_reply(gw_legacy("", "ping", "{}")), "{'result':{}}");
    assert_like(gw_reply(gw_legacy("", "tools/call", "{'name':'t__ping'}")),
                "{'result':{'content':[{'text':'pong'}]}}");
    struct gw_client *c = gw_legacy("", "resources/list", "{}");
    assert_int_equal(gw_status(c), 400);
    assert_like(gw_reply(c), "{'error':{'code':-32000}}");
    assert_int_equal(map_len(&gw.g->sessions), 0);
}

TEST_GATEWAY(a_session_is_not_used_with_an_unknown_revision)
{
    str header = arena_printf(
        gw.arena, "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 1999-01-01\r\n", gw_open());
    struct gw_client *c = gw_post(header.p, PING);
    assert_int_equal(gw_status(c), 400);
    assert_like(gw_reply(c), "{'error':{'code':-32600}}");
    assert_int_equal(gw_status(gw_send("DELETE", "/mcp", header.p, STR_NONE)), 400);
    assert_int_equal(map_len(&gw.g->sessions), 1);
}

TEST_GATEWAY(a_get_needs_a_session_and_an_event_stream)
{
    const char *id = gw_open();
    str session = arena_printf(gw.arena, "Mcp-Session-Id: %s\r\n", id);
    str json_only = arena_printf(gw.arena, "%sAccept: application/json\r\n", session.p);
    assert_int_equal(gw_status(gw_send("GET", "/mcp", json_only.p, STR_NONE)), 406);
    assert_int_equal(gw_status(gw_send("GET", "/mcp", "", STR_NONE)), 400);
    assert_int_equal(gw_status(gw_get("0123456789abcdef0123456789abcdef", "")), 404);
    struct gw_client *c = gw_get(id, "");
    assert_int_equal(gw_status(c), 200);
    assert_true(gw_is_stream(c));
    assert_true(str_eq(gw_header(c, "mcp-session-id"), str_from(id)));
}

/* ---- batches (2025-03-26) ---- */

static struct gw_client *batch(const char *session, const char *body)
{
    return gw_post(arena_printf(gw.arena, "Mcp-Session-Id: %s\r\n", session).p, body);
}

TEST_GATEWAY(a_batch_is_answered_on_one_stream_that_ends_with_its_last_answer)
{
    const char *session = gw_open_at("/mcp", MCP_REVISION_BATCH);
    struct gw_client *c =
        batch(session, "[{'jsonrpc':'2.0','id':'a','method':'ping'},"
                       "{'jsonrpc':'2.0','method':'notifications/initialized'},"
                       "{'jsonrpc':'2.0','id':'b','method':'tools/call','params':{'name':"
                       "'t__slow'}}]");
    assert_like(gw_message(c, 0), "{'id':'a','result':{}}");
    assert_open(c);
    tools_release();
    assert_like(gw_reply(c), "{'id':'b','result':{'content':[{'text':'pong'}]}}");
    assert_int_equal(gw_messages(c), 2);
}

TEST_GATEWAY(a_batch_without_requests_is_accepted_without_a_stream)
{
    const char *session = gw_open_at("/mcp", MCP_REVISION_BATCH);
    struct gw_client *c =
        batch(session, "[{'jsonrpc':'2.0','method':'notifications/initialized'},7,{'x':1}]");
    assert_int_equal(gw_status(c), 202);
}

TEST_GATEWAY(initialize_is_not_part_of_a_batch)
{
    const char *session = gw_open_at("/mcp", MCP_REVISION_BATCH);
    struct gw_client *c = batch(
        session, "[{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':'x'}},"
                 "{'jsonrpc':'2.0','id':2,'method':'ping'}]");
    assert_like(gw_reply(c), "{'id':2,'result':{}}");
    assert_int_equal(gw_messages(c), 1);
}

TEST_GATEWAY(only_one_revision_has_batches)
{
    struct gw_client *c = batch(gw_open(), "[{'jsonrpc':'2.0','id':1,'method':'ping'}]");
    assert_int_equal(gw_status(c), 400);
    assert_like(gw_reply(c), "{'error':{'code':-32600}}");
    c = batch(gw_open_at("/mcp", MCP_REVISION_BATCH), "[]");
    assert_int_equal(gw_status(c), 400);
    c = gw_post("", "[{'jsonrpc':'2.0','id':1,'method':'ping'}]");
    assert_like(gw_reply(c), "{'error':{'message':'A batch needs a session.'}}");
}

/* ---- the form of the response ---- */

TEST_GATEWAY(a_client_that_accepts_only_streams_gets_a_stream)
{
    struct gw_client *c = gw_modern_at("/mcp", "Accept: text/event-stream\r\n", "tools/list", "{}");
    assert_true(gw_is_stream(c));
    assert_like(gw_reply(c), "{'result':{'resultType':'complete'}}");
}

TEST_GATEWAY(a_client_that_accepts_only_json_gets_no_progress)
{
    struct gw_client *c = gw_modern_at("/mcp", "Accept: application/json\r\n", "tools/call",
                                       "{'name':'t__slow','_meta':{'progressToken':'p'}}");
    gw_until(rig_tools.started == 1);
    tools_progress(1, 2, "half");
    tools_release();
    assert_false(gw_is_stream(c));
    assert_like(gw_reply(c), "{'result':{'content':[{'text':'pong'}]}}");
}

TEST_GATEWAY(a_response_without_messages_becomes_a_stream_after_a_while)
{
    struct gw_client *c = gw_modern("tools/call", "{'name':'t__slow'}");
    gw_until(rig_tools.started == 1);
    struct gw_request *q = LIST_ENTRY(gw_space()->requests.next, struct gw_request, node);
    assert_int_equal(c->got.n, 0);
    gw_fire(&q->quiet);
    assert_true(gw_is_stream(c));
    tools_release();
    assert_like(gw_reply(c), "{'result':{'content':[{'text':'pong'}]}}");
}
