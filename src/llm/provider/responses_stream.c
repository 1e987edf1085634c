/* responses_stream.c - the event stream of OpenAI's Responses API.
 *
 * An answer is a list of items, each with a number: messages, calls, and what the model reasoned.
 * An item is announced, grows by deltas, and is repeated whole when it is done; a server that
 * sends no deltas is understood by that. Items and events of other kinds are skipped. */
#include "llm/provider/provider.h"

static void read_items_usage(struct answer *an, const struct json *usage)
{
    if (!json_is(usage, JSON_OBJECT))
        return;
    const struct json *details = json_get(usage, "input_tokens_details");
    int64_t all = answer_count(usage, "input_tokens", 0);
    int64_t cached = answer_count(details, "cached_tokens", 0);
    int64_t written = answer_count(details, "cache_write_tokens", 0);
    cached = cached < all ? cached : all;
    written = written < all - cached ? written : all - cached;
    an->usage.uncached_in = all - cached - written;
    an->usage.cache_read = cached;
    an->usage.cache_write = written;
    an->usage.out = answer_count(usage, "output_tokens", 0);
}

/* ---- items ---- */

static int64_t item_number(const struct json *ev)
{
    return json_get_int(ev, "output_index", 0);
}

static struct answer_block *item_block(struct answer *an, const struct json *ev,
                                       enum answer_kind kind)
{
    struct answer_block *b = answer_find(an, item_number(ev));
    return b && b->kind == kind ? b : NULL;
}

static void on_item_added(struct answer *an, const struct json *ev)
{
    const struct json *item = json_get(ev, "item");
    str type = json_get_string(item, "type");
    bool is_call = str_eq(type, STR("function_call"));
    bool is_text = str_eq(type, STR("message"));
    if (!is_call && !is_text && !str_eq(type, STR("reasoning")))
        return;
    enum answer_kind kind = is_call ? ANSWER_TOOL : is_text ? ANSWER_TEXT : ANSWER_OPAQUE;
    struct answer_block *b = answer_open(an, kind, item_number(ev));
    if (!b)
        return;
    if (is_call) {
        b->id = arena_str(&an->arena, json_get_string(item, "call_id"));
        b->name = arena_str(&an->arena, json_get_string(item, "name"));
        answer_tool_started(an, b);
    } else if (!is_text) {
        b->json = json_new(&an->arena, JSON_OBJECT);
    }
}

static void on_text_delta(struct answer *an, const struct json *ev)
{
    struct answer_block *b = item_block(an, ev, ANSWER_TEXT);
    if (b)
        answer_text(an, b, json_get_string(ev, "delta"));
}

static void on_args_delta(struct answer *an, const struct json *ev)
{
    struct answer_block *b = item_block(an, ev, ANSWER_TOOL);
    if (b)
        answer_args(an, b, json_get_string(ev, "delta"));
}

static void on_summary_delta(struct answer *an, const struct json *ev)
{
    struct answer_block *b = item_block(an, ev, ANSWER_OPAQUE);
    if (b)
        answer_thinking(an, b, json_get_string(ev, "delta"));
}

/* The parts of a summary are paragraphs. */
static void on_summary_part(struct answer *an, const struct json *ev)
{
    struct answer_block *b = item_block(an, ev, ANSWER_OPAQUE);
    if (b && b->text.n > 0)
        answer_thinking(an, b, STR("\n\n"));
}

static void on_refusal_delta(struct answer *an, const struct json *ev)
{
    an->stop = LLM_STOP_REFUSAL;
    answer_refusal(an, json_get_string(ev, "delta"));
}

/* ---- the end of an item ---- */

static void finish_message(struct answer *an, struct answer_block *b, const struct json *item)
{
    const struct json *content = json_get(item, "content");
    bool is_silent = b->text.n == 0;
    str phase = json_get_string(item, "phase");
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++) {
        const struct json *part = &content->items[i];
        if (is_silent)
            answer_text(an, b, json_get_string(part, "text"));
        if (json_get(part, "refusal"))
            an->stop = LLM_STOP_REFUSAL;
    }
    b->is_open = false;
    if (phase.n == 0)
        return;
    b = answer_open(an, ANSWER_OPAQUE, ANSWER_NO_INDEX);
    if (!b)
        return;
    b->json = json_new(&an->arena, JSON_OBJECT);
    b->grows = "phase";
    answer_add(an, &b->text, phase);
    b->is_open = false;
}

/* The item as it must come back. Its bytes count, so that the answer stays bounded. */
static void finish_reasoning(struct answer *an, struct answer_block *b, const struct json *item)
{
    struct buf seen;
    buf_init(&seen, ANSWER_BYTES_MAX);
    answer_add(an, &seen, json_to_str(&an->scratch, item));
    buf_done(&seen);
    if (!an->has_error)
        b->json = json_clone(&an->arena, item);
    b->is_open = false;
}

static void on_item_done(struct answer *an, const struct json *ev)
{
    const struct json *item = json_get(ev, "item");
    struct answer_block *b = answer_find(an, item_number(ev));
    if (!json_is(item, JSON_OBJECT))
        return;
    if (!b) { /* a server that only sends what is done */
        on_item_added(an, ev);
        b = answer_find(an, item_number(ev));
    }
    if (!b || an->has_error)
        return;
    if (b->kind == ANSWER_TEXT) {
        finish_message(an, b, item);
    } else if (b->kind == ANSWER_OPAQUE) {
        finish_reasoning(an, b, item);
    } else {
        if (b->text.n == 0)
            answer_args(an, b, json_get_string(item, "arguments"));
        b->is_open = false;
    }
}

/* ---- the end ---- */

static void on_completed(struct answer *an, const struct json *ev)
{
    read_items_usage(an, json_get(json_get(ev, "response"), "usage"));
    if (an->stop != LLM_STOP_REFUSAL)
        an->stop = LLM_STOP_END;
    an->has_stop = an->is_complete = true;
}

static void on_incomplete(struct answer *an, const struct json *ev)
{
    const struct json *details = json_get(json_get(ev, "response"), "incomplete_details");
    bool is_filter = str_eq(json_get_string(details, "reason"), STR("content_filter"));
    on_completed(an, ev);
    if (an->stop != LLM_STOP_REFUSAL)
        an->stop = is_filter ? LLM_STOP_REFUSAL : LLM_STOP_LENGTH;
    for (size_t i = 0; i < an->n; i++)
        if (an->blocks[i].kind == ANSWER_TEXT)
            an->blocks[i].is_open = false; /* words that were cut are words */
}

static void fail_with(struct answer *an, const struct json *error)
{
    str type = json_get_string(error, "code");
    if (type.n == 0)
        type = json_get_string(error, "type");
    str message = json_get_string(error, "message");
    answer_fail(an, type, message.n > 0 ? message : STR("the server aborted the answer"));
}

static void on_failed(struct answer *an, const struct json *ev)
{
    read_items_usage(an, json_get(json_get(ev, "response"), "usage"));
    fail_with(an, json_get(json_get(ev, "response"), "error"));
}

static void on_error_event(struct answer *an, const struct json *ev)
{
    const struct json *error = json_get(ev, "error");
    fail_with(an, json_is(error, JSON_OBJECT) ? error : ev);
}

static const struct stream_handler EVENTS[] = {
    {STR_INIT("response.output_text.delta"), on_text_delta},
    {STR_INIT("response.function_call_arguments.delta"), on_args_delta},
    {STR_INIT("response.output_item.added"), on_item_added},
    {STR_INIT("response.output_item.done"), on_item_done},
    {STR_INIT("response.reasoning_summary_text.delta"), on_summary_delta},
    {STR_INIT("response.reasoning_text.delta"), on_summary_delta},
    {STR_INIT("response.reasoning_summary_part.added"), on_summary_part},
    {STR_INIT("response.refusal.delta"), on_refusal_delta},
    {STR_INIT("response.completed"), on_completed},
    {STR_INIT("response.incomplete"), on_incomplete},
    {STR_INIT("response.failed"), on_failed},
    {STR_INIT("error"), on_error_event},
};

void responses_event(struct answer *an, const struct sse_event *ev)
{
    if (an->is_complete || an->has_error || str_eq(str_trim(ev->data), STR("[DONE]")))
        return;
    const struct json *data = provider_parse_event(an, ev);
    stream_fn fn = provider_handler(EVENTS, ARRAY_LEN(EVENTS), data, ev);
    if (fn)
        fn(an, data);
}

/* Nothing to do: only an event completes an answer. */
void responses_eof(struct answer *an)
{
    (void)an;
}
