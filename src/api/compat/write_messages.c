/* write_messages.c - the answer of POST /v1/messages: text, and the calls that the client executes.
 */
#include "api/compat/compat.h"

static const char *stop_reason(enum run_stop stop)
{
    switch (stop) {
    case RUN_STOP_CLIENT_TOOLS:
        return "tool_use";
    case RUN_STOP_LENGTH:
    case RUN_STOP_TOKEN_BUDGET:
    case RUN_STOP_MAX_ITERATIONS:
        return "max_tokens";
    case RUN_STOP_REFUSAL:
        return "refusal";
    default:
        return "end_turn";
    }
}

/* Here the cached input is not a part of the input. */
static void write_message_usage(struct json_writer *w, const struct conv_usage *u)
{
    int64_t written = u->cache_write_5m_tokens + u->cache_write_1h_tokens;
    int64_t fresh = u->input_tokens - u->cache_read_tokens - written;
    jw_kobject(w, "usage");
    jw_kint(w, "input_tokens", fresh > 0 ? fresh : 0);
    jw_kint(w, "output_tokens", u->output_tokens);
    jw_kint(w, "cache_creation_input_tokens", written);
    jw_kint(w, "cache_read_input_tokens", u->cache_read_tokens);
    jw_end(w);
}

static void message_head(struct json_writer *w, const struct compat_answer *a)
{
    compat_write_id(w, "id", "msg_", a);
    jw_kcstr(w, "type", "message");
    jw_kcstr(w, "role", "assistant");
    jw_kcstr(w, "model", a->model);
}

static void message_write(struct json_writer *w, const struct compat_answer *a,
                          const struct turn_result *t)
{
    const struct run_result *run = t->run;
    jw_object(w);
    message_head(w, a);
    jw_karray(w, "content");
    if (run->response.n > 0) {
        jw_object(w);
        jw_kcstr(w, "type", "text");
        jw_kstr(w, "text", run->response);
        jw_end(w);
    }
    for (size_t i = 0; i < run->nclient_calls; i++) {
        jw_object(w);
        jw_kcstr(w, "type", "tool_use");
        jw_kstr(w, "id", run->client_calls[i].id);
        jw_kstr(w, "name", run->client_calls[i].name);
        jw_kraw(w, "input", run->client_calls[i].args);
        jw_end(w);
    }
    jw_end(w);
    jw_kcstr(w, "stop_reason", stop_reason(run->stop));
    jw_kcstr(w, "stop_sequence", NULL);
    write_message_usage(w, &run->usage);
    jw_end(w);
}

/* ---- as a stream ---- */

static void event_of(struct api_json *j, const char *type)
{
    api_json_begin(j);
    jw_kcstr(&j->w, "type", type);
}

static void message_start(struct compat_answer *a)
{
    struct api_json j;
    event_of(&j, "message_start");
    jw_kobject(&j.w, "message");
    message_head(&j.w, a);
    jw_karray(&j.w, "content");
    jw_end(&j.w);
    jw_kcstr(&j.w, "stop_reason", NULL);
    jw_kcstr(&j.w, "stop_sequence", NULL);
    write_message_usage(&j.w, &(struct conv_usage){0}); /* known at the end */
    jw_end(&j.w);
    compat_send(a, "message_start", &j);
}

/* A block up to its content, which is open. */
static void block_begin(struct api_json *j, struct compat_answer *a, const char *type)
{
    event_of(j, "content_block_start");
    jw_kint(&j->w, "index", a->nitems++);
    jw_kobject(&j->w, "content_block");
    jw_kcstr(&j->w, "type", type);
}

static void block_delta(struct compat_answer *a, const char *type, const char *key, str text)
{
    struct api_json j;
    event_of(&j, "content_block_delta");
    jw_kint(&j.w, "index", a->nitems - 1);
    jw_kobject(&j.w, "delta");
    jw_kcstr(&j.w, "type", type);
    jw_kstr(&j.w, key, text);
    jw_end(&j.w);
    compat_send(a, "content_block_delta", &j);
}

static void block_end(struct compat_answer *a)
{
    struct api_json j;
    event_of(&j, "content_block_stop");
    jw_kint(&j.w, "index", a->nitems - 1);
    compat_send(a, "content_block_stop", &j);
}

static void message_text_delta(struct compat_answer *a, str delta)
{
    struct api_json j;
    if (!a->is_text_open) {
        block_begin(&j, a, "text");
        jw_kcstr(&j.w, "text", "");
        jw_end(&j.w);
        compat_send(a, "content_block_start", &j);
        a->is_text_open = true;
    }
    block_delta(a, "text_delta", "text", delta);
}

static void send_use(struct compat_answer *a, const struct run_client_call *call)
{
    struct api_json j;
    block_begin(&j, a, "tool_use");
    jw_kstr(&j.w, "id", call->id);
    jw_kstr(&j.w, "name", call->name);
    jw_kobject(&j.w, "input");
    jw_end(&j.w);
    jw_end(&j.w);
    compat_send(a, "content_block_start", &j);
    block_delta(a, "input_json_delta", "partial_json", call->args);
    block_end(a);
}

static void message_done(struct compat_answer *a, const struct turn_result *t)
{
    struct api_json j;
    if (a->is_text_open)
        block_end(a);
    for (size_t i = 0; i < t->run->nclient_calls; i++)
        send_use(a, &t->run->client_calls[i]);
    event_of(&j, "message_delta");
    jw_kobject(&j.w, "delta");
    jw_kcstr(&j.w, "stop_reason", stop_reason(t->run->stop));
    jw_kcstr(&j.w, "stop_sequence", NULL);
    jw_end(&j.w);
    write_message_usage(&j.w, &t->run->usage);
    compat_send(a, "message_delta", &j);
    event_of(&j, "message_stop");
    compat_send(a, "message_stop", &j);
}

static void message_fail(struct compat_answer *a, const char *code, str message)
{
    struct api_json j;
    api_json_value(&j);
    compat_error_anthropic(&j.w, 502, code, message);
    compat_send(a, "error", &j);
}

const struct compat_dialect COMPAT_ANTHROPIC = {
    .read = compat_read_anthropic,
    .write = message_write,
    .start = message_start,
    .text = message_text_delta,
    .done = message_done,
    .fail = message_fail,
};
