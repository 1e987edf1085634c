/* write_responses.c - the answer of POST /v1/responses.
 *
 * Its output has one message with the text, and an item for each call that the client executes. A
 * call that nb executed is an item of type mcp_call behind them: clients show those and do not
 * execute them. The id has the run and the conversation (read_responses.c). */
#include "api/compat/compat.h"

static const char *status_of(enum run_stop stop)
{
    switch (stop) {
    case RUN_STOP_LENGTH:
    case RUN_STOP_TOKEN_BUDGET:
    case RUN_STOP_MAX_ITERATIONS:
    case RUN_STOP_REFUSAL:
        return "incomplete";
    case RUN_STOP_CANCELLED:
        return "cancelled";
    default:
        return "completed";
    }
}

static void write_response_id(struct json_writer *w, const char *key, const struct compat_answer *a)
{
    char id[3 * STORE_ID_MAX];
    const char *random = strchr(a->run_id, '_');
    (void)snprintf(id, sizeof id, "resp_%s_%s", random ? random + 1 : a->run_id,
                   a->conversation_id);
    jw_kcstr(w, key, id);
}

/* ---- items ---- */

static void text_content(struct json_writer *w, str text)
{
    jw_object(w);
    jw_kcstr(w, "type", "output_text");
    jw_kstr(w, "text", text);
    jw_karray(w, "annotations");
    jw_end(w);
    jw_karray(w, "logprobs");
    jw_end(w);
    jw_end(w);
}

static void message_item(struct json_writer *w, const struct compat_answer *a, str text,
                         const char *status)
{
    jw_object(w);
    jw_kcstr(w, "type", "message");
    compat_write_id(w, "id", "msg_", a);
    jw_kcstr(w, "status", status);
    jw_kcstr(w, "role", "assistant");
    jw_karray(w, "content");
    if (text.p)
        text_content(w, text);
    jw_end(w);
    jw_end(w);
}

static void item_id(struct json_writer *w, const char *key, const char *prefix,
                    const struct compat_answer *a, unsigned index)
{
    char with_index[32];
    (void)snprintf(with_index, sizeof with_index, "%s%u_", prefix, index);
    compat_write_id(w, key, with_index, a);
}

static void function_item(struct json_writer *w, const struct compat_answer *a, unsigned index,
                          const struct run_client_call *call, bool is_done)
{
    jw_object(w);
    jw_kcstr(w, "type", "function_call");
    item_id(w, "id", "fc_", a, index);
    jw_kstr(w, "call_id", call->id);
    jw_kstr(w, "name", call->name);
    jw_kstr(w, "arguments", is_done ? call->args : STR_NONE);
    jw_kcstr(w, "status", is_done ? "completed" : "in_progress");
    jw_end(w);
}

static void executed_item(struct json_writer *w, const struct compat_answer *a, unsigned index,
                          const struct run_tool_record *t)
{
    ptrdiff_t gap = str_find(t->name, STR("__"), 0);
    str source = gap > 0 ? str_slice(t->name, 0, (size_t)gap) : STR("nb");
    str tool = gap > 0 ? str_skip(t->name, (size_t)gap + 2) : t->name;
    jw_object(w);
    jw_kcstr(w, "type", "mcp_call");
    item_id(w, "id", "mcp_", a, index);
    jw_kstr(w, "server_label", source);
    jw_kstr(w, "name", tool);
    jw_kstr(w, "arguments", t->input);
    jw_kstr_or_null(w, "output", t->ok ? t->output : STR_NONE);
    jw_kstr_or_null(w, "error", t->ok ? STR_NONE : t->output);
    jw_kcstr(w, "status", t->ok ? "completed" : "failed");
    jw_kcstr(w, "approval_request_id", NULL);
    jw_end(w);
}

/* In the order of the stream: the message, calls of the client, calls of nb. */
static void write_output(struct json_writer *w, const struct compat_answer *a,
                         const struct run_result *run)
{
    unsigned index = 0;
    if (run->response.n > 0 || run->nclient_calls == 0) {
        message_item(w, a, run->response.p ? run->response : STR(""), "completed");
        index++;
    }
    for (size_t i = 0; i < run->nclient_calls; i++)
        function_item(w, a, index++, &run->client_calls[i], true);
    for (size_t i = 0; i < run->ntools; i++)
        executed_item(w, a, index++, &run->tools[i]);
}

/* ---- the response ---- */

static void write_response_usage(struct json_writer *w, const struct conv_usage *u)
{
    jw_kobject(w, "usage");
    jw_kint(w, "input_tokens", u->input_tokens);
    jw_kobject(w, "input_tokens_details");
    jw_kint(w, "cached_tokens", u->cache_read_tokens);
    jw_end(w);
    jw_kint(w, "output_tokens", u->output_tokens);
    jw_kobject(w, "output_tokens_details");
    jw_kint(w, "reasoning_tokens", 0);
    jw_end(w);
    jw_kint(w, "total_tokens", u->input_tokens + u->output_tokens);
    jw_end(w);
}

static void response_head(struct json_writer *w, const struct compat_answer *a, const char *status)
{
    jw_object(w);
    write_response_id(w, "id", a);
    jw_kcstr(w, "object", "response");
    jw_kint(w, "created_at", a->created_s);
    jw_kcstr(w, "status", status);
    jw_kcstr(w, "model", a->model);
    jw_kobject(w, "conversation");
    jw_kcstr(w, "id", a->conversation_id);
    jw_end(w);
    jw_kcstr(w, "previous_response_id", a->previous_id[0] ? a->previous_id : NULL);
    jw_kbool(w, "store", a->is_listed);
    jw_kcstr(w, "instructions", NULL);
    jw_kcstr(w, "max_output_tokens", NULL);
    jw_kbool(w, "parallel_tool_calls", true);
    jw_kcstr(w, "temperature", NULL);
    jw_kcstr(w, "top_p", NULL);
    jw_kcstr(w, "tool_choice", "auto");
    jw_karray(w, "tools");
    jw_end(w);
    jw_kobject(w, "metadata");
    jw_end(w);
}

static void response_write(struct json_writer *w, const struct compat_answer *a,
                           const struct turn_result *t)
{
    const struct run_result *run = t->run;
    const char *status = status_of(run->stop);
    response_head(w, a, status);
    jw_kcstr(w, "error", NULL);
    jw_key(w, "incomplete_details");
    if (strcmp(status, "incomplete") == 0) {
        jw_object(w);
        jw_kcstr(w, "reason",
                 run->stop == RUN_STOP_REFUSAL ? "content_filter" : "max_output_tokens");
        jw_end(w);
    } else {
        jw_null(w);
    }
    jw_karray(w, "output");
    write_output(w, a, run);
    jw_end(w);
    write_response_usage(w, &run->usage);
    jw_end(w);
}

static void write_failed(struct json_writer *w, const struct compat_answer *a, const char *code,
                         str message)
{
    response_head(w, a, "failed");
    jw_kobject(w, "error");
    jw_kcstr(w, "code", code);
    jw_kstr(w, "message", message);
    jw_end(w);
    jw_kcstr(w, "incomplete_details", NULL);
    jw_karray(w, "output");
    jw_end(w);
    jw_kcstr(w, "usage", NULL);
    jw_end(w);
}

void compat_write_stored(struct json_writer *w, const struct compat_answer *a,
                         const struct run_result *run, str error)
{
    const struct turn_result t = {.run = run};
    if (run->stop == RUN_STOP_ERROR)
        write_failed(w, a, "server_error", error.n > 0 ? error : STR("The run has failed."));
    else
        response_write(w, a, &t);
}

/* ---- as a stream ---- */

static void stream_event(struct api_json *j, struct compat_answer *a, const char *type)
{
    api_json_begin(j);
    jw_kcstr(&j->w, "type", type);
    jw_kint(&j->w, "sequence_number", (int64_t)a->nevents++);
}

static void send_progress(struct compat_answer *a, const char *type)
{
    struct api_json j;
    stream_event(&j, a, type);
    jw_key(&j.w, "response");
    response_head(&j.w, a, "in_progress");
    jw_kcstr(&j.w, "error", NULL);
    jw_kcstr(&j.w, "incomplete_details", NULL);
    jw_karray(&j.w, "output");
    jw_end(&j.w);
    jw_kcstr(&j.w, "usage", NULL);
    jw_end(&j.w);
    compat_send(a, type, &j);
}

static void response_start(struct compat_answer *a)
{
    send_progress(a, "response.created");
    send_progress(a, "response.in_progress");
}

/* An event about the text, up to its own member. */
static void text_event(struct api_json *j, struct compat_answer *a, const char *type)
{
    stream_event(j, a, type);
    compat_write_id(&j->w, "item_id", "msg_", a);
    jw_kint(&j->w, "output_index", 0);
    jw_kint(&j->w, "content_index", 0);
}

static void open_text(struct compat_answer *a)
{
    struct api_json j;
    if (a->is_text_open)
        return;
    a->is_text_open = true;
    stream_event(&j, a, "response.output_item.added");
    jw_kint(&j.w, "output_index", a->nitems++);
    jw_key(&j.w, "item");
    message_item(&j.w, a, STR_NONE, "in_progress");
    compat_send(a, "response.output_item.added", &j);
    text_event(&j, a, "response.content_part.added");
    jw_key(&j.w, "part");
    text_content(&j.w, STR(""));
    compat_send(a, "response.content_part.added", &j);
}

static void response_text(struct compat_answer *a, str delta)
{
    struct api_json j;
    open_text(a);
    text_event(&j, a, "response.output_text.delta");
    jw_kstr(&j.w, "delta", delta);
    jw_karray(&j.w, "logprobs");
    jw_end(&j.w);
    compat_send(a, "response.output_text.delta", &j);
}

static void close_text(struct compat_answer *a, str text)
{
    struct api_json j;
    text = text.p ? text : STR("");
    text_event(&j, a, "response.output_text.done");
    jw_kstr(&j.w, "text", text);
    jw_karray(&j.w, "logprobs");
    jw_end(&j.w);
    compat_send(a, "response.output_text.done", &j);
    text_event(&j, a, "response.content_part.done");
    jw_key(&j.w, "part");
    text_content(&j.w, text);
    compat_send(a, "response.content_part.done", &j);
    stream_event(&j, a, "response.output_item.done");
    jw_kint(&j.w, "output_index", 0);
    jw_key(&j.w, "item");
    message_item(&j.w, a, text, "completed");
    compat_send(a, "response.output_item.done", &j);
}

static void send_function_item(struct compat_answer *a, const char *type, unsigned index,
                               const struct run_client_call *call, bool is_done)
{
    struct api_json j;
    stream_event(&j, a, type);
    jw_kint(&j.w, "output_index", index);
    jw_key(&j.w, "item");
    function_item(&j.w, a, index, call, is_done);
    compat_send(a, type, &j);
}

static void send_arguments(struct compat_answer *a, const char *type, unsigned index,
                           const char *key, const struct run_client_call *call)
{
    struct api_json j;
    stream_event(&j, a, type);
    item_id(&j.w, "item_id", "fc_", a, index);
    jw_kint(&j.w, "output_index", index);
    jw_kstr(&j.w, key, call->args);
    compat_send(a, type, &j);
}

static void send_function(struct compat_answer *a, const struct run_client_call *call)
{
    unsigned index = a->nitems++;
    send_function_item(a, "response.output_item.added", index, call, false);
    send_arguments(a, "response.function_call_arguments.delta", index, "delta", call);
    send_arguments(a, "response.function_call_arguments.done", index, "arguments", call);
    send_function_item(a, "response.output_item.done", index, call, true);
}

static void send_executed(struct compat_answer *a, const struct run_tool_record *t)
{
    static const char *const TYPES[] = {"response.output_item.added", "response.output_item.done"};
    unsigned index = a->nitems++;
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++) {
        struct api_json j;
        stream_event(&j, a, TYPES[i]);
        jw_kint(&j.w, "output_index", index);
        jw_key(&j.w, "item");
        executed_item(&j.w, a, index, t);
        compat_send(a, TYPES[i], &j);
    }
}

static void response_done(struct compat_answer *a, const struct turn_result *t)
{
    const struct run_result *run = t->run;
    struct api_json j;
    if (run->nclient_calls == 0)
        open_text(a); /* an answer without text has a message, too */
    if (a->is_text_open)
        close_text(a, run->response);
    for (size_t i = 0; i < run->nclient_calls; i++)
        send_function(a, &run->client_calls[i]);
    for (size_t i = 0; i < run->ntools; i++)
        send_executed(a, &run->tools[i]);
    bool is_whole = strcmp(status_of(run->stop), "incomplete") != 0;
    const char *type = is_whole ? "response.completed" : "response.incomplete";
    stream_event(&j, a, type);
    jw_key(&j.w, "response");
    response_write(&j.w, a, t);
    compat_send(a, type, &j);
}

static void response_fail(struct compat_answer *a, const char *code, str message)
{
    struct api_json j;
    stream_event(&j, a, "response.failed");
    jw_key(&j.w, "response");
    write_failed(&j.w, a, code, message);
    compat_send(a, "response.failed", &j);
}

const struct compat_dialect COMPAT_RESPONSES = {
    .read = compat_read_responses,
    .write = response_write,
    .start = response_start,
    .text = response_text,
    .done = response_done,
    .fail = response_fail,
};
