#include "mcp/client/message.h"
#include "support/unit.h"

static void check(const struct message_request *r, const char *expected)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    message_write_request(&out, r);
    assert_string_equal(buf_cstr(&out), expected);
    buf_done(&out);
}

static struct json *parse(struct arena *a, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

TEST(legacy_is_bare)
{
    check(&(struct message_request){.id = 3, .method = STR("ping"), .era = MCP_ERA_LEGACY},
          "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
}

TEST(meta_is_added_to)
{
    struct arena a;
    arena_init(&a);
    struct message_request r = {
        .id = 4,
        .method = STR("tools/call"),
        .params = parse(&a, "{\"name\":\"t\",\"_meta\":{\"traceparent\":\"x\","
                            "\"progressToken\":\"theirs\"},\"odd\":1.50}"),
        .era = MCP_ERA_LEGACY,
        .wants_progress = true,
    };
    check(&r, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
              "\"odd\":1.50,\"_meta\":{\"traceparent\":\"x\",\"progressToken\":4}}}");
    arena_done(&a);
}

TEST(modern_names_itself)
{
    struct message_request r = {
        .id = 1,
        .method = STR("tools/list"),
        .era = MCP_ERA_MODERN,
        .capabilities = STR("{\"roots\":{}}"),
        .log_level = STR("info"),
    };
    check(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
              "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
              "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}},"
              "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"nb\",\"version\":\"" NB_VERSION
              "\"},\"io.modelcontextprotocol/logLevel\":\"info\"}}}");
}

TEST(more_members_replace)
{
    struct arena a;
    arena_init(&a);
    struct message_request r = {
        .id = 2,
        .method = STR("m"),
        .params = parse(&a, "{\"a\":1,\"requestState\":\"old\"}"),
        .more = parse(&a, "{\"requestState\":\"new\",\"inputResponses\":{}}"),
        .era = MCP_ERA_LEGACY,
    };
    check(&r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\",\"params\":{\"a\":1,"
              "\"requestState\":\"new\",\"inputResponses\":{}}}");
    arena_done(&a);
}

static void check_capabilities(const char *declared, bool with_tasks, const char *expected)
{
    struct arena a;
    arena_init(&a);
    struct buf out;
    buf_init(&out, 1 << 16);
    message_write_capabilities(&out, declared ? parse(&a, declared) : NULL, with_tasks);
    assert_string_equal(buf_cstr(&out), expected);
    buf_done(&out);
    arena_done(&a);
}

TEST(capabilities_have_the_form_of_the_modern_era)
{
    const char *declared = "{\"roots\":{\"listChanged\":true},\"tasks\":{},\"sampling\":{"
                           "\"tools\":{}},\"extensions\":{\"x/y\":{}}}";
    check_capabilities(declared, false,
                       "{\"roots\":{},\"sampling\":{\"tools\":{}},\"extensions\":{\"x/y\":{}}}");
    check_capabilities(declared, true,
                       "{\"roots\":{},\"sampling\":{\"tools\":{}},\"extensions\":{\"x/y\":{},"
                       "\"io.modelcontextprotocol/tasks\":{}}}");
    check_capabilities(NULL, false, "{}");
}
