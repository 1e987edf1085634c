/* read_messages.c - the body of POST /v1/messages. */
#include <errno.h>

#include "api/bodies.h"
#include "api/compat/compat.h"

struct messages_body {
    str model;
    const struct json *messages, *system, *tools, *choice, *metadata;
    bool is_stream;
    int64_t max_tokens;
};

const struct json_field API_COMPAT_MESSAGES_FIELDS[] = {
    {"model", JF_STR, offsetof(struct messages_body, model), JF_REQUIRED, NULL, 0,
     "A model, `default`, or `agent:` and the name of an agent."},
    {"messages", JF_JSON, offsetof(struct messages_body, messages), JF_REQUIRED, NULL, 0,
     "The conversation so far; the last message is answered.", "object[]"},
    {"max_tokens", JF_INT, offsetof(struct messages_body, max_tokens), JF_REQUIRED, NULL, 0,
     "How many tokens the answer may have.", "integer(0..)"},
    {"system", JF_JSON, offsetof(struct messages_body, system), JF_NULLABLE, NULL, 0,
     "Instructions of the program.", "string|object[]"},
    {"tools", JF_JSON, offsetof(struct messages_body, tools), JF_NULLABLE, NULL, 0,
     "Tools that the program executes itself.", "object[]"},
    {"tool_choice", JF_JSON, offsetof(struct messages_body, choice), JF_NULLABLE, NULL, 0,
     "An object with the type auto or none.", "'auto'|'none'|object"},
    {"stream", JF_BOOL, offsetof(struct messages_body, is_stream), JF_NULLABLE, NULL, 0,
     "Send the answer as events."},
    {0}};

static const struct compat_refusal REFUSED[] = {
    {"mcp_servers", compat_is_absent, "nb uses the tools of the workspace"},
    {"container", compat_is_absent, "nb has no containers"},
    {0}};

/* ---- blocks ---- */

static int read_source(struct compat_request *q, struct compat_message *m, const struct json *part,
                       const char *where, struct err *e)
{
    const struct json *source = json_get(part, "source");
    str type = json_get_string(source, "type"), title = json_get_string(part, "title");
    struct compat_file f = {.name = title.n > 0 ? title : json_get_string(part, "type")};
    if (str_eq(type, STR("text")))
        return compat_add_text(q, m, json_get_string(source, "data"), e);
    if (str_eq(type, STR("base64")))
        f.base64 = json_get_string(source, "data");
    else if (str_eq(type, STR("file")))
        f.id = json_get_string(source, "file_id");
    else if (str_eq(type, STR("url")) &&
             compat_read_url(json_get_string(source, "url"), where, f.name, &f, e) < 0)
        return -EINVAL;
    if (f.base64.n == 0 && f.id.n == 0)
        return err_set(e, -EINVAL,
                       "%s.source: expected type base64 with data, or file with file_id", where);
    if (f.base64.n > 0 && compat_read_base64(f.base64, where, e) < 0)
        return -EINVAL;
    return compat_add_file(q, m, f, e);
}

static int read_use(struct compat_request *q, struct compat_message *m, const struct json *part,
                    const char *where, struct err *e)
{
    const struct json *input = json_get(part, "input");
    struct compat_block b = {.type = COMPAT_CALL, .args = STR("{}")};
    if (json_is(input, JSON_OBJECT))
        b.args = json_to_str(q->arena, input);
    int r = compat_need(part, "id", where, &b.id, e);
    if (r == 0)
        r = compat_need(part, "name", where, &b.name, e);
    return r < 0 ? r : compat_add(q, m, b, e);
}

static const struct compat_part_type RESULT_BLOCKS[] = {
    {"image", read_source}, {"document", read_source}, {0}};

static int read_result(struct compat_request *q, struct compat_message *m, const struct json *part,
                       const char *where, struct err *e)
{
    struct compat_block b = {.type = COMPAT_RESULT,
                             .is_error = json_get_bool(part, "is_error", false)};
    int r = compat_need(part, "tool_use_id", where, &b.id, e);
    if (r == 0)
        r = compat_read_result(q, m, json_get(part, "content"), RESULT_BLOCKS, where, &b.text, e);
    return r < 0 ? r : compat_add(q, m, b, e);
}

static const struct compat_part_type USER_BLOCKS[] = {{"text", compat_read_text_part},
                                                      {"image", read_source},
                                                      {"document", read_source},
                                                      {"tool_result", read_result},
                                                      {0}};
static const struct compat_part_type ASSISTANT_BLOCKS[] = {{"text", compat_read_text_part},
                                                           {"tool_use", read_use},
                                                           {"thinking", NULL},
                                                           {"redacted_thinking", NULL},
                                                           {0}};

static int read_turn(struct compat_request *q, const struct json *v, const char *where,
                     struct err *e)
{
    str role = json_get_string(v, "role");
    bool is_assistant = str_eq(role, STR("assistant"));
    if (!is_assistant && !str_eq(role, STR("user")))
        return err_set(e, -EINVAL, "%s.role: expected user or assistant", where);
    struct compat_message *m = compat_message(q, is_assistant, e);
    const struct compat_part_type *types = is_assistant ? ASSISTANT_BLOCKS : USER_BLOCKS;
    return m ? compat_read_parts(q, m, json_get(v, "content"), types, where, e) : -EINVAL;
}

/* ---- the rest ---- */

static int read_own_tools(struct compat_request *q, const struct json *tools, struct err *e)
{
    int r = 0;
    if (tools && tools->type != JSON_ARRAY)
        return err_set(e, -EINVAL, "tools: expected an array");
    for (size_t i = 0; tools && i < tools->len && r == 0; i++) {
        const struct json *t = &tools->items[i];
        struct compat_place at = compat_place("", "tools", i);
        str type = json_get_string(t, "type");
        if (type.n > 0 && !str_eq(type, STR("custom")))
            return err_set(e, -EINVAL, "%s.type: only tools with an input_schema are supported",
                           at.text);
        struct llm_tool tool = {json_get_string(t, "name"), json_get_string(t, "description"),
                                json_get(t, "input_schema")};
        r = compat_add_tool(q, at.text, tool, e);
    }
    return r;
}

int compat_read_anthropic(struct compat_request *q, const struct json *body, struct err *e)
{
    struct messages_body b = {0};
    str system = STR_NONE;
    int r = json_decode(q->arena, body, API_COMPAT_MESSAGES_FIELDS, &b, "", NULL, NULL, e);
    if (r == 0)
        r = compat_refuse(body, REFUSED, e);
    if (r == 0)
        r = compat_join_text(q, b.system, "system", &system, e);
    compat_instruct(q, system);
    if (r == 0 && b.messages->type != JSON_ARRAY)
        r = err_set(e, -EINVAL, "messages: expected an array");
    for (size_t i = 0; r == 0 && i < b.messages->len; i++)
        r = read_turn(q, &b.messages->items[i], compat_place("", "messages", i).text, e);
    if (r == 0)
        r = read_own_tools(q, b.tools, e);
    if (r == 0)
        r = compat_read_choice(q, b.choice, e);
    q->model = b.model;
    q->is_stream = b.is_stream;
    q->max_tokens = b.max_tokens;
    return r;
}
