/* Headers that repeat values of the body, which the stateless revision requires. The tool t of the
 * bundles wants its arguments a (text) and n (integer) repeated as Mcp-Param-A and Mcp-Param-N. */
#include "support/gateway_rig.h"

#define HEAD "MCP-Protocol-Version: " GW_MODERN "\r\n"

/* The code of the error, or 0 when the headers fit. */
static int64_t check(const char *headers, const char *method, const char *params)
{
    str body = json_to_str(gw.arena, gw_modern_body(method, params, 1));
    str all = arena_printf(gw.arena, "%s%s", HEAD, headers);
    struct gw_client *c = gw_send("POST", "/mcp", all.p, body);
    gw_until(c->fd < 0 || gw_next_heard(method));
    if (gw_next_heard(method))
        gw_answer(gw_heard(method), "{'content':[]}");
    const struct json *error = json_get(gw_reply(c), "error");
    if (json_get_int(error, "code", 0) == MCP_HEADER_MISMATCH)
        assert_int_equal(gw_status(c), 400);
    return json_get_int(error, "code", 0);
}

TEST_GATEWAY(the_method_is_repeated)
{
    assert_int_equal(check("Mcp-Method: tools/list\r\n", "tools/list", "{}"), 0);
    assert_int_equal(check("mcp-method: tools/list\r\n", "tools/list", "{}"), 0);
    assert_int_equal(check("", "tools/list", "{}"), MCP_HEADER_MISMATCH);
    assert_int_equal(check("Mcp-Method: Tools/list\r\n", "tools/list", "{}"), MCP_HEADER_MISMATCH);
    assert_int_equal(check("Mcp-Method: tools/call\r\n", "tools/list", "{}"), MCP_HEADER_MISMATCH);
}

TEST_GATEWAY(the_name_is_repeated_as_it_is_or_in_base64)
{
#define CALL "Mcp-Method: tools/call\r\n"
    static const struct {
        const char *headers;
        bool fits;
    } ROWS[] = {
        {CALL "Mcp-Name: old__k\r\n", true},
        {CALL "Mcp-Name: =?base64?b2xkX19r?=\r\n", true},
        {CALL "Mcp-Name: old__t\r\n", false},
        {CALL "Mcp-Name: OLD__K\r\n", false},
        {CALL "Mcp-Name: =?base64?b2xkX19=\r\n", false}, /* one end is missing: literal */
        {CALL "Mcp-Name: =?base64?****?=\r\n", false},
        {CALL "Mcp-Name: =?base64?/w==?=\r\n", false}, /* not UTF-8 */
        {CALL "Mcp-Name: \r\n", false},
        {CALL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
        assert_int_equal(check(ROWS[i].headers, "tools/call", "{'name':'old__k'}"),
                         ROWS[i].fits ? 0 : MCP_HEADER_MISMATCH);
}

TEST_GATEWAY(a_name_is_wanted_only_where_the_method_has_one)
{
    assert_int_equal(check("Mcp-Method: resources/read\r\n", "resources/read", "{'uri':'x://1'}"),
                     MCP_HEADER_MISMATCH);
    assert_int_equal(
        check("Mcp-Method: prompts/list\r\nMcp-Name: anything\r\n", "prompts/list", "{}"), 0);
}

TEST_GATEWAY(arguments_are_repeated_where_the_schema_says_so)
{
#define NAMED CALL "Mcp-Name: new__t\r\n"
    static const struct {
        const char *headers, *args;
        bool fits;
    } ROWS[] = {
        {NAMED, "{}", true},
        {NAMED "Mcp-Param-A: x\r\n", "{'a':'x'}", true},
        {NAMED "mcp-param-a: =?base64?eA==?=\r\n", "{'a':'x'}", true},
        {NAMED "Mcp-Param-A: y\r\n", "{'a':'x'}", false},
        {NAMED, "{'a':'x'}", false},
        {NAMED "Mcp-Param-A: x\r\n", "{}", false},
        {NAMED "Mcp-Param-A: =?base64?*?=\r\n", "{'a':'x'}", false},
        {NAMED "Mcp-Param-N: 1\r\n", "{'n':1}", true},
        {NAMED "Mcp-Param-N: 1.0\r\n", "{'n':1}", true}, /* equal numbers */
        {NAMED "Mcp-Param-N: 2\r\n", "{'n':1}", false},
        {NAMED "Mcp-Param-Other: 2\r\n", "{}", true}, /* no schema names it */
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        str params = arena_printf(gw.arena, "{'name':'new__t','arguments':%s}", ROWS[i].args);
        assert_int_equal(check(ROWS[i].headers, "tools/call", params.p),
                         ROWS[i].fits ? 0 : MCP_HEADER_MISMATCH);
    }
}

TEST_GATEWAY(the_headers_of_a_changed_schema_count)
{
    assert_int_equal(
        check(NAMED "Mcp-Param-A: x\r\n", "tools/call", "{'name':'new__t','arguments':{'a':'x'}}"),
        0);
    gw.new->tools[0] = gw_json("{'name':'t','inputSchema':{'type':'object'}}");
    registry_changed(gw.base->tools, &gw.sources[0]);
    assert_int_equal(check(NAMED, "tools/call", "{'name':'new__t','arguments':{'a':'x'}}"), 0);
}

TEST_GATEWAY(headers_of_a_tool_that_the_caller_does_not_have_are_not_compared)
{
    /* the refusal does not depend on whether such a tool exists */
    assert_int_equal(check(CALL "Mcp-Name: nosuch\r\nMcp-Param-A: x\r\n", "tools/call",
                           "{'name':'nosuch','arguments':{}}"),
                     RPC_INVALID_PARAMS);
}

TEST_GATEWAY(older_clients_repeat_nothing)
{
    const char *session = gw_open();
    struct gw_client *c =
        gw_legacy(session, "tools/call", "{'name':'new__t','arguments':{'a':'x'}}");
    gw_answer(gw_heard("tools/call"), "{'resultType':'complete','content':[]}");
    assert_like(gw_reply(c), "{'result':{'resultType':null}}");
}
