/* google_stream.c - the event stream of the Gemini API.
 *
 * Each event is a response of its own with the next parts. Calls come whole; their signature, or
 * that of a text, becomes an opaque block behind them. There is no last event: the stream is
 * complete when a reason to stop was given and the connection ends. */
#include "base/bytes/random.h"
#include "llm/provider/google_names.h"
#include "llm/provider/provider.h"

static void read_google_usage(struct answer *an, const struct json *usage)
{
    if (!json_is(usage, JSON_OBJECT))
        return;
    int64_t prompt = answer_count(usage, "promptTokenCount", 0);
    int64_t cached = answer_count(usage, "cachedContentTokenCount", 0);
    cached = cached < prompt ? cached : prompt;
    an->usage.uncached_in = prompt - cached + answer_count(usage, "toolUsePromptTokenCount", 0);
    an->usage.cache_read = cached;
    an->usage.out = answer_count(usage, "candidatesTokenCount", 0) +
                    answer_count(usage, "thoughtsTokenCount", 0);
}

/* ---- parts ---- */

static void read_words(struct answer *an, str text)
{
    struct answer_block *b = text.n > 0 ? answer_continue(an, ANSWER_TEXT, NULL) : NULL;
    if (b)
        answer_text(an, b, text);
}

/* A summary of what the model thought: kept for people, never sent back. */
static void read_thought(struct answer *an, str text)
{
    struct answer_block *b = text.n > 0 ? answer_continue(an, ANSWER_OPAQUE, "thought") : NULL;
    if (b)
        answer_thinking(an, b, text);
}

static void read_function_call(struct answer *an, const struct json *call)
{
    str id = json_get_string(call, "id"), name = google_tool_name(json_get_string(call, "name"));
    const struct json *args = json_get(call, "args");
    struct answer_block *b = name.n > 0 ? answer_open(an, ANSWER_TOOL, ANSWER_NO_INDEX) : NULL;
    if (!b)
        return;
    char made[RANDOM_ID_MAX];
    random_id("call", made);
    b->id = arena_str(&an->arena, id.n > 0 ? id : str_from(made));
    b->name = arena_str(&an->arena, name);
    answer_tool_started(an, b);
    if (args)
        answer_args(an, b, json_to_str(&an->scratch, args));
}

static void read_signature(struct answer *an, str signature)
{
    struct answer_block *b =
        signature.n > 0 ? answer_open(an, ANSWER_OPAQUE, ANSWER_NO_INDEX) : NULL;
    if (!b)
        return;
    b->json = json_new(&an->arena, JSON_OBJECT);
    b->grows = "thoughtSignature";
    answer_add(an, &b->text, signature);
}

static void read_part(struct answer *an, const struct json *part)
{
    const struct json *call = json_get(part, "functionCall");
    if (json_is(call, JSON_OBJECT))
        read_function_call(an, call);
    else if (json_get_bool(part, "thought", false))
        read_thought(an, json_get_string(part, "text"));
    else
        read_words(an, json_get_string(part, "text"));
    read_signature(an, json_get_string(part, "thoughtSignature"));
}

/* ---- the end ---- */

static const struct {
    str name;
    enum llm_stop stop;
} REASONS[] = {
    {STR_INIT("STOP"), LLM_STOP_END},
    {STR_INIT("MAX_TOKENS"), LLM_STOP_LENGTH},
    {STR_INIT("SAFETY"), LLM_STOP_REFUSAL},
    {STR_INIT("RECITATION"), LLM_STOP_REFUSAL},
    {STR_INIT("LANGUAGE"), LLM_STOP_REFUSAL},
    {STR_INIT("BLOCKLIST"), LLM_STOP_REFUSAL},
    {STR_INIT("PROHIBITED_CONTENT"), LLM_STOP_REFUSAL},
    {STR_INIT("SPII"), LLM_STOP_REFUSAL},
    {STR_INIT("IMAGE_SAFETY"), LLM_STOP_REFUSAL},
    {STR_INIT("IMAGE_PROHIBITED_CONTENT"), LLM_STOP_REFUSAL},
};

/* The service could not read the call that the model wrote; the next try may be readable. */
static bool is_bad_call(str reason)
{
    return str_eq(reason, STR("MALFORMED_FUNCTION_CALL")) ||
           str_eq(reason, STR("UNEXPECTED_TOOL_CALL")) ||
           str_eq(reason, STR("TOO_MANY_TOOL_CALLS"));
}

static void read_reason(struct answer *an, str reason, str message)
{
    if (reason.n == 0)
        return;
    if (is_bad_call(reason)) {
        answer_fail(an, STR("tool_use_failed"), message.n > 0 ? message : reason);
        return;
    }
    an->has_stop = true;
    an->stop = LLM_STOP_END; /* an unknown reason ends the turn as well */
    for (size_t i = 0; i < ARRAY_LEN(REASONS); i++)
        if (str_eq(reason, REASONS[i].name))
            an->stop = REASONS[i].stop;
    if (an->stop == LLM_STOP_REFUSAL)
        answer_refusal(an, message.n > 0 ? message : reason);
}

/* A prompt that the service does not pass on to the model: there is no candidate. */
static void read_feedback(struct answer *an, const struct json *feedback)
{
    str reason = json_get_string(feedback, "blockReason");
    str message = json_get_string(feedback, "blockReasonMessage");
    if (reason.n == 0)
        return;
    an->has_stop = true;
    an->stop = LLM_STOP_REFUSAL;
    answer_refusal(an, STR("the prompt was blocked: "));
    answer_refusal(an, message.n > 0 ? message : reason);
}

static void read_google_error(struct answer *an, const struct json *error)
{
    int64_t code = json_get_int(error, "code", 0);
    if (code >= 300 && code < 600)
        an->error.status = (int)code;
    answer_fail(an, json_get_string(error, "status"), json_get_string(error, "message"));
}

static void read_candidate(struct answer *an, const struct json *candidate)
{
    const struct json *parts = json_get(json_get(candidate, "content"), "parts");
    for (size_t i = 0; json_is(parts, JSON_ARRAY) && i < parts->len; i++)
        read_part(an, &parts->items[i]);
    read_reason(an, json_get_string(candidate, "finishReason"),
                json_get_string(candidate, "finishMessage"));
}

void google_event(struct answer *an, const struct sse_event *ev)
{
    if (an->is_complete || an->has_error)
        return;
    const struct json *data = provider_parse_event(an, ev);
    if (!data)
        return;
    const struct json *error = json_get(data, "error");
    if (json_is(error, JSON_OBJECT)) {
        read_google_error(an, error);
        return;
    }
    const struct json *candidate = json_at(json_get(data, "candidates"), 0);
    if (candidate)
        read_candidate(an, candidate);
    read_feedback(an, json_get(data, "promptFeedback"));
    read_google_usage(an, json_get(data, "usageMetadata"));
}

void google_eof(struct answer *an)
{
    if (!an->has_stop || an->has_error)
        return;
    for (size_t i = 0; i < an->n; i++)
        an->blocks[i].is_open = false;
    an->is_complete = true;
}
