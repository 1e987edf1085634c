/* nb__chat: the agent of the workspace as a tool. */
#include "support/gateway_rig.h"

static struct gw_client *chat(const char *args)
{
    return gw_modern("tools/call",
                     arena_printf(gw.arena, "{'name':'nb__chat','arguments':%s}", args).p);
}

static const char *conversation_of(const struct json *reply)
{
    const struct json *out = json_get(json_get(reply, "result"), "structuredContent");
    return arena_cstr(gw.arena, json_get_string(out, "conversationId"));
}

TEST_GATEWAY(a_message_starts_a_conversation_and_its_answer_is_the_result)
{
    model_says("hello");
    const struct json *reply = gw_reply(chat("{'message':'hi'}"));
    assert_like(reply, "{'result':{'isError':null,'content':[{'type':'text','text':'hello'}],"
                       "'structuredContent':{'stopReason':'complete','iterations':1}}}");
    assert_log(gw.base, conversation_of(reply), "user.message run.start llm.response run.done");
}

TEST_GATEWAY(a_conversation_is_continued_by_its_id)
{
    model_says("one");
    model_says("two");
    const char *id = conversation_of(gw_reply(chat("{'message':'first'}")));
    const struct json *reply =
        gw_reply(chat(arena_printf(gw.arena, "{'message':'second','conversationId':'%s'}", id).p));
    assert_string_equal(conversation_of(reply), id);
    assert_like(reply, "{'result':{'content':[{'text':'two'}]}}");
    assert_log(gw.base, id,
               "user.message run.start llm.response run.done user.message run.start llm.response "
               "run.done");
}

TEST_GATEWAY(a_conversation_of_another_person_is_not_reachable)
{
    model_says("one");
    const char *id = conversation_of(gw_reply(chat("{'message':'first'}")));
    gw.who = gw.base->ben;
    assert_like(gw_reply(chat(
                    arena_printf(gw.arena, "{'message':'let me in','conversationId':'%s'}", id).p)),
                "{'result':{'isError':true,'structuredContent':null}}");
    assert_log(gw.base, id, "user.message run.start llm.response run.done");
}

TEST_GATEWAY(a_model_that_fails_is_a_failed_tool)
{
    model_fails(LLM_ERR_AUTH, "no key");
    assert_like(gw_reply(chat("{'message':'hi'}")),
                "{'result':{'isError':true,'structuredContent':{'stopReason':'error'}}}");
}

TEST_GATEWAY(the_conversation_is_named_before_the_answer_to_clients_that_want_progress)
{
    MODEL(.text = "later", .is_held = true);
    struct gw_client *c = gw_modern(
        "tools/call", "{'name':'nb__chat','arguments':{'message':'hi'},'_meta':{'progressToken':"
                      "'p'}}");
    str started = json_get_string(json_get(gw_message(c, 0), "params"), "message");
    assert_true(str_starts(started, STR("started ")));
    model_release();
    const char *id = conversation_of(gw_reply(c));
    assert_true(str_ends(started, str_from(id)));
}

TEST_GATEWAY(a_client_that_leaves_cancels_the_turn)
{
    MODEL(.text = "never", .is_held = true);
    struct gw_client *c = gw_modern(
        "tools/call", "{'name':'nb__chat','arguments':{'message':'hi'},'_meta':{'progressToken':"
                      "'p'}}");
    str started = json_get_string(json_get(gw_message(c, 0), "params"), "message");
    const char *id = arena_cstr(gw.arena, str_skip(started, strlen("started ")));
    gw_leave(c);
    gw_until(rig_last(gw.base, id, "run.done"));
    assert_like(rig_last(gw.base, id, "run.done"), "{'stopReason':'cancelled'}");
}

TEST_GATEWAY(the_tool_exists_only_where_the_agent_does)
{
    struct gw_client *c = gw_modern_at("/mcp/old", "", "tools/call",
                                       "{'name':'nb__chat','arguments':{'message':'hi'}}");
    assert_like(gw_reply(c), "{'error':{'code':-32602}}"); /* another source */
    rig_stop_runtime(gw.base);                             /* a gateway without a runtime */
    assert_like(gw_reply(chat("{'message':'hi'}")), "{'error':{'code':-32602}}");
}
