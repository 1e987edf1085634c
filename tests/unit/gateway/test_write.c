#include "gateway/write.h"
#include "support/unit.h"

static struct arena mem;

static const char *translate(enum mcp_era from, enum mcp_era to, const char *method,
                             const char *result)
{
    struct json *v;
    struct buf b;
    struct json_writer w;
    struct gw_result how = {.from = from, .to = to, .method = str_from(method)};
    assert_int_equal(json_parse(&mem, str_from(result), 0, &v, NULL), 0);
    buf_init(&b, 1u << 20);
    jw_init(&w, &b);
    gw_write_result(&w, &how, v);
    const char *text = arena_cstr(&mem, buf_str(&b));
    buf_done(&b);
    return text;
}

#define INFO                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"nimblebrain\",\"title\":"       \
    "\"NimbleBrain\",\"version\":\"" NB_VERSION "\"}}"

TEST(modern_words_are_not_said_to_older_clients)
{
    const char *got = translate(MCP_ERA_MODERN, MCP_ERA_LEGACY, "tools/call",
                                "{\"resultType\":\"complete\",\"content\":[],\"ttlMs\":1,"
                                "\"cacheScope\":\"public\",\"x\":1.50,\"structuredContent\":[1],"
                                "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{}}}");
    assert_string_equal(got, "{\"content\":[],\"x\":1.50}");
    got = translate(MCP_ERA_MODERN, MCP_ERA_LEGACY, "tools/call",
                    "{\"structuredContent\":{\"a\":1},\"_meta\":{\"k\":1,"
                    "\"io.modelcontextprotocol/serverInfo\":{}}}");
    assert_string_equal(got, "{\"structuredContent\":{\"a\":1},\"_meta\":{\"k\":1}}");
}

TEST(what_newer_clients_need_is_added)
{
    const char *got = translate(MCP_ERA_LEGACY, MCP_ERA_MODERN, "tools/call", "{\"content\":[]}");
    assert_string_equal(got, "{\"content\":[],\"resultType\":\"complete\"," INFO "}");
    got = translate(MCP_ERA_LEGACY, MCP_ERA_MODERN, "resources/read", "{\"contents\":[]}");
    assert_string_equal(got, "{\"contents\":[],\"resultType\":\"complete\",\"ttlMs\":0,"
                             "\"cacheScope\":\"private\"," INFO "}");
    got = translate(MCP_ERA_MODERN, MCP_ERA_MODERN, "resources/read",
                    "{\"resultType\":\"input_required\",\"requestState\":\"s\"}");
    assert_string_equal(got, "{\"resultType\":\"input_required\",\"requestState\":\"s\"," INFO "}");
}

TEST(between_equals_nothing_changes)
{
    static const char SAME[] = "{\"content\":[],\"vendor\":{\"n\":1e400},\"_meta\":{\"k\":null}}";
    assert_string_equal(translate(MCP_ERA_LEGACY, MCP_ERA_LEGACY, "tools/call", SAME), SAME);
}

int main(void)
{
    arena_init(&mem);
    int failed = run_unit_tests("tests", NULL);
    arena_done(&mem);
    return failed;
}
