/* write_chat.c - the answer of POST /v1/chat/completions.
 *
 * Calls of tools that nb executed are not part of it: a client would try to execute them. */
#include "api/compat/compat.h"

static const char *finish_reason(enum run_stop stop)
{
    switch (stop) {
    case RUN_STOP_CLIENT_TOOLS:
        return "tool_calls";
    case RUN_STOP_LENGTH:
    case RUN_STOP_TOKEN_BUDGET:
    case RUN_STOP_MAX_ITERATIONS:
        return "length";
    case RUN_STOP_REFUSAL:
        return "content_filter";
    default:
        return "stop";
    }
}

static void head(struct json_writer *w, const struct compat_answer *a, const char *object)
{
    jw_object(w);
    compat_write_id(w, "id", "chatcmpl-", a);
    jw_kcstr(w, "object", object);
    jw_kint(w, "created", a->created_s);
    jw_kcstr(w, "model", a->model);
    jw_kcstr(w, "system_fingerprint", "nb");
}

static void write_chat_usage(struct json_writer *w, const struct conv_usage *u)
{
    jw_kobject(w, "usage");
    jw_kint(w, "prompt_tokens", u->input_tokens);
    jw_kint(w, "completion_tokens", u->output_tokens);
    jw_kint(w, "total_tokens", u->input_tokens + u->output_tokens);
    jw_kobject(w, "prompt_tokens_details");
    jw_kint(w, "cached_tokens", u->cache_read_tokens);
    jw_end(w);
    jw_end(w);
}

static void write_chat_calls(struct json_writer *w, const struct run_result *run, bool has_index)
{
    if (run->nclient_calls == 0)
        return;
    jw_karray(w, "tool_calls");
    for (size_t i = 0; i < run->nclient_calls; i++) {
        jw_object(w);
        if (has_index)
            jw_kint(w, "index", (int64_t)i);
        jw_kstr(w, "id", run->client_calls[i].id);
        jw_kcstr(w, "type", "function");
        jw_kobject(w, "function");
        jw_kstr(w, "name", run->client_calls[i].name);
        jw_kstr(w, "arguments", run->client_calls[i].args);
        jw_end(w);
        jw_end(w);
    }
    jw_end(w);
}

static void chat_write(struct json_writer *w, const struct compat_answer *a,
                       const struct turn_result *t)
{
    const struct run_result *run = t->run;
    head(w, a, "chat.completion");
    jw_karray(w, "choices");
    jw_object(w);
    jw_kint(w, "index", 0);
    jw_kobject(w, "message");
    jw_kcstr(w, "role", "assistant");
    if (run->response.n == 0 && run->nclient_calls > 0)
        jw_kcstr(w, "content", NULL);
    else
        jw_kstr(w, "content", run->response);
    jw_kcstr(w, "refusal", NULL);
    write_chat_calls(w, run, false);
    jw_end(w);
    jw_kcstr(w, "logprobs", NULL);
    jw_kcstr(w, "finish_reason", finish_reason(run->stop));
    jw_end(w);
    jw_end(w);
    write_chat_usage(w, &run->usage);
    jw_end(w);
}

/* ---- as a stream ---- */

/* A chunk up to its delta, which is open. */
static void chunk_begin(struct api_json *j, const struct compat_answer *a)
{
    api_json_value(j);
    head(&j->w, a, "chat.completion.chunk");
    jw_karray(&j->w, "choices");
    jw_object(&j->w);
    jw_kint(&j->w, "index", 0);
    jw_kobject(&j->w, "delta");
}

static void chunk_end(struct api_json *j, struct compat_answer *a, const char *finish)
{
    jw_end(&j->w);
    jw_kcstr(&j->w, "logprobs", NULL);
    jw_kcstr(&j->w, "finish_reason", finish);
    jw_end(&j->w);
    jw_end(&j->w);
    if (a->has_usage_chunk)
        jw_kcstr(&j->w, "usage", NULL); /* the last chunk has it */
    jw_end(&j->w);
    compat_send(a, "", j);
}

static void chat_start(struct compat_answer *a)
{
    struct api_json j;
    chunk_begin(&j, a);
    jw_kcstr(&j.w, "role", "assistant");
    jw_kcstr(&j.w, "content", "");
    chunk_end(&j, a, NULL);
}

static void chat_delta(struct compat_answer *a, const char *key, str text)
{
    struct api_json j;
    chunk_begin(&j, a);
    jw_kstr(&j.w, key, text);
    chunk_end(&j, a, NULL);
}

static void chat_text(struct compat_answer *a, str delta)
{
    chat_delta(a, "content", delta);
}

/* Not a part of the protocol, but several servers and clients have it. */
static void chat_reasoning(struct compat_answer *a, str delta)
{
    chat_delta(a, "reasoning_content", delta);
}

static void send_chat_usage(struct compat_answer *a, const struct run_result *run)
{
    struct api_json j;
    api_json_value(&j);
    head(&j.w, a, "chat.completion.chunk");
    jw_karray(&j.w, "choices");
    jw_end(&j.w);
    write_chat_usage(&j.w, &run->usage);
    jw_end(&j.w);
    compat_send(a, "", &j);
}

static void chat_done(struct compat_answer *a, const struct turn_result *t)
{
    struct api_json j;
    if (t->run->nclient_calls > 0) {
        chunk_begin(&j, a);
        write_chat_calls(&j.w, t->run, true);
        chunk_end(&j, a, NULL);
    }
    chunk_begin(&j, a);
    chunk_end(&j, a, finish_reason(t->run->stop));
    if (a->has_usage_chunk)
        send_chat_usage(a, t->run);
    live_send(a->live, STR_NONE, STR_NONE, STR("[DONE]"));
}

static void chat_fail(struct compat_answer *a, const char *code, str message)
{
    struct api_json j;
    api_json_value(&j);
    compat_error_openai(&j.w, 502, code, message);
    compat_send(a, "", &j);
    live_send(a->live, STR_NONE, STR_NONE, STR("[DONE]"));
}

const struct compat_dialect COMPAT_CHAT = {
    .read = compat_read_chat,
    .write = chat_write,
    .start = chat_start,
    .text = chat_text,
    .reasoning = chat_reasoning,
    .done = chat_done,
    .fail = chat_fail,
};
