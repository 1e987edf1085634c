/* read_responses.c - the body of POST /v1/responses. */
#include <errno.h>

#include "api/bodies.h"
#include "api/compat/compat.h"

struct responses_fields {
    str model, instructions, previous_id;
    const struct json *input, *tools, *choice, *conversation, *metadata, *text;
    bool is_stream, is_stored;
    int64_t max_tokens;
};

const struct json_field API_COMPAT_RESPONSES_FIELDS[] = {
    {"model", JF_STR, offsetof(struct responses_fields, model), JF_NULLABLE, NULL, 0,
     "A model, `default`, or `agent:` and the name of an agent; absent: default."},
    {"input", JF_JSON, offsetof(struct responses_fields, input), JF_REQUIRED, NULL, 0,
     "A message, or items.", "string|object[]"},
    {"instructions", JF_STR, offsetof(struct responses_fields, instructions), JF_NULLABLE, NULL, 0,
     "Instructions of the program."},
    {"previous_response_id", JF_STR, offsetof(struct responses_fields, previous_id), JF_NULLABLE,
     NULL, 0, "The response that this request continues."},
    {"conversation", JF_JSON, offsetof(struct responses_fields, conversation), JF_NULLABLE, NULL, 0,
     "The conversation that this request continues, or an object with its id.", "string|object"},
    {"store", JF_BOOL, offsetof(struct responses_fields, is_stored), JF_NULLABLE, NULL, 0,
     "true: the conversation is in the lists of the person."},
    {"tools", JF_JSON, offsetof(struct responses_fields, tools), JF_NULLABLE, NULL, 0,
     "Functions that the program executes itself.", "object[]"},
    {"tool_choice", JF_JSON, offsetof(struct responses_fields, choice), JF_NULLABLE, NULL, 0,
     "auto or none.", "'auto'|'none'|object"},
    {"stream", JF_BOOL, offsetof(struct responses_fields, is_stream), JF_NULLABLE, NULL, 0,
     "Send the answer as events."},
    {"text", JF_JSON_OBJECT, offsetof(struct responses_fields, text), JF_NULLABLE, NULL, 0,
     "`format`: JSON as the form of the answer, which the model is told and nb does not check."},
    {"metadata", JF_JSON_OBJECT, offsetof(struct responses_fields, metadata), JF_NULLABLE, NULL, 0,
     "Stored with the conversation."},
    {"max_output_tokens", JF_INT, offsetof(struct responses_fields, max_tokens), JF_NULLABLE, NULL,
     0, "How many tokens the answer may have.", "integer(0..)"},
    {0}};

static const struct compat_refusal REFUSED[] = {
    {"background", compat_is_absent, "nb answers when the run has ended"},
    {"prompt", compat_is_absent, "nb has no stored prompts; send instructions"},
    {0}};

/* ---- input ---- */

static int read_picture(struct compat_request *q, struct compat_message *m, const struct json *part,
                        const char *where, struct err *e)
{
    return compat_read_file(q, m, where, json_get_string(part, "file_id"),
                            json_get_string(part, "image_url"), STR("picture"), e);
}

static int read_input_file(struct compat_request *q, struct compat_message *m,
                           const struct json *part, const char *where, struct err *e)
{
    str data = json_get_string(part, "file_data"), url = json_get_string(part, "file_url");
    return compat_read_file(q, m, where, json_get_string(part, "file_id"), data.n > 0 ? data : url,
                            json_get_string(part, "filename"), e);
}

static const struct compat_part_type USER_PARTS[] = {{"input_text", compat_read_text_part},
                                                     {"text", compat_read_text_part},
                                                     {"input_image", read_picture},
                                                     {"input_file", read_input_file},
                                                     {0}};
static const struct compat_part_type ASSISTANT_PARTS[] = {{"output_text", compat_read_text_part},
                                                          {"text", compat_read_text_part},
                                                          {"refusal", NULL},
                                                          {0}};

static int read_message_item(struct compat_request *q, const struct json *v, const char *where,
                             struct err *e)
{
    str role = json_get_string(v, "role"), text;
    const struct json *content = json_get(v, "content");
    bool is_assistant = str_eq(role, STR("assistant"));
    if (str_eq(role, STR("system")) || str_eq(role, STR("developer"))) {
        int r = compat_join_text(q, content, where, &text, e);
        if (r == 0)
            compat_instruct(q, text);
        return r;
    }
    if (!is_assistant && !str_eq(role, STR("user")))
        return err_set(e, -EINVAL, "%s.role: expected system, developer, user or assistant", where);
    struct compat_message *m = compat_message(q, is_assistant, e);
    const struct compat_part_type *types = is_assistant ? ASSISTANT_PARTS : USER_PARTS;
    return m ? compat_read_parts(q, m, content, types, where, e) : -EINVAL;
}

static int read_call_item(struct compat_request *q, const struct json *v, const char *where,
                          struct err *e)
{
    struct compat_message *m = compat_message(q, true, e);
    struct compat_block b = {.type = COMPAT_CALL, .args = json_get_string(v, "arguments")};
    int r = m ? compat_need(v, "call_id", where, &b.id, e) : -EINVAL;
    if (r == 0)
        r = compat_need(v, "name", where, &b.name, e);
    return r < 0 ? r : compat_add(q, m, b, e);
}

static const struct compat_part_type RESULT_PARTS[] = {
    {"input_image", read_picture}, {"input_file", read_input_file}, {0}};

static int read_output_item(struct compat_request *q, const struct json *v, const char *where,
                            struct err *e)
{
    struct compat_message *m = compat_message(q, false, e);
    struct compat_block b = {.type = COMPAT_RESULT};
    int r = m ? compat_need(v, "call_id", where, &b.id, e) : -EINVAL;
    if (r == 0)
        r = compat_read_result(q, m, json_get(v, "output"), RESULT_PARTS, where, &b.text, e);
    return r < 0 ? r : compat_add(q, m, b, e);
}

static const struct {
    const char *type;
    int (*read)(struct compat_request *q, const struct json *v, const char *where, struct err *e);
} ITEMS[] = {
    {"message", read_message_item},
    {"function_call", read_call_item},
    {"function_call_output", read_output_item},
    {"reasoning", NULL}, /* nb keeps its own */
    {"mcp_call", NULL},
};

static int read_item(struct compat_request *q, const struct json *v, const char *where,
                     struct err *e)
{
    str type = json_get_string(v, "type");
    if (type.n == 0 && json_get(v, "role"))
        type = STR("message");
    for (size_t i = 0; i < ARRAY_LEN(ITEMS); i++)
        if (str_eq(type, str_from(ITEMS[i].type)))
            return ITEMS[i].read ? ITEMS[i].read(q, v, where, e) : 0;
    return err_set(e, -EINVAL, "%s.type: expected message, function_call or function_call_output",
                   where);
}

static int read_input(struct compat_request *q, const struct json *input, struct err *e)
{
    struct compat_message *m;
    int r = 0;
    if (input->type == JSON_STRING) {
        m = compat_message(q, false, e);
        return m ? compat_add_text(q, m, input->s, e) : -EINVAL;
    }
    if (input->type != JSON_ARRAY)
        return err_set(e, -EINVAL, "input: expected a string or an array");
    for (size_t i = 0; i < input->len && r == 0; i++)
        r = read_item(q, &input->items[i], compat_place("", "input", i).text, e);
    return r;
}

/* ---- tools ---- */

static int read_functions(struct compat_request *q, const struct json *tools, struct err *e)
{
    int r = 0;
    if (tools && tools->type != JSON_ARRAY)
        return err_set(e, -EINVAL, "tools: expected an array");
    for (size_t i = 0; tools && i < tools->len && r == 0; i++) {
        const struct json *t = &tools->items[i];
        struct compat_place at = compat_place("", "tools", i);
        if (!str_eq(json_get_string(t, "type"), STR("function")))
            return err_set(e, -EINVAL,
                           "%s.type: only tools of type function are supported; the agent uses "
                           "those of the workspace anyway",
                           at.text);
        struct llm_tool tool = {json_get_string(t, "name"), json_get_string(t, "description"),
                                json_get(t, "parameters")};
        r = compat_add_tool(q, at.text, tool, e);
    }
    return r;
}

/* ---- continuing ---- */

/* resp_<run>_<conversation>, as write_responses.c writes it. */
bool compat_parse_response_id(struct arena *a, str id, str *ret_conversation, str *ret_run)
{
    str rest = str_starts(id, STR("resp_")) ? str_skip(id, 5) : STR_NONE;
    ptrdiff_t end = str_find_char(rest, '_');
    if (end <= 0)
        return false;
    *ret_conversation = str_skip(rest, (size_t)end + 1);
    *ret_run = arena_printf(a, "run_%.*s", (int)end, rest.p);
    return store_id_valid(*ret_conversation) && store_id_valid(*ret_run);
}

static int read_continued(struct compat_request *q, const struct responses_fields *b, struct err *e)
{
    const struct json *conv = b->conversation;
    str id = json_is(conv, JSON_OBJECT) ? json_get_string(conv, "id") : json_string(conv, STR_NONE);
    if (conv && !store_id_valid(id))
        return err_set(e, -EINVAL, "conversation: expected the id of a conversation");
    if (conv && b->previous_id.n > 0)
        return err_set(e, -EINVAL, "Send conversation or previous_response_id, not both.");
    q->conversation_id = id;
    if (b->previous_id.n > 0 &&
        !compat_parse_response_id(q->arena, b->previous_id, &q->conversation_id, &q->after_run_id))
        return err_set(e, -EINVAL, "previous_response_id: not the id of a response");
    q->previous_id = b->previous_id;
    return 0;
}

int compat_read_responses(struct compat_request *q, const struct json *body, struct err *e)
{
    struct responses_fields b = {0};
    int r = json_decode(q->arena, body, API_COMPAT_RESPONSES_FIELDS, &b, "", NULL, NULL, e);
    if (r == 0)
        r = compat_refuse(body, REFUSED, e);
    if (r == 0)
        r = read_continued(q, &b, e);
    compat_instruct(q, b.instructions);
    if (r == 0)
        r = read_input(q, b.input, e);
    if (r == 0)
        r = read_functions(q, b.tools, e);
    if (r == 0)
        r = compat_read_choice(q, b.choice, e);
    if (r == 0)
        r = compat_read_format(q, json_get(b.text, "format"), "text.format", e);
    q->model = b.model;
    q->is_stream = b.is_stream;
    q->is_listed = b.is_stored;
    q->metadata = b.metadata;
    q->max_tokens = b.max_tokens;
    return r;
}
