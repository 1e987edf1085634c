#include <assert.h>

#include "auth/rule.h"
#include "base/text/plain.h"
#include "engine/run.h"
#include "gateway/methods/method.h"
#include "tools/result.h"

static const char DEFINITION[] =
    "{\"title\":\"Chat\",\"description\":\"Send a message to the agent of this workspace and wait "
    "for its answer. The agent has all tools of the workspace and remembers the conversation. "
    "Without conversationId a new conversation begins; its id is in the "
    "result.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"message\":{\"type\":"
    "\"string\",\"description\":\"The message to "
    "send\"},\"conversationId\":{\"type\":\"string\",\"description\":\"The conversation to "
    "continue\"},\"model\":{\"type\":\"string\",\"description\":\"The model to use, instead of the "
    "default\"}},\"required\":[\"message\"],\"additionalProperties\":false},\"annotations\":{"
    "\"title\":\"Chat\",\"readOnlyHint\":false,\"openWorldHint\":true}}";

/* The right to send is checked after the conversation has been read (runtime/turn/turn.c). */
const struct access_rule *gateway_chat_rule(void)
{
    static const struct access_rule RULE = {
        .scope = SCOPE_MCP, .space = WS_MEMBER, .conv = RULE_CONV_SEND};
    return &RULE;
}

const struct json *gw_chat_tool(struct arena *a)
{
    struct json *tool = NULL;
    (void)json_parse(a, str_from(DEFINITION), 0, &tool, NULL);
    return tool;
}

static bool is_permitted(const struct actor *a)
{
    for (size_t i = 0; i < a->nfilters; i++)
        if (!globs_match(a->filters[i].globs, STR(GATEWAY_CHAT_TOOL)))
            return false;
    return true;
}

bool gw_chat_is_offered(const struct gw_request *q)
{
    bool is_own = q->source.n == 0 || str_eq(q->source, STR("nb"));
    return is_own && q->space->runtime && is_permitted(q->actor);
}

static void on_chat_tool_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    struct gw_request *q = ctx;
    struct json_member m[] = {
        {STR("progress"), json_of_int(0)},
        {STR("message"), json_of_str(arena_concat(&q->arena, STR("started "), conversation_id))},
    };
    struct json params = {.type = JSON_OBJECT, .len = ARRAY_LEN(m), .members = m};
    gw_request_progress(q, &params);
}

static void on_chat_tool_cancel(struct gw_request *q)
{
    struct message *t = q->work;
    turn_forget(t);
    turn_cancel(t);
}

static void chat_tool_reply(struct gw_request *q, str text, const struct json *structured,
                            bool is_error)
{
    assert(q->on_cancel == on_chat_tool_cancel); /* a turn ends once */
    struct tool_result r = tool_result_text(&q->arena, text);
    r.structured = structured;
    r.is_error = is_error;
    q->on_cancel = NULL;
    gw_request_tool_result(q, &r, NULL);
}

static void on_chat_tool_done(void *ctx, const struct turn_result *t)
{
    struct gw_request *q = ctx;
    struct arena *a = &q->arena;
    bool is_error = t->run->stop == RUN_STOP_ERROR;
    struct json *out = json_new(a, JSON_OBJECT);
    json_set(a, out, STR("conversationId"), json_of_str(t->conversation_id));
    json_set(a, out, STR("runId"), json_of_str(t->run_id));
    json_set(a, out, STR("stopReason"), json_of_str(str_from(run_stop_name(t->run->stop))));
    json_set(a, out, STR("iterations"), json_of_int(t->run->iterations));
    chat_tool_reply(q, is_error ? str_from(t->run->err.msg) : t->run->response, out, is_error);
}

static void on_chat_tool_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct err shown = *err;
    plain_err(&shown);
    chat_tool_reply(ctx, str_from(shown.msg), NULL, true);
}

void gw_chat_call(struct gw_request *q)
{
    static const struct turn_events EVENTS = {on_chat_tool_started, on_chat_tool_done,
                                              on_chat_tool_refused};
    const struct json *args = json_get(q->params, "arguments");
    struct turn_request req = {
        .actor = q->actor,
        .conversation_id = store_id_meant(json_get_string(args, "conversationId")),
        .message = json_get_string(args, "message"),
        .model = json_get_string(args, "model"),
        .channel = STR("mcp"),
        .is_unattended = true,
    };
    q->on_cancel = on_chat_tool_cancel;
    q->work = turn_start(q->space->runtime, &req, &EVENTS, q);
}
