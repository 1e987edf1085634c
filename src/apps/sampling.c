#include "apps/sampling.h"

#include <assert.h>
#include <errno.h>

#include "runtime/budget.h"
#include "runtime/history/usage_event.h"

struct sampling {
    struct runtime *rt;
    void *tool_host;
    struct arena arena;
    str source;
    str conversation_id, user_id; /* without a run; else empty */
    sampling_fn fn;
    void *ctx;
    struct llm_call *call;
};

/* ---- the request ---- */

static int read_result(struct arena *a, const struct json *v, struct llm_block *ret, struct err *e)
{
    const struct json *content = json_get(v, "content");
    size_t n = json_is(content, JSON_ARRAY) ? content->len : 0;
    struct llm_block *parts = arena_array(a, n, sizeof *parts);
    for (size_t i = 0; i < n; i++) {
        const struct json *part = json_at(content, i);
        bool is_text = str_eq(json_get_string(part, "type"), STR("text"));
        parts[i] = (struct llm_block){.type = LLM_TEXT,
                                      .text = is_text ? json_get_string(part, "text")
                                                      : json_to_str(a, part)};
    }
    *ret = (struct llm_block){
        .type = LLM_TOOL_RESULT,
        .id = json_get_string(v, "toolUseId"),
        .is_error = json_get_bool(v, "isError", false),
        .parts = parts,
        .nparts = n,
    };
    return ret->id.n > 0 ? 0 : err_set(e, -EINVAL, "a tool_result has no toolUseId");
}

static int read_block(struct arena *a, const struct json *v, struct llm_block *ret, struct err *e)
{
    str type = json_get_string(v, "type");
    if (str_eq(type, STR("text"))) {
        *ret = (struct llm_block){.type = LLM_TEXT, .text = json_get_string(v, "text")};
        return 0;
    }
    if (str_eq(type, STR("image"))) {
        *ret = (struct llm_block){.type = LLM_IMAGE,
                                  .mime = json_get_string(v, "mimeType"),
                                  .data = json_get_string(v, "data")};
        return 0;
    }
    if (str_eq(type, STR("tool_result")))
        return read_result(a, v, ret, e);
    if (str_eq(type, STR("tool_use"))) {
        const struct json *input = json_get(v, "input");
        *ret = (struct llm_block){.type = LLM_TOOL_USE,
                                  .id = json_get_string(v, "id"),
                                  .name = json_get_string(v, "name"),
                                  .args = input ? json_to_str(a, input) : STR("{}")};
        return ret->id.n > 0 ? 0 : err_set(e, -EINVAL, "a tool_use has no id");
    }
    return err_set(e, -EINVAL, "content of type '%.*s' cannot be sent to a model", STR_ARG(type));
}

static int read_message(struct arena *a, const struct json *v, struct llm_message *ret,
                        struct err *e)
{
    str role = json_get_string(v, "role");
    const struct json *content = json_get(v, "content");
    bool is_list = json_is(content, JSON_ARRAY);
    size_t n = is_list ? content->len : content ? 1 : 0;
    struct llm_block *blocks = arena_array(a, n, sizeof *blocks);
    int r = 0;
    if (!str_eq(role, STR("user")) && !str_eq(role, STR("assistant")))
        return err_set(e, -EINVAL, "a message's role must be user or assistant");
    for (size_t i = 0; r == 0 && i < n; i++)
        r = read_block(a, is_list ? json_at(content, i) : content, &blocks[i], e);
    *ret = (struct llm_message){
        .role = str_eq(role, STR("user")) ? LLM_USER : LLM_ASSISTANT, .blocks = blocks, .n = n};
    return r;
}

/* A message with tool_use must be followed by a message with exactly its results. */
static int check_tool_order(const struct llm_message *m, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        size_t uses = 0, results = 0, others = 0;
        for (size_t k = 0; i > 0 && k < m[i - 1].n; k++)
            uses += m[i - 1].blocks[k].type == LLM_TOOL_USE;
        for (size_t k = 0; k < m[i].n; k++) {
            results += m[i].blocks[k].type == LLM_TOOL_RESULT;
            others += m[i].blocks[k].type != LLM_TOOL_RESULT;
        }
        if (results != uses || (results > 0 && others > 0))
            return err_set(e, -EINVAL,
                           "every tool_use must be followed by a user message with just its "
                           "tool_result");
    }
    return 0;
}

static int read_messages(struct arena *a, const struct json *list, struct llm_request *ret,
                         struct err *e)
{
    size_t n = json_is(list, JSON_ARRAY) ? list->len : 0;
    if (n == 0 || n > SAMPLING_MESSAGES_MAX)
        return err_set(e, -EINVAL, "messages: expected 1 to %d", SAMPLING_MESSAGES_MAX);
    struct llm_message *m = arena_array(a, n, sizeof *m);
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = read_message(a, json_at(list, i), &m[i], e);
    ret->messages = m;
    ret->nmessages = n;
    return r == 0 ? check_tool_order(m, n, e) : r;
}

static void read_tools(struct arena *a, const struct json *params, struct llm_request *ret)
{
    const struct json *list = json_get(params, "tools");
    str choice = json_get_string(json_get(params, "toolChoice"), "mode");
    size_t n = json_is(list, JSON_ARRAY) ? list->len : 0;
    if (n == 0 || str_eq(choice, STR("none")))
        return;
    struct llm_tool *tools = arena_array(a, n, sizeof *tools);
    for (size_t i = 0; i < n; i++)
        tools[i] =
            (struct llm_tool){.name = json_get_string(json_at(list, i), "name"),
                              .description = json_get_string(json_at(list, i), "description"),
                              .schema = json_get(json_at(list, i), "inputSchema")};
    ret->tools = tools;
    ret->ntools = n;
}

/* A hint is part of a model name; the first hint that matches a usable model decides. */
static str choose_model(struct sampling *s, const struct json *params, str otherwise)
{
    const struct json *hints = json_get(json_get(params, "modelPreferences"), "hints");
    size_t n;
    str *known = llm_known_models(runtime_deps(s->rt)->llm, &s->arena, &n);
    for (size_t h = 0; json_is(hints, JSON_ARRAY) && h < hints->len; h++) {
        str hint = json_get_string(json_at(hints, h), "name");
        for (size_t i = 0; hint.n > 0 && i < n; i++)
            if (str_find(known[i], hint, 0) >= 0)
                return known[i];
    }
    return otherwise;
}

/* ---- the answer ---- */

static struct json block_json(struct arena *a, const struct llm_block *b)
{
    struct json *v = json_new(a, JSON_OBJECT), *input = NULL;
    if (b->type == LLM_TEXT) {
        json_set(a, v, STR("type"), json_of_str(STR("text")));
        json_set(a, v, STR("text"), json_of_str(b->text));
        return *v;
    }
    if (json_parse(a, b->args, 0, &input, NULL) < 0)
        input = json_new(a, JSON_OBJECT);
    json_set(a, v, STR("type"), json_of_str(STR("tool_use")));
    json_set(a, v, STR("id"), json_of_str(b->id));
    json_set(a, v, STR("name"), json_of_str(b->name));
    json_set(a, v, STR("input"), *input);
    return *v;
}

static struct json content_json(struct arena *a, const struct llm_result *r)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < r->n; i++)
        if (r->blocks[i].type == LLM_TEXT || r->blocks[i].type == LLM_TOOL_USE)
            json_push(a, list, block_json(a, &r->blocks[i]));
    if (list->len == 1 && r->stop != LLM_STOP_TOOL)
        return *json_at(list, 0); /* the only shape that older revisions know */
    if (list->len == 0) {
        struct llm_block nothing = {.type = LLM_TEXT};
        return block_json(a, &nothing);
    }
    return *list;
}

static const char *stop_reason(enum llm_stop stop)
{
    return stop == LLM_STOP_TOOL ? "toolUse" : stop == LLM_STOP_LENGTH ? "maxTokens" : "endTurn";
}

static void sampling_free(struct sampling *s)
{
    arena_done(&s->arena);
    free(s);
}

static void on_sampling_text(void *ctx, str delta) {}

static void on_recorded(void *log, const struct err *err, const store_pos *pos, size_t n)
{
    if (err)
        log_warn(log, "apps", "cannot record the usage of an interface: %s", err->msg);
}

static void record_usage(const struct sampling *s, str line)
{
    const struct runtime_deps *d = runtime_deps(s->rt);
    if (s->conversation_id.n == 0) {
        turn_record(s->tool_host, line); /* which counts it */
        return;
    }
    const struct store_terms terms = {.spend = budgets_note(d->budgets, s->user_id, &line, 1)};
    store_append_if(d->store, s->conversation_id, &terms, &line, 1, on_recorded, d->log);
}

static void on_sampling_done(void *ctx, const struct llm_result *r)
{
    static const char *const KEYS[] = {"server", NULL};
    struct sampling *s = ctx;
    struct arena *a = &s->arena;
    assert(s->call);
    record_usage(s, usage_event_with(a, "sampling", r->model, &r->usage, r->ms, KEYS, &s->source));
    struct json *result = json_new(a, JSON_OBJECT);
    json_set(a, result, STR("role"), json_of_str(STR("assistant")));
    json_set(a, result, STR("content"), content_json(a, r));
    json_set(a, result, STR("model"), json_of_str(r->model));
    json_set(a, result, STR("stopReason"), json_of_str(str_from(stop_reason(r->stop))));
    s->fn(s->ctx, result, NULL);
    sampling_free(s);
}

static void on_sampling_fail(void *ctx, const struct llm_failure *f)
{
    struct sampling *s = ctx;
    s->fn(s->ctx, NULL, &f->err);
    sampling_free(s);
}

static struct sampling *sampling_new(struct runtime *rt, str source, sampling_fn fn, void *ctx)
{
    struct sampling *s = xcalloc(1, sizeof *s);
    arena_init(&s->arena);
    s->rt = rt;
    s->source = arena_str(&s->arena, source);
    s->fn = fn;
    s->ctx = ctx;
    return s;
}

/* Frees it when the request cannot be made. */
static int ask_model(struct sampling *s, const struct json *params, str model,
                     struct sampling **ret, struct err *e)
{
    static const struct llm_events EVENTS = {
        .on_text = on_sampling_text, .on_done = on_sampling_done, .on_fail = on_sampling_fail};
    const struct runtime_deps *d = runtime_deps(s->rt);
    int64_t most = d->config->limits.max_output_tokens;
    int64_t wanted = json_get_int(params, "maxTokens", most);
    struct llm_request req = {
        .system_stable = json_get_string(params, "systemPrompt"),
        .max_tokens = wanted > 0 && wanted < most ? wanted : most,
    };
    int r = read_messages(&s->arena, json_get(params, "messages"), &req, e);
    if (r < 0) {
        sampling_free(s);
        return r;
    }
    read_tools(&s->arena, params, &req);
    s->call = llm_start(d->llm, choose_model(s, params, model), &req, &EVENTS, s);
    *ret = s;
    return 0;
}

int sampling_start(struct runtime *rt, void *tool_host, str source, const struct json *params,
                   sampling_fn fn, void *ctx, struct sampling **ret, struct err *e)
{
    struct sampling *s = sampling_new(rt, source, fn, ctx);
    s->tool_host = tool_host;
    return ask_model(s, params, turn_info(tool_host)->model, ret, e);
}

int sampling_start_for_interface(struct runtime *rt, const struct sampling_place *at,
                                 const struct json *params, sampling_fn fn, void *ctx,
                                 struct sampling **ret, struct err *e)
{
    const struct runtime_deps *d = runtime_deps(rt);
    str provider, name, why, model = at->model;
    assert(at->conversation_id.n > 0);
    int r = budgets_check(d->budgets, at->user_id, e);
    if (r < 0)
        return r;
    struct sampling *s = sampling_new(rt, at->source, fn, ctx);
    s->conversation_id = arena_str(&s->arena, at->conversation_id);
    s->user_id = arena_str(&s->arena, at->user_id);
    if (model.n == 0 || llm_resolve(d->llm, model, &provider, &name, NULL) < 0)
        model = d->default_model.n > 0 ? d->default_model : llm_default_model(d->llm, &why);
    return ask_model(s, params, model, ret, e);
}

void sampling_cancel(struct sampling *s)
{
    llm_cancel(s->call);
    sampling_free(s);
}
