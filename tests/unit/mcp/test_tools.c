#include "mcp/client/client_impl.h"
#include "unit/mcp/rig.h"

#define BAD  "{\"name\":\"bad\",\"inputSchema\":{\"x-mcp-header\":\"A\"}}"
#define TASK "{\"name\":\"t\",\"execution\":{\"taskSupport\":\"required\"}}"

/* Annotations for headers matter only where there are headers. */
TEST_WITH(all_tools_stay_over_pipes, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_MODERN RIG_RESULT("tools/list", "{\"tools\":[" BAD "]}") "]");
    struct rig_call c;
    rig_request(r, &c, "tools/list", NULL);
    assert_true(str_find(c.result, STR("\"bad\""), 0) > 0);
}

TEST_WITH(a_new_list_replaces_what_is_known, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"tools/list\",\"times\":1,\"send\":[{\"jsonrpc\":\"2.0\","
                "\"id\":\"$id\",\"result\":{\"tools\":[" TASK
                "]}}]}," RIG_RESULT("tools/list", "{\"tools\":[]}") "]");
    struct rig_call c;
    assert_null(tools_find(r->client, STR("t")));
    rig_request(r, &c, "tools/list", NULL);
    assert_true(tools_find(r->client, STR("t"))->needs_task);
    rig_request(r, &c, "tools/list", "{\"cursor\":\"2\"}"); /* a later page adds */
    assert_true(tools_find(r->client, STR("t"))->needs_task);
    rig_request(r, &c, "tools/list", NULL);
    assert_null(tools_find(r->client, STR("t")));
}

TEST_WITH(lists_that_are_none, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY RIG_RESULT("tools/list", "{\"tools\":[1,null,{\"name\":5}]}") "]");
    struct rig_call c;
    rig_request(r, &c, "tools/list", NULL);
    assert_text(c.result, "{\"tools\":[1,null,{\"name\":5}]}");
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
