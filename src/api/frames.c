#include "api/frames.h"

#include "base/json.h"
#include "tools/result.h"

#define FRAME_MAX (64u * 1024 * 1024)

typedef void (*frame_writer)(struct json_writer *w, struct arena *a, const struct json *event);

/* All members but `type`, which is the frame's event name already. */
static void write_plain(struct json_writer *w, struct arena *a, const struct json *event)
{
    for (uint32_t i = 0; i < event->len; i++) {
        const struct json_member *m = &event->members[i];
        if (str_eq(m->key, STR("type")))
            continue;
        jw_key_str(w, m->key);
        jw_value(w, &m->value);
    }
}

static void write_tool_done(struct json_writer *w, struct arena *a, const struct json *event)
{
    const struct json *result = json_get(event, "result");
    write_plain(w, a, event);
    if (!result || json_get(event, "output"))
        return;
    struct tool_result r = {.content = json_get(result, "content")};
    jw_kstr(w, "output", tool_result_to_text(a, &r));
}

struct frame_rule {
    const char *type, *event;
    frame_writer write;
};

/* Stored events and what clients call them. Types not listed here are not shown. */
static const struct frame_rule RULES[] = {
    {"user.message", "user.message", write_plain},
    {"run.start", "run.start", write_plain},
    {"llm.response", "llm.done", write_plain},
    {"tool.start", "tool.start", write_plain},
    {"tool.done", "tool.done", write_tool_done},
    {"ask.opened", "ask.opened", write_plain},
    {"ask.answered", "ask.answered", write_plain},
    {"input.requested", "input.requested", write_plain},
    {"input.answered", "input.answered", write_plain},
    {"run.done", "run.done", write_plain},
    {"run.error", "run.error", write_plain},
    {"metadata.title", "conversation.title", write_plain},
    {"metadata.visibility", "conversation.visibility", write_plain},
    {"metadata.participants", "conversation.participants", write_plain},
    {"note", "note", write_plain},
};

static const struct frame_rule *find_rule(str type)
{
    for (size_t i = 0; i < ARRAY_LEN(RULES); i++)
        if (str_eq(type, str_from(RULES[i].type)))
            return &RULES[i];
    return NULL;
}

str frame_data(str line, struct buf *out)
{
    struct arena a;
    struct json *event;
    const struct frame_rule *rule = NULL;
    arena_init(&a);
    if (json_parse(&a, line, 0, &event, NULL) == 0)
        rule = find_rule(json_get_string(event, "type"));
    if (rule) {
        struct json_writer w;
        jw_init(&w, out);
        jw_object(&w);
        rule->write(&w, &a, event);
        jw_end(&w);
    }
    arena_done(&a);
    return rule && !buf_failed(out) ? str_from(rule->event) : STR_NONE;
}

struct sse_frame *frame_of_line(uint64_t pos, str line)
{
    struct buf data;
    struct sse_frame *f = NULL;
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)pos);
    buf_init(&data, FRAME_MAX);
    str event = frame_data(line, &data);
    if (event.n > 0)
        f = sse_frame_new(event, str_from(id), buf_str(&data));
    buf_done(&data);
    return f;
}

static void unref_frame(void *frame)
{
    sse_frame_unref(frame);
}

struct sse_frame *frame_of_msg(struct bus_msg *msg)
{
    if (msg->shared)
        return msg->shared;
    struct sse_frame *f = msg->pos > 0 ? frame_of_line(msg->pos, msg->data)
                                       : sse_frame_new(msg->type, STR_NONE, msg->data);
    msg->shared = f;
    msg->shared_free = unref_frame;
    return f;
}
