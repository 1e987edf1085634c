#include "engine/events.h"

#include "bus/vocabulary.h"

#define EVENT_MAX (64u * 1024 * 1024)

struct event_line {
    struct buf buf;
    struct json_writer w;
};

static void line_begin(struct event_line *l, enum event_type type, str run_id)
{
    jw_start(&l->w, &l->buf, EVENT_MAX);
    jw_object(&l->w);
    jw_kstr(&l->w, "type", event_name(type));
    if (run_id.n > 0)
        jw_kstr(&l->w, "runId", run_id);
}

static str line_end(struct event_line *l, struct arena *a)
{
    jw_end(&l->w);
    str s = arena_str(a, buf_str(&l->buf));
    buf_done(&l->buf);
    return s;
}

static void text_part(struct json_writer *w, str text)
{
    jw_object(w);
    jw_kstr(w, "type", STR("text"));
    jw_kstr(w, "text", text);
    jw_end(w);
}

static void add_optional(struct json_writer *w, const char *key, str value)
{
    if (value.n > 0)
        jw_kstr(w, key, value);
}

static void setting_member(struct json_writer *w, str setting)
{
    if (setting.n == 0)
        return;
    jw_kraw(w, "setting", setting);
}

static void context_member(struct json_writer *w, const struct view_context *c, size_t n)
{
    jw_karray(w, "context");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_kstr(w, "app", c[i].app);
        add_optional(w, "callId", c[i].call_id);
        jw_kstr(w, "text", c[i].text);
        jw_end(w);
    }
    jw_end(w);
}

static void rights_members(struct json_writer *w, struct json_strs tool_limit,
                           struct json_strs words_of)
{
    if (tool_limit.items)
        jw_kstrs(w, "toolLimit", tool_limit.items, tool_limit.len);
    if (words_of.len > 0)
        jw_kstrs(w, "wordsOf", words_of.items, words_of.len);
}

str event_user_message(struct arena *a, const struct event_message *m)
{
    struct event_line l;
    line_begin(&l, EV_USER_MESSAGE, STR_NONE);
    jw_karray(&l.w, "content");
    for (size_t i = 0; m->files && i < m->files->len; i++)
        jw_value(&l.w, &m->files->items[i]);
    if (m->text.n > 0 || !m->files)
        text_part(&l.w, m->text);
    jw_end(&l.w);
    add_optional(&l.w, "userId", m->user_id);
    add_optional(&l.w, "queuedId", m->queued_id);
    rights_members(&l.w, m->tool_limit, m->words_of);
    add_optional(&l.w, "app", m->app);
    if (m->ncontexts > 0)
        context_member(&l.w, m->contexts, m->ncontexts);
    if (m->is_for_people)
        jw_kbool(&l.w, "forPeople", true);
    return line_end(&l, a);
}

str event_run_start(struct arena *a, const struct event_run *r)
{
    struct event_line l;
    line_begin(&l, EV_RUN_START, r->run_id);
    jw_kstr(&l.w, "model", r->model);
    add_optional(&l.w, "userId", r->user_id);
    add_optional(&l.w, "skill", r->skill);
    add_optional(&l.w, "resumes", r->resumes);
    add_optional(&l.w, "parentRunId", r->parent_run_id);
    setting_member(&l.w, r->setting);
    return line_end(&l, a);
}

str event_run_author(struct arena *a, const struct event_author *by)
{
    struct event_line l;
    line_begin(&l, EV_RUN_AUTHOR, by->run_id);
    jw_kstr(&l.w, "userId", by->user_id);
    rights_members(&l.w, by->tool_limit, by->words_of);
    return line_end(&l, a);
}

str event_ask_opened(struct arena *a, str run_id, str ask_id, const struct json *calls, str setting)
{
    struct event_line l;
    line_begin(&l, EV_ASK_OPENED, run_id);
    jw_kstr(&l.w, "askId", ask_id);
    jw_kval(&l.w, "calls", calls);
    setting_member(&l.w, setting);
    return line_end(&l, a);
}

str event_ask_answered(struct arena *a, const struct event_answer *answer)
{
    struct event_line l;
    line_begin(&l, EV_ASK_ANSWERED, STR_NONE);
    jw_kstr(&l.w, "askId", answer->ask_id);
    jw_kstr(&l.w, "decision", str_from(answer->decision));
    if (answer->decisions)
        jw_kval(&l.w, "decisions", answer->decisions);
    add_optional(&l.w, "always", str_from(answer->always));
    add_optional(&l.w, "words", answer->words);
    add_optional(&l.w, "userId", answer->user_id);
    return line_end(&l, a);
}

/* Arguments are stored as a JSON value; text that is not JSON is stored as a string, so that the
 * log shows exactly what the model wrote. */
static void args_value(struct json_writer *w, const struct llm_block *b)
{
    if (b->args_error)
        jw_str(w, b->args);
    else if (b->args.n == 0)
        jw_raw(w, STR("{}"));
    else
        jw_raw(w, b->args);
}

static void content_part(struct json_writer *w, const struct llm_block *b)
{
    if (b->type == LLM_TEXT) {
        text_part(w, b->text);
        return;
    }
    jw_object(w);
    if (b->type == LLM_TOOL_USE) {
        jw_kstr(w, "type", STR("tool-call"));
        jw_kstr(w, "toolCallId", b->id);
        jw_kstr(w, "toolName", b->name);
        jw_key(w, "input");
        args_value(w, b);
        if (b->args_error)
            jw_kstr(w, "inputError", str_from(b->args_error));
    } else {
        jw_kstr(w, "type", STR("opaque"));
        jw_kstr(w, "provider", b->provider);
        jw_kstr(w, "model", b->model);
        jw_kval(w, "block", b->json);
    }
    jw_end(w);
}

const char *event_finish_name(enum llm_stop stop)
{
    static const char *const NAMES[] = {
        [LLM_STOP_END] = "stop",      [LLM_STOP_TOOL] = "tool-calls",
        [LLM_STOP_LENGTH] = "length", [LLM_STOP_REFUSAL] = "refusal",
        [LLM_STOP_PAUSE] = "pause",
    };
    return NAMES[stop];
}

str event_llm_response(struct arena *a, str run_id, const struct llm_result *r,
                       uint64_t thinking_ms)
{
    struct event_line l;
    line_begin(&l, EV_LLM_RESPONSE, run_id);
    jw_kstr(&l.w, "model", r->model);
    jw_karray(&l.w, "content");
    for (size_t i = 0; i < r->n; i++)
        content_part(&l.w, &r->blocks[i]);
    jw_end(&l.w);
    conv_usage_write(&l.w, &r->usage);
    jw_kint(&l.w, "llmMs", (int64_t)r->ms);
    if (thinking_ms > 0)
        jw_kint(&l.w, "thinkingMs", (int64_t)thinking_ms);
    jw_kstr(&l.w, "finishReason", str_from(event_finish_name(r->stop)));
    if (r->stop_detail.n > 0)
        jw_kstr(&l.w, "finishDetail", r->stop_detail);
    if (r->request_id.n > 0)
        jw_kstr(&l.w, "requestId", r->request_id);
    if (r->request_sha256[0])
        jw_kstr(&l.w, "requestSha256", str_from(r->request_sha256));
    if (r->request_parts.n > 0) {
        jw_kraw(&l.w, "requestParts", r->request_parts);
    }
    return line_end(&l, a);
}

str event_quoted_response(struct arena *a, const struct llm_block *blocks, size_t n)
{
    struct event_line l;
    line_begin(&l, EV_LLM_RESPONSE, EVENT_QUOTED_RUN);
    jw_kcstr(&l.w, "model", "");
    jw_karray(&l.w, "content");
    for (size_t i = 0; i < n; i++)
        content_part(&l.w, &blocks[i]);
    jw_end(&l.w);
    jw_kstr(&l.w, "finishReason", str_from(event_finish_name(LLM_STOP_END)));
    jw_kbool(&l.w, "quoted", true);
    return line_end(&l, a);
}

static void partial_usage(struct json_writer *w, const struct event_usage *u)
{
    if (!u->is_known)
        return;
    conv_usage_write(w, &u->usage);
    if (u->is_estimated)
        jw_kbool(w, "estimated", true);
}

str event_unanswered(struct arena *a, str run_id, str model, const char *source,
                     const struct event_usage *u)
{
    struct event_line l;
    line_begin(&l, EV_AUX_USAGE, run_id);
    jw_kstr(&l.w, "source", str_from(source));
    jw_kstr(&l.w, "model", model);
    partial_usage(&l.w, u);
    return line_end(&l, a);
}

str event_llm_partial(struct arena *a, str run_id, str model, str text, const struct event_usage *u)
{
    struct event_line l;
    line_begin(&l, EV_LLM_RESPONSE, run_id);
    jw_kstr(&l.w, "model", model);
    jw_karray(&l.w, "content");
    text_part(&l.w, text);
    jw_end(&l.w);
    jw_kcstr(&l.w, "finishReason", EVENT_FINISH_CANCELLED);
    partial_usage(&l.w, u);
    return line_end(&l, a);
}

static void call_begin(struct event_line *l, enum event_type type, const struct event_call *c)
{
    line_begin(l, type, c->run_id);
    jw_kstr(&l->w, "name", c->name);
    jw_kstr(&l->w, "id", c->id);
}

str event_tool_start(struct arena *a, const struct event_call *c, str args, str directory)
{
    struct event_line l;
    call_begin(&l, EV_TOOL_START, c);
    jw_kraw(&l.w, "input", args);
    add_optional(&l.w, "directory", directory);
    add_optional(&l.w, "resourceUri", c->ui_uri);
    return line_end(&l, a);
}

str event_tool_done(struct arena *a, const struct event_call *c, const struct tool_result *r,
                    uint64_t ms)
{
    struct event_line l;
    call_begin(&l, EV_TOOL_DONE, c);
    jw_kbool(&l.w, "ok", !r->is_error);
    jw_kint(&l.w, "ms", (int64_t)ms);
    jw_kobject(&l.w, "result");
    jw_key(&l.w, "content");
    if (r->content)
        jw_value(&l.w, r->content);
    else
        jw_raw(&l.w, STR("[]"));
    if (r->structured)
        jw_kval(&l.w, "structuredContent", r->structured);
    if (r->meta)
        jw_kval(&l.w, "_meta", r->meta);
    jw_kbool(&l.w, "isError", r->is_error);
    jw_end(&l.w);
    if (r->files)
        jw_kval(&l.w, "files", r->files);
    if (r->views)
        jw_kval(&l.w, "views", r->views);
    add_optional(&l.w, "resourceUri", c->ui_uri);
    if (c->ui_uri.n > 0 && r->is_absent)
        jw_kbool(&l.w, "cancelled", true);
    return line_end(&l, a);
}

str event_app_call(struct arena *a, const struct event_app_call *c)
{
    struct event_line l;
    line_begin(&l, EV_APP_CALL, STR_NONE);
    jw_kstr(&l.w, "app", c->app);
    jw_kstr(&l.w, "tool", c->tool);
    add_optional(&l.w, "callId", c->call_id);
    add_optional(&l.w, "userId", c->user_id);
    jw_kbool(&l.w, "ok", c->ok);
    jw_kint(&l.w, "ms", (int64_t)c->ms);
    return line_end(&l, a);
}

str event_run_done(struct arena *a, str run_id, enum run_stop stop, const char *detail,
                   int iterations, uint64_t ms)
{
    struct event_line l;
    line_begin(&l, EV_RUN_DONE, run_id);
    jw_kstr(&l.w, "stopReason", str_from(run_stop_name(stop)));
    add_optional(&l.w, "detail", str_from(detail));
    jw_kint(&l.w, "iterations", iterations);
    jw_kint(&l.w, "totalMs", (int64_t)ms);
    return line_end(&l, a);
}

str event_run_error(struct arena *a, str run_id, const char *type, str message, str partial)
{
    struct event_line l;
    line_begin(&l, EV_RUN_ERROR, run_id);
    jw_kstr(&l.w, "error", message);
    jw_kstr(&l.w, "errorType", str_from(type));
    if (partial.n > 0)
        jw_kstr(&l.w, "partialText", partial);
    return line_end(&l, a);
}
