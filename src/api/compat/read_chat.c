/* read_chat.c - the body of POST /v1/chat/completions. */
#include <errno.h>

#include "api/bodies.h"
#include "api/compat/compat.h"

struct chat_completion_body {
    str model;
    const struct json *messages, *tools, *choice, *stream_options, *metadata, *format;
    bool is_stream, is_stored;
    int64_t max_tokens, max_completion_tokens;
};

const struct json_field API_COMPAT_CHAT_FIELDS[] = {
    {"model", JF_STR, offsetof(struct chat_completion_body, model), JF_REQUIRED, NULL, 0,
     "A model, `default`, or `agent:` and the name of an agent."},
    {"messages", JF_JSON, offsetof(struct chat_completion_body, messages), JF_REQUIRED, NULL, 0,
     "The conversation so far; the last message is answered.", "object[]"},
    {"tools", JF_JSON, offsetof(struct chat_completion_body, tools), JF_NULLABLE, NULL, 0,
     "Functions that the program executes itself.", "object[]"},
    {"tool_choice", JF_JSON, offsetof(struct chat_completion_body, choice), JF_NULLABLE, NULL, 0,
     "auto or none.", "'auto'|'none'|object"},
    {"stream", JF_BOOL, offsetof(struct chat_completion_body, is_stream), JF_NULLABLE, NULL, 0,
     "Send the answer in chunks."},
    {"stream_options", JF_JSON_OBJECT, offsetof(struct chat_completion_body, stream_options),
     JF_NULLABLE, NULL, 0, "`include_usage`: a last chunk has the tokens."},
    {"response_format", JF_JSON_OBJECT, offsetof(struct chat_completion_body, format), JF_NULLABLE,
     NULL, 0, "JSON as the form of the answer, which the model is told and nb does not check."},
    {"store", JF_BOOL, offsetof(struct chat_completion_body, is_stored), JF_NULLABLE, NULL, 0,
     "true: the conversation is in the lists of the person."},
    {"metadata", JF_JSON_OBJECT, offsetof(struct chat_completion_body, metadata), JF_NULLABLE, NULL,
     0, "Stored with the conversation."},
    {"max_tokens", JF_INT, offsetof(struct chat_completion_body, max_tokens), JF_NULLABLE, NULL, 0,
     "The older name of the next one."},
    {"max_completion_tokens", JF_INT, offsetof(struct chat_completion_body, max_completion_tokens),
     JF_NULLABLE, NULL, 0, "How many tokens the answer may have."},
    {0}};

static bool is_one(const struct json *v)
{
    return v->type == JSON_INT && v->i == 1;
}

static bool is_only_text(const struct json *v)
{
    return v->type == JSON_ARRAY && v->len == 1 && json_has_string(v, STR("text"));
}

static const struct compat_refusal REFUSED[] = {
    {"n", is_one, "nb gives one answer; send several requests"},
    {"logprobs", compat_is_absent, "nb has no probabilities of tokens"},
    {"modalities", is_only_text, "nb answers with text only"},
    {"audio", compat_is_absent, "nb answers with text only"},
    {"functions", compat_is_absent, "use tools"},
    {"function_call", compat_is_absent, "use tool_choice"},
    {"web_search_options", compat_is_absent, "nb uses the tools of the workspace"},
    {0}};

/* ---- messages ---- */

static int read_image(struct compat_request *q, struct compat_message *m, const struct json *part,
                      const char *where, struct err *e)
{
    str url;
    int r = compat_need(json_get(part, "image_url"), "url", where, &url, e);
    return r < 0 ? r : compat_read_file(q, m, where, STR_NONE, url, STR("picture"), e);
}

static int read_file_part(struct compat_request *q, struct compat_message *m,
                          const struct json *part, const char *where, struct err *e)
{
    const struct json *file = json_get(part, "file");
    str name = json_get_string(file, "filename");
    return compat_read_file(q, m, where, json_get_string(file, "file_id"),
                            json_get_string(file, "file_data"), name, e);
}

static const struct compat_part_type USER_PARTS[] = {
    {"text", compat_read_text_part}, {"image_url", read_image}, {"file", read_file_part}, {0}};
static const struct compat_part_type ASSISTANT_PARTS[] = {
    {"text", compat_read_text_part}, {"refusal", NULL}, {0}};

static int read_calls(struct compat_request *q, struct compat_message *m, const struct json *calls,
                      const char *where, struct err *e)
{
    int r = 0;
    if (calls && calls->type != JSON_ARRAY && calls->type != JSON_NULL)
        return err_set(e, -EINVAL, "%s.tool_calls: expected an array", where);
    for (size_t i = 0; calls && i < calls->len && r == 0; i++) {
        const struct json *call = &calls->items[i], *function = json_get(call, "function");
        struct compat_place at = compat_place(where, "tool_calls", i);
        struct compat_block b = {.type = COMPAT_CALL,
                                 .args = json_get_string(function, "arguments")};
        r = compat_need(call, "id", at.text, &b.id, e);
        if (r == 0)
            r = compat_need(function, "name", at.text, &b.name, e);
        if (r == 0)
            r = compat_add(q, m, b, e);
    }
    return r;
}

static int read_system(struct compat_request *q, const struct json *v, const char *where,
                       struct err *e)
{
    str text;
    int r = compat_join_text(q, json_get(v, "content"), where, &text, e);
    if (r == 0)
        compat_instruct(q, text);
    return r;
}

static int read_user(struct compat_request *q, const struct json *v, const char *where,
                     struct err *e)
{
    struct compat_message *m = compat_message(q, false, e);
    return m ? compat_read_parts(q, m, json_get(v, "content"), USER_PARTS, where, e) : -EINVAL;
}

static int read_assistant(struct compat_request *q, const struct json *v, const char *where,
                          struct err *e)
{
    struct compat_message *m = compat_message(q, true, e);
    int r = -EINVAL;
    if (m)
        r = compat_read_parts(q, m, json_get(v, "content"), ASSISTANT_PARTS, where, e);
    return r < 0 ? r : read_calls(q, m, json_get(v, "tool_calls"), where, e);
}

static int read_tool_result(struct compat_request *q, const struct json *v, const char *where,
                            struct err *e)
{
    struct compat_message *m = compat_message(q, false, e);
    struct compat_block b = {.type = COMPAT_RESULT};
    int r = m ? compat_need(v, "tool_call_id", where, &b.id, e) : -EINVAL;
    if (r == 0)
        r = compat_join_text(q, json_get(v, "content"), where, &b.text, e);
    return r < 0 ? r : compat_add(q, m, b, e);
}

static const struct {
    const char *role;
    int (*read)(struct compat_request *q, const struct json *v, const char *where, struct err *e);
} ROLES[] = {{"system", read_system},
             {"developer", read_system},
             {"user", read_user},
             {"assistant", read_assistant},
             {"tool", read_tool_result}};

static int read_chat_message(struct compat_request *q, const struct json *v, const char *where,
                             struct err *e)
{
    str role = json_get_string(v, "role");
    for (size_t i = 0; i < ARRAY_LEN(ROLES); i++)
        if (str_eq(role, str_from(ROLES[i].role)))
            return ROLES[i].read(q, v, where, e);
    return err_set(e, -EINVAL, "%s.role: expected system, developer, user, assistant or tool",
                   where);
}

/* ---- tools ---- */

static int read_tools(struct compat_request *q, const struct json *tools, struct err *e)
{
    int r = 0;
    if (tools && tools->type != JSON_ARRAY)
        return err_set(e, -EINVAL, "tools: expected an array");
    for (size_t i = 0; tools && i < tools->len && r == 0; i++) {
        const struct json *f = json_get(&tools->items[i], "function");
        struct compat_place at = compat_place("", "tools", i);
        if (!str_eq(json_get_string(&tools->items[i], "type"), STR("function")))
            return err_set(e, -EINVAL, "%s.type: only tools of type function are supported",
                           at.text);
        struct llm_tool tool = {json_get_string(f, "name"), json_get_string(f, "description"),
                                json_get(f, "parameters")};
        r = compat_add_tool(q, at.text, tool, e);
    }
    return r;
}

int compat_read_chat(struct compat_request *q, const struct json *body, struct err *e)
{
    struct chat_completion_body b = {0};
    int r = json_decode(q->arena, body, API_COMPAT_CHAT_FIELDS, &b, "", NULL, NULL, e);
    if (r == 0)
        r = compat_refuse(body, REFUSED, e);
    if (r == 0 && b.messages->type != JSON_ARRAY)
        r = err_set(e, -EINVAL, "messages: expected an array");
    for (size_t i = 0; r == 0 && i < b.messages->len; i++)
        r = read_chat_message(q, &b.messages->items[i], compat_place("", "messages", i).text, e);
    if (r == 0)
        r = read_tools(q, b.tools, e);
    if (r == 0)
        r = compat_read_choice(q, b.choice, e);
    if (r == 0)
        r = compat_read_format(q, b.format, "response_format", e);
    q->model = b.model;
    q->is_stream = b.is_stream;
    q->has_usage_chunk = json_get_bool(b.stream_options, "include_usage", false);
    q->is_listed = b.is_stored;
    q->metadata = b.metadata;
    q->max_tokens = b.max_completion_tokens > 0 ? b.max_completion_tokens : b.max_tokens;
    return r;
}
