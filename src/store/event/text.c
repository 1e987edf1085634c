#include "store/event/text.h"

#include "base/utf8.h"

static void text_buf_add(struct buf *b, str s)
{
    if (!s.n || b->n >= TEXT_MAX)
        return;
    if (b->n)
        buf_add_char(b, '\n');
    buf_add_str(b, utf8_truncate(s, TEXT_MAX - (b->n < TEXT_MAX ? b->n : TEXT_MAX)));
}

static void add_content(struct buf *b, const struct json *content)
{
    if (json_is(content, JSON_STRING)) {
        text_buf_add(b, content->s);
        return;
    }
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++) {
        const struct json *part = &content->items[i];
        if (json_is(part, JSON_STRING))
            text_buf_add(b, part->s);
        else if (str_eq(json_get_string(part, "type"), STR("text")))
            text_buf_add(b, json_get_string(part, "text"));
    }
}

static str text_buf_finish(struct arena *a, struct buf *b)
{
    return buf_keep(b, a);
}

str text_of_content(struct arena *a, const struct json *content)
{
    if (json_is(content, JSON_STRING))
        return arena_str(a, content->s);
    struct buf b;
    buf_init(&b, TEXT_MAX + 1);
    add_content(&b, content);
    return text_buf_finish(a, &b);
}

/* Anthropic, Google and the servers that speak like OpenAI name a string; Responses has a summary,
 * or with open models the thoughts themselves, as a list of paragraphs. */
str text_of_thought(struct arena *a, const struct json *part)
{
    static const char *const STRINGS[] = {"thinking", "thought", "reasoning_content", "reasoning"};
    static const char *const LISTS[] = {"summary", "content"};
    const struct json *block = json_get(part, "block");
    struct buf b;
    if (str_eq(json_get_string(part, "type"), STR("reasoning")))
        return json_get_string(part, "text");
    for (size_t i = 0; i < ARRAY_LEN(STRINGS); i++)
        if (json_get_string(block, STRINGS[i]).n > 0)
            return json_get_string(block, STRINGS[i]);
    buf_init(&b, TEXT_MAX + 1);
    for (size_t i = 0; i < ARRAY_LEN(LISTS) && b.n == 0; i++) {
        const struct json *list = json_get(block, LISTS[i]);
        for (size_t k = 0; json_is(list, JSON_ARRAY) && k < list->len; k++)
            text_buf_add(&b, json_get_string(&list->items[k], "text"));
    }
    return text_buf_finish(a, &b);
}

/* A tool result: MCP content, an older plain output, or the preview of a spilled result. */
static str text_of_result(struct arena *a, const struct json *event)
{
    struct buf b;
    buf_init(&b, TEXT_MAX + 1);
    const struct json *result = json_get(event, "result");
    add_content(&b, json_is(result, JSON_OBJECT) ? json_get(result, "content") : result);
    add_content(&b, json_get(event, "output"));
    text_buf_add(&b, json_get_string(result, "preview"));
    text_buf_add(&b, json_get_string(json_get(event, "output"), "preview"));
    return text_buf_finish(a, &b);
}

static void legacy(struct arena *a, const struct json *event, struct event_text *ret)
{
    str role = json_get_string(event, "role");
    ret->role = str_eq(role, STR("user"))     ? STR("user")
                : str_eq(role, STR("tool"))   ? STR("tool")
                : str_eq(role, STR("system")) ? STR("system")
                                              : STR("assistant");
    ret->text = text_of_content(a, json_get(event, "content"));
}

bool text_in_type(enum event_type type)
{
    static const bool HAS_TEXT[] = {
        [EV_USER_MESSAGE] = true, [EV_LLM_RESPONSE] = true, [EV_TOOL_DONE] = true,
        [EV_TITLE] = true,        [EV_NOTE] = true,         [EV_LEGACY_MESSAGE] = true,
    };
    return (size_t)type < ARRAY_LEN(HAS_TEXT) && HAS_TEXT[type];
}

bool text_of_event(struct arena *a, enum event_type type, const struct json *event,
                   struct event_text *ret)
{
    *ret = (struct event_text){.user_id = json_get_string(event, "userId")};
    switch (type) {
    case EV_USER_MESSAGE:
        ret->role = STR("user");
        ret->text = text_of_content(a, json_get(event, "content"));
        break;
    case EV_LLM_RESPONSE:
        ret->role = STR("assistant");
        ret->text = text_of_content(a, json_get(event, "content"));
        break;
    case EV_TOOL_DONE:
        ret->role = STR("tool");
        ret->tool = json_get_string(event, "name");
        ret->text = text_of_result(a, event);
        break;
    case EV_TITLE:
        ret->role = STR("title");
        ret->text = json_get_string(event, "title");
        break;
    case EV_NOTE:
        ret->role = STR("note");
        ret->user_id = json_get_string(event, "author");
        ret->text = text_of_content(a, json_get(event, "content"));
        break;
    case EV_LEGACY_MESSAGE:
        legacy(a, event, ret);
        break;
    default:
        return false;
    }
    return ret->text.n || ret->tool.n;
}

bool text_contains(str s, str needle)
{
    return str_find_nocase(s, needle) >= 0;
}
