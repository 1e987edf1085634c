/* The event stream of the Anthropic Messages API.
 *
 * Unknown events and unknown deltas are skipped; unknown blocks are kept unchanged, because they
 * have to be sent back. */
#include "llm/provider/provider.h"

static void read_usage(struct answer *an, const struct json *usage)
{
    struct answer_usage *u = &an->usage;
    u->uncached_in = answer_count(usage, "input_tokens", u->uncached_in);
    u->out = answer_count(usage, "output_tokens", u->out);
    u->cache_read = answer_count(usage, "cache_read_input_tokens", u->cache_read);
    u->cache_write = answer_count(usage, "cache_creation_input_tokens", u->cache_write);
    u->cache_write_1h = answer_count(json_get(usage, "cache_creation"), "ephemeral_1h_input_tokens",
                                     u->cache_write_1h);
}

static void on_message_start(struct answer *an, const struct json *ev)
{
    read_usage(an, json_get(json_get(ev, "message"), "usage"));
}

static void on_block_start(struct answer *an, const struct json *ev)
{
    const struct json *block = json_get(ev, "content_block");
    int64_t index = json_get_int(ev, "index", -1);
    str type = json_get_string(block, "type");
    if (!json_is(block, JSON_OBJECT))
        return;
    enum answer_kind kind = str_eq(type, STR("text"))       ? ANSWER_TEXT
                            : str_eq(type, STR("tool_use")) ? ANSWER_TOOL
                                                            : ANSWER_OPAQUE;
    struct answer_block *b = answer_open(an, kind, index);
    if (!b)
        return;
    if (kind == ANSWER_TEXT) {
        answer_text(an, b, json_get_string(block, "text"));
    } else if (kind == ANSWER_TOOL) {
        b->id = arena_str(&an->arena, json_get_string(block, "id"));
        b->name = arena_str(&an->arena, json_get_string(block, "name"));
        answer_tool_started(an, b);
    } else {
        b->json = json_clone(&an->arena, block);
        if (str_eq(type, STR("thinking")))
            answer_thinking(an, b, json_get_string(block, "thinking"));
    }
}

static void text_delta(struct answer *an, struct answer_block *b, const struct json *d)
{
    if (b->kind == ANSWER_TEXT)
        answer_text(an, b, json_get_string(d, "text"));
}

static void args_delta(struct answer *an, struct answer_block *b, const struct json *d)
{
    if (b->kind == ANSWER_TOOL)
        answer_args(an, b, json_get_string(d, "partial_json"));
    else if (b->kind == ANSWER_OPAQUE)
        answer_add(an, &b->args, json_get_string(d, "partial_json"));
}

static void thinking_delta(struct answer *an, struct answer_block *b, const struct json *d)
{
    if (b->kind != ANSWER_OPAQUE)
        return;
    b->grows = "thinking";
    answer_thinking(an, b, json_get_string(d, "thinking"));
}

static void signature_delta(struct answer *an, struct answer_block *b, const struct json *d)
{
    if (b->kind == ANSWER_OPAQUE)
        json_set(&an->arena, b->json, STR("signature"),
                 json_of_str(arena_str(&an->arena, json_get_string(d, "signature"))));
}

static void compaction_delta(struct answer *an, struct answer_block *b, const struct json *d)
{
    if (b->kind != ANSWER_OPAQUE)
        return;
    b->grows = "content";
    answer_add(an, &b->text, json_get_string(d, "content"));
}

static const struct {
    str type;
    void (*fn)(struct answer *an, struct answer_block *b, const struct json *delta);
} DELTAS[] = {
    {STR_INIT("text_delta"), text_delta},
    {STR_INIT("input_json_delta"), args_delta},
    {STR_INIT("thinking_delta"), thinking_delta},
    {STR_INIT("signature_delta"), signature_delta},
    {STR_INIT("compaction_delta"), compaction_delta},
};

static void on_block_delta(struct answer *an, const struct json *ev)
{
    struct answer_block *b = answer_find(an, json_get_int(ev, "index", -1));
    const struct json *delta = json_get(ev, "delta");
    str type = json_get_string(delta, "type");
    for (size_t i = 0; b && i < ARRAY_LEN(DELTAS); i++) {
        if (str_eq(type, DELTAS[i].type)) {
            DELTAS[i].fn(an, b, delta);
            return;
        }
    }
}

static void on_block_stop(struct answer *an, const struct json *ev)
{
    struct answer_block *b = answer_find(an, json_get_int(ev, "index", -1));
    if (b)
        b->is_open = false;
}

static const struct {
    str name;
    enum llm_stop stop;
} STOPS[] = {
    {STR_INIT("end_turn"), LLM_STOP_END},
    {STR_INIT("stop_sequence"), LLM_STOP_END},
    {STR_INIT("tool_use"), LLM_STOP_TOOL},
    {STR_INIT("max_tokens"), LLM_STOP_LENGTH},
    {STR_INIT("model_context_window_exceeded"), LLM_STOP_LENGTH},
    {STR_INIT("pause_turn"), LLM_STOP_PAUSE},
    {STR_INIT("compaction"), LLM_STOP_PAUSE},
    {STR_INIT("refusal"), LLM_STOP_REFUSAL},
};

static void on_message_delta(struct answer *an, const struct json *ev)
{
    read_usage(an, json_get(ev, "usage"));
    const struct json *delta = json_get(ev, "delta");
    str reason = json_get_string(delta, "stop_reason");
    if (reason.n == 0)
        return;
    an->has_stop = true;
    an->stop = LLM_STOP_END; /* an unknown stop reason ends the turn as well */
    for (size_t i = 0; i < ARRAY_LEN(STOPS); i++)
        if (str_eq(reason, STOPS[i].name))
            an->stop = STOPS[i].stop;
    str why = json_get_string(json_get(delta, "stop_details"), "explanation");
    if (why.n > 0)
        an->stop_detail = arena_str(&an->arena, why);
}

static void on_message_stop(struct answer *an, const struct json *ev)
{
    (void)ev;
    an->is_complete = true;
}

static void on_error(struct answer *an, const struct json *ev)
{
    const struct json *error = json_get(ev, "error");
    str id = json_get_string(ev, "request_id");
    if (id.n > 0)
        an->error.request_id = arena_str(&an->arena, id);
    answer_fail(an, json_get_string(error, "type"), json_get_string(error, "message"));
}

static const struct stream_handler EVENTS[] = {
    {STR_INIT("content_block_delta"), on_block_delta},
    {STR_INIT("content_block_start"), on_block_start},
    {STR_INIT("content_block_stop"), on_block_stop},
    {STR_INIT("message_start"), on_message_start},
    {STR_INIT("message_delta"), on_message_delta},
    {STR_INIT("message_stop"), on_message_stop},
    {STR_INIT("error"), on_error},
};

void anthropic_event(struct answer *an, const struct sse_event *ev)
{
    if (an->is_complete || an->has_error)
        return;
    const struct json *data = provider_parse_event(an, ev);
    stream_fn fn = provider_handler(EVENTS, ARRAY_LEN(EVENTS), data, ev);
    if (fn)
        fn(an, data);
}

/* Nothing to do: only message_stop completes an answer. */
void anthropic_eof(struct answer *an)
{
    (void)an;
}
