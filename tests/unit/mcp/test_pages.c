#include <errno.h>

#include "unit/mcp/rig.h"

static void list_all(struct rig *r, struct rig_call *c)
{
    *c = (struct rig_call){.r = r};
    c->call = mcp_list_all(r->client, STR("tools/list"), "tools", &RIG_CALL_EVENTS, c);
    assert_true(rig_until(r, &c->is_done));
}

#define PAGE_ONCE(tools, next)                                                                     \
    "{\"on\":\"tools/list\",\"times\":1,\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":" \
    "{\"tools\":" tools next "}}]},"

TEST_WITH(pages_are_joined, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY PAGE_ONCE("[{\"name\":\"a\",\"x\":1.0}]", ",\"nextCursor\":\"\"")
                    PAGE_ONCE("[]", ",\"nextCursor\":\"c2\"")
                        PAGE_ONCE("[{\"name\":\"b\"}]", "") "{\"on\":\"x\"}]");
    struct rig_call c;
    list_all(r, &c);
    assert_text(c.result, "{\"tools\":[{\"name\":\"a\",\"x\":1.0},{\"name\":\"b\"}]}");
    assert_true(rig_has(&r->heard, "{\"cursor\":\"\"}")); /* a cursor like any other */
    assert_true(rig_has(&r->heard, "{\"cursor\":\"c2\"}"));
}

TEST_WITH(same_page_for_ever, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY RIG_RESULT("tools/list", "{\"tools\":[],\"nextCursor\":\"x\"}") "]");
    struct rig_call c;
    list_all(r, &c);
    assert_int_equal(c.err.code, -EPROTO);
}

TEST_WITH(no_list, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY RIG_RESULT("tools/list", "{\"tools\":{}}") "]");
    struct rig_call c;
    list_all(r, &c);
    assert_int_equal(c.err.code, -EPROTO);
}

static void fill(struct buf *script, int n)
{
    buf_init(script, 4u << 20);
    buf_add_lit(script, "[" RIG_LEGACY "{\"on\":\"tools/list\",\"send\":[{\"jsonrpc\":\"2.0\","
                        "\"id\":\"$id\",\"result\":{\"tools\":[");
    for (int i = 0; i < n; i++)
        buf_add_lit(script, i ? ",1" : "1");
    buf_add_lit(script, "]}}]}]");
}

TEST_WITH(items_are_bounded, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct buf script;
    fill(&script, MCP_LIST_MAX + 1);
    rig_open(r, buf_cstr(&script));
    struct rig_call c;
    list_all(r, &c);
    assert_int_equal(c.err.code, -EMSGSIZE);
    buf_done(&script);
}

TEST_WITH(many_tools, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct buf script;
    fill(&script, 5000);
    rig_open(r, buf_cstr(&script));
    struct rig_call c;
    list_all(r, &c);
    assert_true(c.result.n > 5000);
    buf_done(&script);
}

TEST_WITH(error_of_a_page, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY PAGE_ONCE("[]", ",\"nextCursor\":\"1\"") "{\"on\":\"x\"}]");
    struct rig_call c;
    list_all(r, &c);
    assert_text(c.error, "{\"code\":-32601,\"message\":\"no\"}");
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
