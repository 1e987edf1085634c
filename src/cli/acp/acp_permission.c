/* Questions to the person at the editor: about tool calls (session/request_permission), and of
 * tools (elicitation/create, if the editor has it). A question about calls is asked call by call,
 * as in the terminal. Anything but a clear yes is a no. */
#include <assert.h>

#include "cli/acp/acp.h"

#define ALLOW_ONCE  "allow_once"
#define ALLOW_MINE  "allow_always"
#define ALLOW_ALL   "allow_always_workspace"
#define REJECT_ONCE "reject_once"

static void write_option(struct json_writer *w, const char *id, const char *kind, const char *name)
{
    jw_object(w);
    jw_kcstr(w, "optionId", id);
    jw_kcstr(w, "kind", kind);
    jw_kcstr(w, "name", name);
    jw_end(w);
}

/* The option that was chosen; empty: none, or the editor could not ask. */
static str chosen_option(const struct json *result)
{
    const struct json *outcome = json_get(result, "outcome");
    return str_eq(json_get_string(outcome, "outcome"), STR("selected"))
               ? json_get_string(outcome, "optionId")
               : STR_NONE;
}

static bool was_cancelled(const struct json *result)
{
    return str_eq(json_get_string(json_get(result, "outcome"), "outcome"), STR("cancelled"));
}

/* ---- tool calls ---- */

static void ask_next_call(struct acp_session *s);

static const struct json *current_call(const struct acp_session *s)
{
    return json_at(s->permit.calls, s->permit.at);
}

static bool can_remember(const struct acp_session *s)
{
    return json_get_bool(current_call(s), "canRemember", true);
}

/* The scope of an answer is that of all its calls: for the workspace only with a single one. */
static bool can_remember_for_all(const struct acp_session *s)
{
    return can_remember(s) && s->permit.calls->len == 1;
}

static void on_permission(struct acp_session *s, str what, const struct json *result)
{
    assert(s->phase == ACP_ASKING);
    str option = chosen_option(result);
    bool is_all = str_eq(option, STR(ALLOW_ALL)) && can_remember_for_all(s);
    bool is_mine = str_eq(option, STR(ALLOW_MINE)) && can_remember(s);
    if (was_cancelled(result)) {
        acp_cancel(s);
        return;
    }
    s->is_for_all = is_all;
    permit_decide(&s->permit, is_mine                                     ? PERMIT_ALWAYS
                              : is_all || str_eq(option, STR(ALLOW_ONCE)) ? PERMIT_YES
                                                                          : PERMIT_NO);
    if (permit_is_complete(&s->permit))
        acp_permission_complete(s);
    else
        ask_next_call(s);
}

static void ask_next_call(struct acp_session *s)
{
    struct acp_out o;
    const struct json *call = current_call(s);
    struct acp_call c = {json_get_string(call, "id"), json_get_string(call, "name"),
                         json_get(call, "input")};
    acp_show_call(s, &c, "pending");
    struct json_writer *w =
        acp_ask_begin(&o, s, "session/request_permission", on_permission, s->permit.ask_id);
    jw_kobject(w, "toolCall");
    acp_call_write(w, &o.arena, &c, s->cwd);
    jw_kstr(w, "status", STR("pending"));
    acp_call_write_content(w, &o.arena, &c, s->cwd, STR_NONE);
    jw_end(w);
    jw_karray(w, "options");
    write_option(w, ALLOW_ONCE, "allow_once", "Allow once");
    if (can_remember(s))
        write_option(w, ALLOW_MINE, "allow_always", "Always allow for me");
    if (can_remember_for_all(s))
        write_option(w, ALLOW_ALL, "allow_always", "Always allow in this workspace");
    write_option(w, REJECT_ONCE, "reject_once", "Reject");
    acp_send(s->acp, &o);
}

void acp_ask_permission(struct acp_session *s, const struct json *ask)
{
    assert(s->phase == ACP_RUNNING);
    permit_done(&s->permit);
    permit_init(&s->permit, ask);
    s->is_for_all = false;
    s->phase = ACP_ASKING;
    if (permit_is_complete(&s->permit))
        acp_permission_complete(s);
    else
        ask_next_call(s);
}

/* ---- questions of tools ---- */

static void on_form_answer(struct acp_session *s, str input_id, const struct json *result)
{
    str action = json_get_string(result, "action");
    const struct json *content = json_get(result, "content");
    bool is_yes = str_eq(action, STR("accept"));
    session_answer_input(s->chat, input_id,
                         is_yes                          ? "accept"
                         : str_eq(action, STR("cancel")) ? "cancel"
                                                         : "decline",
                         is_yes && json_is(content, JSON_OBJECT) ? content : NULL);
}

static void on_sampling_answer(struct acp_session *s, str input_id, const struct json *result)
{
    bool is_yes = str_eq(chosen_option(result), STR(ALLOW_ONCE));
    session_answer_input(s->chat, input_id, is_yes ? "accept" : "decline", NULL);
}

static void ask_form(struct acp_session *s, const struct json *q, bool is_url)
{
    struct acp_out o;
    str id = json_get_string(q, "inputId");
    struct json_writer *w = acp_ask_begin(&o, s, "elicitation/create", on_form_answer, id);
    jw_kstr_if(w, "toolCallId", json_get_string(q, "callId"));
    jw_kstr(w, "message", json_get_string(q, "message"));
    jw_kcstr(w, "mode", is_url ? "url" : "form");
    if (is_url) {
        jw_kstr(w, "elicitationId", id);
        jw_kstr(w, "url", json_get_string(q, "url"));
    } else {
        jw_kval(w, "requestedSchema", json_get(q, "schema"));
    }
    acp_send(s->acp, &o);
}

/* A server wants to use the model: a permission, with what it would send. */
static void ask_sampling(struct acp_session *s, const struct json *q)
{
    struct acp_out o;
    struct json_writer *w = acp_ask_begin(&o, s, "session/request_permission", on_sampling_answer,
                                          json_get_string(q, "inputId"));
    jw_kobject(w, "toolCall");
    jw_kstr(w, "toolCallId", json_get_string(q, "callId"));
    jw_kstr(w, "title", json_get_string(q, "message"));
    if (json_get(q, "detail"))
        jw_kval(w, "rawInput", json_get(q, "detail"));
    jw_end(w);
    jw_karray(w, "options");
    write_option(w, ALLOW_ONCE, "allow_once", "Allow once");
    write_option(w, REJECT_ONCE, "reject_once", "Reject");
    acp_send(s->acp, &o);
}

static bool is_plain_form(const struct json *schema)
{
    static const char *const TYPES[] = {"string", "number", "integer", "boolean", NULL};
    const struct json *fields = json_get(schema, "properties");
    for (size_t i = 0; json_is(fields, JSON_OBJECT) && i < fields->len; i++)
        if (!str_in_cstrs(json_get_string(&fields->members[i].value, "type"), TYPES))
            return false;
    return json_is(fields, JSON_OBJECT);
}

static void ask_input(struct acp_session *s, const struct json *q)
{
    str kind = json_get_string(q, "kind"), id = json_get_string(q, "inputId");
    bool is_url = str_eq(kind, STR("url"));
    if (str_eq(kind, STR("sampling"))) {
        ask_sampling(s, q);
    } else if (is_url ? s->acp->can_urls
                      : s->acp->can_forms && is_plain_form(json_get(q, "schema"))) {
        ask_form(s, q, is_url);
    } else {
        acp_notice(s, "warning",
                   STR("A question of a tool was declined: the editor cannot show it"),
                   json_get_string(q, "message"));
        session_answer_input(s->chat, id, "decline", NULL);
    }
}

void acp_ask_inputs(struct acp_session *s)
{
    for (size_t i = 0; s->inputs && i < s->inputs->len; i++)
        if (json_at(s->inputs, i)->type == JSON_OBJECT)
            ask_input(s, json_at(s->inputs, i));
    s->inputs = NULL;
}
