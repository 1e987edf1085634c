/* openai_stream.c - the event stream of chat completions, including deviations of compatible
 * servers: tool calls without ids or numbers, usage in unusual places, errors with status 200. */
#include "base/bytes/random.h"
#include "llm/provider/provider.h"

/* ---- usage ---- */

static void read_usage(struct answer *an, const struct json *usage)
{
    if (!json_is(usage, JSON_OBJECT))
        return;
    int64_t all = answer_count(usage, "prompt_tokens", 0);
    int64_t cached = answer_count(json_get(usage, "prompt_tokens_details"), "cached_tokens",
                                  answer_count(usage, "prompt_cache_hit_tokens", 0));
    cached = cached < all ? cached : all;
    an->usage.uncached_in = all - cached;
    an->usage.cache_read = cached;
    an->usage.out = answer_count(usage, "completion_tokens", 0);
}

/* ---- text and reasoning ---- */

static void add_text_delta(struct answer *an, str text)
{
    struct answer_block *b = text.n > 0 ? answer_continue(an, ANSWER_TEXT, NULL) : NULL;
    if (b)
        answer_text(an, b, text);
}

static void add_reasoning(struct answer *an, const char *member, str text)
{
    struct answer_block *b = text.n > 0 ? answer_continue(an, ANSWER_OPAQUE, member) : NULL;
    if (b)
        answer_thinking(an, b, text);
}

/* Mistral: [{"type":"text","text":..}, {"type":"thinking","thinking":[{"text":..}]}] */
static void read_parts(struct answer *an, const struct json *parts)
{
    for (size_t i = 0; i < parts->len; i++) {
        const struct json *part = &parts->items[i];
        add_text_delta(an, json_get_string(part, "text"));
        const struct json *thoughts = json_get(part, "thinking");
        for (size_t k = 0; json_is(thoughts, JSON_ARRAY) && k < thoughts->len; k++)
            add_reasoning(an, "reasoning", json_get_string(&thoughts->items[k], "text"));
    }
}

/* OpenRouter requires these to be sent back unchanged, piece by piece. */
static void read_reasoning_details(struct answer *an, const struct json *details)
{
    if (!json_is(details, JSON_ARRAY) || details->len == 0)
        return;
    struct answer_block *b = answer_last(an, ANSWER_OPAQUE);
    if (!b || !json_get(b->json, "reasoning_details")) {
        b = answer_open(an, ANSWER_OPAQUE, ANSWER_NO_INDEX);
        if (!b)
            return;
        b->json = json_new(&an->arena, JSON_OBJECT);
        json_set(&an->arena, b->json, STR("reasoning_details"), (struct json){.type = JSON_ARRAY});
    }
    struct json *list = json_get(b->json, "reasoning_details");
    for (size_t i = 0; i < details->len && list->len < ANSWER_BLOCKS_MAX; i++)
        json_push(&an->arena, list, *json_clone(&an->arena, &details->items[i]));
}

/* ---- tool calls ---- */

static struct answer_block *new_call(struct answer *an, int64_t index, str id, str name)
{
    struct answer_block *b = answer_open(an, ANSWER_TOOL, index);
    if (!b)
        return NULL;
    if (id.n > 0) {
        b->id = arena_str(&an->arena, id);
    } else {
        char made[RANDOM_ID_MAX];
        random_id("call", made);
        b->id = arena_str(&an->arena, str_from(made));
    }
    b->name = arena_str(&an->arena, name);
    if (name.n > 0)
        answer_tool_started(an, b);
    return b;
}

/* A repeated number with a different id is a new call: some servers number every call zero. Without
 * a number, an id or a name begins a new call. */
static struct answer_block *call_for(struct answer *an, const struct json *call, str id, str name)
{
    const struct json *number = json_get(call, "index");
    bool has_index = json_is(number, JSON_INT);
    struct answer_block *b = has_index ? answer_find(an, number->i) : answer_last(an, ANSWER_TOOL);
    if (b && b->kind != ANSWER_TOOL)
        b = NULL; /* a number that no call has */
    bool is_other = b && id.n > 0 && !str_eq(b->id, id);
    if (!has_index && (id.n > 0 || name.n > 0))
        is_other = !b || !str_eq(b->id, id) || id.n == 0;
    if (b && !is_other)
        return b;
    if (b && has_index)
        b->is_open = false, b->index = ANSWER_NO_INDEX; /* complete: the number is taken over */
    struct answer_block *made = new_call(an, has_index ? number->i : ANSWER_NO_INDEX, id, name);
    return made;
}

static void read_extra(struct answer *an, const struct json *extra)
{
    if (!json_is(extra, JSON_OBJECT))
        return;
    struct answer_block *b = answer_open(an, ANSWER_OPAQUE, ANSWER_NO_INDEX);
    if (!b)
        return;
    b->json = json_new(&an->arena, JSON_OBJECT);
    json_set(&an->arena, b->json, STR("extra_content"), *json_clone(&an->arena, extra));
}

static void read_call(struct answer *an, const struct json *call)
{
    const struct json *fn = json_get(call, "function");
    str name = json_get_string(fn, "name");
    struct answer_block *b = call_for(an, call, json_get_string(call, "id"), name);
    if (!b)
        return;
    if (b->name.n == 0 && name.n > 0) {
        b->name = arena_str(&an->arena, name);
        answer_tool_started(an, b);
    }
    const struct json *args = json_get(fn, "arguments");
    if (json_is(args, JSON_STRING))
        answer_args(an, b, args->s);
    else if (json_is(args, JSON_OBJECT))
        answer_args(an, b, json_to_str(&an->scratch, args));
    read_extra(an, json_get(call, "extra_content"));
}

/* ---- the end ---- */

static const struct {
    str name;
    enum llm_stop stop;
} STOPS[] = {
    {STR_INIT("stop"), LLM_STOP_END},
    {STR_INIT("tool_calls"), LLM_STOP_TOOL},
    {STR_INIT("function_call"), LLM_STOP_TOOL},
    {STR_INIT("length"), LLM_STOP_LENGTH},
    {STR_INIT("model_length"), LLM_STOP_LENGTH},
    {STR_INIT("content_filter"), LLM_STOP_REFUSAL},
};

static void read_finish(struct answer *an, str reason)
{
    if (reason.n == 0)
        return;
    if (str_eq(reason, STR("error")) || str_eq(reason, STR("insufficient_system_resource"))) {
        answer_fail(an, STR("server_error"), STR("the server aborted the answer"));
        return;
    }
    an->has_stop = true;
    an->stop = LLM_STOP_END;
    for (size_t i = 0; i < ARRAY_LEN(STOPS); i++)
        if (str_eq(reason, STOPS[i].name))
            an->stop = STOPS[i].stop;
}

static void complete(struct answer *an)
{
    /* A server that stops without a reason has reached its length limit. */
    if (!an->has_stop)
        an->stop = LLM_STOP_LENGTH;
    for (size_t i = 0; i < an->n; i++)
        an->blocks[i].is_open = false;
    an->has_stop = an->is_complete = true;
}

static void read_error(struct answer *an, const struct json *error)
{
    const struct json *code = json_get(error, "code");
    str type = json_string(code, json_get_string(error, "type"));
    if (json_is(code, JSON_INT) && code->i >= 300 && code->i < 600)
        an->error.status = (int)code->i;
    str message = json_string(error, json_get_string(error, "message"));
    answer_fail(an, type, message);
}

static void read_choice(struct answer *an, const struct json *choice)
{
    const struct json *delta = json_get(choice, "delta");
    const struct json *content = json_get(delta, "content");
    const struct json *calls = json_get(delta, "tool_calls");
    add_reasoning(an, "reasoning_content", json_get_string(delta, "reasoning_content"));
    add_reasoning(an, "reasoning", json_get_string(delta, "reasoning"));
    read_reasoning_details(an, json_get(delta, "reasoning_details"));
    add_text_delta(an, json_string(content, STR_NONE));
    if (json_is(content, JSON_ARRAY))
        read_parts(an, content);
    for (size_t i = 0; json_is(calls, JSON_ARRAY) && i < calls->len; i++)
        read_call(an, &calls->items[i]);
    answer_refusal(an, json_get_string(delta, "refusal"));
    read_finish(an, json_get_string(choice, "finish_reason"));
}

void openai_event(struct answer *an, const struct sse_event *ev)
{
    if (an->is_complete || an->has_error)
        return;
    if (str_eq(str_trim(ev->data), STR("[DONE]"))) {
        complete(an);
        return;
    }
    const struct json *data = provider_parse_event(an, ev);
    if (!data)
        return;
    const struct json *error = json_get(data, "error");
    if (json_is(error, JSON_OBJECT) || json_is(error, JSON_STRING)) {
        read_error(an, error);
        return;
    }
    const struct json *choice = json_at(json_get(data, "choices"), 0);
    if (choice)
        read_choice(an, choice);
    read_usage(an, json_get(data, "usage"));
    read_usage(an, json_get(json_get(data, "x_groq"), "usage"));
}

void openai_eof(struct answer *an)
{
    if (an->has_stop && !an->has_error)
        complete(an);
}
