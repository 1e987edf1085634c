/* Events of a turn as session/update. All run in callbacks: they write, or remember. */
#include <assert.h>

#include "cli/acp/acp.h"

static void on_acp_started(void *ctx, const struct json *d)
{
    struct acp_session *s = ctx;
    acp_wake(s->acp); /* a cancellation may have waited for the id of the conversation */
}

static void on_acp_text(void *ctx, const struct json *d)
{
    acp_send_chunk(ctx, "agent_message_chunk", json_get_string(d, "text"), STR_NONE);
}

static void on_acp_thinking(void *ctx, const struct json *d)
{
    acp_send_chunk(ctx, "agent_thought_chunk", json_get_string(d, "text"), STR_NONE);
}

static void on_acp_retry(void *ctx, const struct json *d)
{
    acp_notice(ctx, "warning", STR("The model does not answer; trying again"),
               json_get_string(d, "message"));
}

/* The size of the context, for usage_update. */
static void on_acp_model_done(void *ctx, const struct json *d)
{
    struct acp_session *s = ctx;
    s->used_tokens = json_get_int(d, "inputTokens", 0) + json_get_int(d, "outputTokens", 0);
}

/* ---- tool calls ---- */

static struct acp_call *remember_call(struct acp_session *s, const struct acp_call *c)
{
    struct acp_call *known = map_get(&s->calls, c->id);
    if (!known) {
        known = ARENA_NEW(&s->turn, struct acp_call);
        known->id = arena_str(&s->turn, c->id);
        (void)map_put(&s->calls, known->id, known);
    }
    if (c->name.n > 0)
        known->name = arena_str(&s->turn, c->name);
    if (c->input)
        known->input = json_clone(&s->turn, c->input);
    return known;
}

void acp_show_call(struct acp_session *s, const struct acp_call *c, const char *status)
{
    struct acp_out o;
    bool is_known = map_get(&s->calls, c->id) != NULL;
    const struct acp_call *call = remember_call(s, c);
    struct json_writer *w = acp_update_begin(&o, s, is_known ? "tool_call_update" : "tool_call");
    acp_call_write(w, &o.arena, call, s->cwd);
    jw_kcstr(w, "status", status);
    if (call->input)
        acp_call_write_content(w, &o.arena, call, s->cwd, STR_NONE);
    acp_send(s->acp, &o);
}

static void on_acp_preparing(void *ctx, const struct json *d)
{
    struct acp_call c = {json_get_string(d, "id"), json_get_string(d, "name"), NULL};
    struct acp_session *s = ctx;
    if (c.id.n > 0 && !map_get(&s->calls, c.id))
        acp_show_call(s, &c, "pending");
}

static void on_acp_tool_start(void *ctx, const struct json *d)
{
    struct acp_call c = {json_get_string(d, "id"), json_get_string(d, "name"),
                         json_get(d, "input")};
    acp_show_call(ctx, &c, "in_progress");
}

static void on_acp_progress(void *ctx, const struct json *d)
{
    struct acp_session *s = ctx;
    struct acp_out o;
    const struct acp_call *call = map_get(&s->calls, json_get_string(d, "id"));
    str message = json_get_string(d, "message");
    if (!call || message.n == 0)
        return;
    struct json_writer *w = acp_update_begin(&o, s, "tool_call_update");
    jw_kstr(w, "toolCallId", call->id);
    acp_call_write_content(w, &o.arena, call, s->cwd, message);
    acp_send(s->acp, &o);
}

static void on_acp_tool_done(void *ctx, const struct json *d)
{
    struct acp_session *s = ctx;
    struct acp_out o;
    struct acp_call c = {json_get_string(d, "id"), json_get_string(d, "name"), NULL};
    if (!map_get(&s->calls, c.id)) /* refused before it began */
        acp_show_call(s, &c, "pending");
    const struct acp_call *call = map_get(&s->calls, c.id);
    struct json_writer *w = acp_update_begin(&o, s, "tool_call_update");
    jw_kstr(w, "toolCallId", call->id);
    jw_kcstr(w, "status", json_get_bool(d, "ok", false) ? "completed" : "failed");
    acp_call_write_content(w, &o.arena, call, s->cwd, json_get_string(d, "output"));
    acp_send(s->acp, &o);
}

/* ---- questions of tools ---- */

static void on_acp_input(void *ctx, const struct json *d)
{
    struct acp_session *s = ctx;
    if (!s->inputs)
        s->inputs = json_new(&s->turn, JSON_ARRAY);
    json_push(&s->turn, s->inputs, *json_clone(&s->turn, d));
    acp_wake(s->acp);
}

static void on_acp_input_gone(void *ctx, const struct json *d)
{
    struct acp_session *s = ctx;
    str id = json_get_string(d, "inputId");
    for (size_t i = 0; s->inputs && i < s->inputs->len; i++)
        if (str_eq(json_get_string(json_at(s->inputs, i), "inputId"), id))
            *json_at(s->inputs, i) = json_of_null();
    if (id.n > 0)
        acp_forget_asked(s, id);
}

/* ---- the end ---- */

static void on_acp_end(struct acp_session *s, const struct json *d, bool is_error)
{
    assert(s->phase == ACP_RUNNING && !s->end);
    s->end = json_clone(&s->turn, d);
    s->is_error = is_error;
    acp_wake(s->acp);
}

static void on_acp_done(void *ctx, const struct json *report)
{
    on_acp_end(ctx, report, false);
}

static void on_acp_error(void *ctx, const struct json *d)
{
    on_acp_end(ctx, d, true);
}

const struct session_events ACP_EVENTS = {
    .on_started = on_acp_started,
    .on_text = on_acp_text,
    .on_thinking = on_acp_thinking,
    .on_model_done = on_acp_model_done,
    .on_tool_preparing = on_acp_preparing,
    .on_tool_start = on_acp_tool_start,
    .on_tool_progress = on_acp_progress,
    .on_tool_done = on_acp_tool_done,
    .on_retry = on_acp_retry,
    .on_input = on_acp_input,
    .on_input_gone = on_acp_input_gone,
    .on_done = on_acp_done,
    .on_error = on_acp_error,
};
