/* import_code.c - session files of Claude Code: one JSON object per line.
 *
 * Relied on: type (user, assistant; summary has summary, custom-title has customTitle);
 * sessionId, timestamp (ISO), cwd; isSidechain and isMeta (true: not part of the talk);
 * message {id, role, model, content (a string, or blocks text, thinking, tool_use {id, name,
 * input}, tool_result {tool_use_id, content, is_error}), usage {input_tokens, output_tokens,
 * cache_read_input_tokens, cache_creation_input_tokens, cache_creation
 * {ephemeral_1h_input_tokens}}}. One answer may span several lines with the same
 * message.id, each with the same usage. input_tokens excludes what was cached. */
#include "transfer/import_impl.h"

bool import_is_code(const struct json *line)
{
    str type = json_get_string(line, "type");
    if (str_eq(type, STR("summary")))
        return json_get_string(line, "leafUuid").n > 0;
    return json_get_string(line, "sessionId").n > 0 ||
           (json_get(line, "message") && json_get(line, "uuid")) ||
           str_eq(type, STR("file-history-snapshot"));
}

static struct conv_usage usage_of(const struct json *u)
{
    int64_t read = json_get_int(u, "cache_read_input_tokens", 0);
    int64_t written = json_get_int(u, "cache_creation_input_tokens", 0);
    int64_t hour = json_get_int(json_get(u, "cache_creation"), "ephemeral_1h_input_tokens", 0);
    int64_t fresh = json_get_int(u, "input_tokens", 0);
    int64_t out = json_get_int(u, "output_tokens", 0);
    int64_t *all[] = {&read, &written, &hour, &fresh, &out};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) { /* impossible figures are ignored */
        if (*all[i] < 0 || *all[i] > (int64_t)1 << 40)
            *all[i] = 0;
    }
    if (hour > written)
        hour = written;
    return (struct conv_usage){.input_tokens = fresh + read + written,
                               .output_tokens = out,
                               .cache_read_tokens = read,
                               .cache_write_5m_tokens = written - hour,
                               .cache_write_1h_tokens = hour};
}

static void tell_answer(struct talk *t, const struct json *message)
{
    talk_answer(t, json_get_string(message, "id"), json_get_string(message, "model"));
    struct conv_usage u = usage_of(json_get(message, "usage"));
    talk_usage(t, &u);
    talk_anthropic(t, json_get(message, "content"), false);
}

static void keep_last(struct arena *a, str *place, str value)
{
    if (!place->n)
        *place = arena_str(a, value);
}

void import_code_line(struct code_session *s, struct talk *t, struct arena *a,
                      const struct json *line)
{
    str type = json_get_string(line, "type");
    const struct json *message = json_get(line, "message");
    keep_last(a, &s->id, json_get_string(line, "sessionId"));
    keep_last(a, &s->cwd, json_get_string(line, "cwd"));
    if (str_eq(type, STR("summary"))) {
        s->title = arena_str(a, json_get_string(line, "summary"));
    } else if (str_eq(type, STR("custom-title"))) {
        s->title = arena_str(a, json_get_string(line, "customTitle"));
    } else if (json_get_bool(line, "isSidechain", false)) {
        talk_skip(t, "a line of a sub-agent");
    } else if (json_get_bool(line, "isMeta", false)) {
        talk_skip(t, "an internal line of the program");
    } else if (str_eq(type, STR("user")) && message) {
        talk_at(t, json_get_string(line, "timestamp"));
        talk_anthropic(t, json_get(message, "content"), true);
    } else if (str_eq(type, STR("assistant")) && message) {
        talk_at(t, json_get_string(line, "timestamp"));
        tell_answer(t, message);
    } else {
        talk_skip(t, "a line that is not a message");
    }
}
