/* Tasks: ids that name their server and belong to one user, and lists of one's own tasks. */
#include "gateway/upstream/task_ids.h"
#include "support/gateway_rig.h"

#define TASKS "{'extensions':{'" MCP_EXTENSION_TASKS "':{}}}"

static const char *session;

/* A call that the server runs as a task; returns the id that the client gets. */
static const char *start_task(const char *server_id)
{
    struct gw_client *c =
        gw_legacy(session, "tools/call", "{'name':'old__k','task':{'ttl':60000}}");
    struct gw_heard *h = gw_heard("tools/call");
    assert_like(h->m.params, "{'name':'k','task':{'ttl':60000}}");
    gw_answer(h,
              arena_printf(gw.arena, "{'task':{'taskId':'%s','status':'working'}}", server_id).p);
    const struct json *task = json_get(json_get(gw_reply(c), "result"), "task");
    assert_like(task, "{'status':'working'}");
    return arena_cstr(gw.arena, json_get_string(task, "taskId"));
}

static struct gw_client *get_task(const char *id)
{
    return gw_legacy(session, "tasks/get", arena_printf(gw.arena, "{'taskId':'%s'}", id).p);
}

TEST_GATEWAY(a_task_gets_an_id_of_the_gateway_that_names_its_server)
{
    session = gw_open();
    const char *id = start_task("t-1");
    assert_non_null(strstr(id, ".old/t-1"));
    struct gw_client *c = get_task(id);
    struct gw_heard *h = gw_heard("tasks/get");
    assert_string_equal(h->peer->name, "old");
    assert_like(h->m.params, "{'taskId':'t-1'}");
    gw_answer(h, "{'taskId':'t-1','status':'completed'}");
    assert_like(gw_reply(c),
                arena_printf(gw.arena, "{'result':{'taskId':'%s','status':'completed'}}", id).p);
}

TEST_GATEWAY(the_methods_of_tasks_reach_the_server_of_the_task)
{
    static const char *const METHODS[] = {"tasks/get", "tasks/cancel", "tasks/result"};
    session = gw_open();
    const char *id = start_task("t-1");
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++) {
        (void)gw_legacy(session, METHODS[i], arena_printf(gw.arena, "{'taskId':'%s'}", id).p);
        assert_like(gw_heard(METHODS[i])->m.params, "{'taskId':'t-1'}");
    }
}

TEST_GATEWAY(a_task_of_another_user_does_not_exist)
{
    session = gw_open();
    const char *id = start_task("t-1");
    gw.who = gw.base->ben;
    session = gw_open();
    assert_like(gw_reply(get_task(id)), "{'error':{'code':-32602,'message':'No such task.'}}");
    assert_not_heard("tasks/get");
}

TEST_GATEWAY(an_id_that_the_gateway_did_not_make_is_refused)
{
    static const char *const IDS[] = {"", "t-1", "old/t-1",
                                      "00000000000000000000000000000000.old/t-1"};
    session = gw_open();
    for (size_t i = 0; i < ARRAY_LEN(IDS); i++)
        assert_like(gw_reply(get_task(IDS[i])), "{'error':{'code':-32602}}");
    assert_like(gw_reply(gw_legacy(session, "tasks/get", "{}")), "{'error':{'code':-32602}}");
    assert_not_heard("tasks/get");
}

TEST_GATEWAY(at_one_source_only_tasks_of_that_source_exist)
{
    session = gw_open();
    const char *id = start_task("t-1");
    str params = arena_printf(gw.arena, "{'taskId':'%s'}", id);
    const char *other = gw_open_at("/mcp/new", GW_LEGACY), *own = gw_open_at("/mcp/old", GW_LEGACY);
    assert_like(gw_reply(gw_legacy_at("/mcp/new", other, "tasks/get", params.p)),
                "{'error':{'code':-32602}}");
    (void)gw_legacy_at("/mcp/old", own, "tasks/get", params.p);
    (void)gw_heard("tasks/get");
}

TEST_GATEWAY(a_token_needs_a_tool_of_the_source)
{
    session = gw_open();
    const char *id = start_task("t-1");
    gw.who = gw_actor((struct principal){.user_id = STR("usr_ana")}, "['new__*']");
    session = gw_open();
    assert_like(gw_reply(get_task(id)), "{'error':{'code':-32602}}");
}

TEST_GATEWAY(stateless_clients_must_declare_the_extension)
{
    struct gw_client *c = gw_modern("tasks/get", "{'taskId':'x'}");
    assert_int_equal(gw_status(c), 400);
    assert_int_equal(json_get_int(json_get(gw_reply(c), "error"), "code", 0),
                     MCP_MISSING_CAPABILITY);
    assert_like(gw_reply(c), "{'error':{'data':{'requiredCapabilities':{'extensions':{"
                             "'" MCP_EXTENSION_TASKS "':{}}}}}}");
    gw.capabilities = TASKS;
    assert_like(gw_reply(gw_modern("tasks/get", "{'taskId':'x'}")),
                "{'error':{'message':'No such task.'}}");
}

TEST_GATEWAY(a_stateless_task_is_renamed_and_updated)
{
    gw.capabilities = TASKS;
    struct gw_client *c = gw_modern("tools/call", "{'name':'new__k'}");
    gw_answer(gw_heard("tools/call"), "{'resultType':'task','taskId':'t-9','status':'working'}");
    const struct json *result = json_get(gw_reply(c), "result");
    assert_like(result, "{'resultType':'task','status':'working'}");
    str id = json_get_string(result, "taskId");
    assert_true(str_ends(id, STR(".new/t-9")));
    (void)gw_modern("tasks/update",
                    arena_printf(gw.arena, "{'taskId':'%.*s','inputResponses':{}}", STR_ARG(id)).p);
    assert_like(gw_heard("tasks/update")->m.params, "{'taskId':'t-9','inputResponses':{}}");
}

/* ---- tasks/list ---- */

TEST_GATEWAY(the_list_has_only_tasks_of_the_caller)
{
    gw_serve("old", "tasks/list",
             "{'tasks':[{'taskId':'a-1'},{'taskId':'b-1'},{'taskId':'of-nobody'}]}");
    gw_serve("new", "tasks/list", "{'tasks':[{'taskId':'a-1'}]}");
    session = gw_open();
    const char *anas = start_task("a-1");
    gw.who = gw.base->ben;
    const char *bens_session = session = gw_open();
    (void)start_task("b-1");
    gw.who = gw.base->ana;
    session = gw_open();
    assert_like(gw_reply(gw_legacy(session, "tasks/list", "{}")),
                arena_printf(gw.arena, "{'result':{'tasks':[{'taskId':'%s'}]}}", anas).p);
    gw.who = gw.base->ben;
    const struct json *reply = gw_reply(gw_legacy(bens_session, "tasks/list", "{}"));
    assert_like(reply, "{'result':{'tasks':[{}]}}");
    assert_true(str_ends(
        json_get_string(json_at(json_get(json_get(reply, "result"), "tasks"), 0), "taskId"),
        STR(".old/b-1")));
}

TEST_GATEWAY(all_pages_of_tasks_are_read)
{
    gw_serve("old", "tasks/list", NULL);
    gw.new->capabilities = gw_json("{'tools':{}}"); /* has no tasks */
    session = gw_open();
    (void)start_task("t-1");
    (void)start_task("t-2");
    struct gw_client *c = gw_legacy(session, "tasks/list", "{}");
    gw_answer(gw_heard("tasks/list"), "{'tasks':[{'taskId':'t-1'}],'nextCursor':'more'}");
    struct gw_heard *second = gw_heard("tasks/list");
    assert_like(second->m.params, "{'cursor':'more'}");
    gw_answer(second, "{'tasks':[{'taskId':'t-2'}]}");
    assert_like(gw_reply(c), "{'result':{'tasks':[{},{}]}}");
}

TEST_GATEWAY(a_server_that_fails_to_list_its_tasks_is_left_out)
{
    gw_serve("old", "tasks/list", NULL);
    gw.new->capabilities = gw_json("{'tools':{}}");
    session = gw_open();
    struct gw_client *c = gw_legacy(session, "tasks/list", "{}");
    gw_fail(gw_heard("tasks/list"), "{'code':-32603,'message':'no'}");
    assert_like(gw_reply(c), "{'result':{'tasks':[]}}");
}

TEST_GATEWAY(the_owners_of_the_oldest_tasks_are_forgotten_at_the_ceiling)
{
    session = gw_open();
    (void)start_task("first");
    struct gw_request *q =
        gw_request_make(gw_space(), &(struct gateway_caller){.actor = gw.who}, STR(""));
    for (int i = 0; i < GW_TASKS_MAX; i++)
        gw_task_remember(q, STR("old"), arena_printf(gw.arena, "t-%d", i));
    assert_int_equal(gw_space()->ntasks, GW_TASKS_MAX);
    assert_false(gw_task_is_own(q, STR("old"), STR("first")));
    assert_true(gw_task_is_own(q, STR("old"), STR("t-0")));
    assert_false(gw_task_is_own(q, STR("new"), STR("t-0")));
    gw_request_free(q);
}

/* ---- ids inside messages ---- */

TEST_GATEWAY(a_related_task_is_renamed_in_both_directions)
{
    session = gw_open();
    str user = STR("usr_ana");
    (void)gw_reply(gw_legacy(session, "ping", "{}"));
    const struct json *message = gw_json("{'_meta':{'" META_RELATED_TASK "':{'taskId':'t-1'}}}");
    struct json *renamed =
        json_clone(gw.arena, gw_task_ids_rename(gw_space(), gw.arena, user, gw.old, message));
    str id = json_get_string(json_get(json_get(renamed, "_meta"), META_RELATED_TASK), "taskId");
    assert_true(str_ends(id, STR(".old/t-1")));
    struct json *foreign = json_clone(gw.arena, renamed);
    gw_task_ids_restore(gw_space(), gw.arena, user, renamed);
    assert_true(json_equal(renamed, message));
    gw_task_ids_restore(gw_space(), gw.arena, STR("usr_ben"), foreign);
    assert_like(foreign, "{'_meta':{'" META_RELATED_TASK "':null}}");
}

TEST_GATEWAY(a_message_without_tasks_is_not_copied)
{
    session = gw_open();
    const struct json *message = gw_json("{'content':[{'taskId':'inside'}]}");
    assert_ptr_equal(gw_task_ids_rename(gw_space(), gw.arena, STR("u"), gw.old, message), message);
}
