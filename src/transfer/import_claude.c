/* import_claude.c - one conversation of a Claude.ai export (conversations.json).
 *
 * Relied on: uuid, name, created_at (ISO); chat_messages [{uuid, sender (human, assistant),
 * created_at, text, content (blocks text, thinking, tool_use, tool_result), attachments
 * [{file_name, extracted_content}], files [{file_name, file_uuid}]}]. text repeats the blocks and
 * is used only if there are no blocks. Messages are in order. A file comes along if it is beside
 * conversations.json, under its name or with a name that begins with its uuid. */
#include "base/clock.h"
#include "transfer/import_impl.h"

bool import_is_claude(const struct json *v)
{
    return json_is(json_get(v, "chat_messages"), JSON_ARRAY);
}

static void add_file(struct talk *t, struct arena *a, const struct json *file, struct json *parts)
{
    str name = json_get_string(file, "file_name");
    if (!talk_add_file(t, a, parts, json_get_string(file, "file_uuid"), name) &&
        !talk_add_file(t, a, parts, name, name))
        talk_skip(t, "a file that is not in the export");
}

static void add_attachments(struct talk *t, struct arena *a, const struct json *m,
                            struct json *parts)
{
    const struct json *attached = json_get(m, "attachments"), *files = json_get(m, "files");
    for (size_t i = 0; json_is(attached, JSON_ARRAY) && i < attached->len; i++) {
        str name = json_get_string(&attached->items[i], "file_name");
        str text = json_get_string(&attached->items[i], "extracted_content");
        if (text.n)
            talk_add_text(a, parts, arena_printf(a, "[%.*s]\n%.*s", STR_ARG(name), STR_ARG(text)));
        else
            add_file(t, a, &attached->items[i], parts);
    }
    for (size_t i = 0; json_is(files, JSON_ARRAY) && i < files->len; i++)
        add_file(t, a, &files->items[i], parts);
}

static void tell_human(struct talk *t, struct arena *a, const struct json *m)
{
    const struct json *content = json_get(m, "content");
    struct json *parts = json_new(a, JSON_ARRAY);
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++)
        talk_add_text(a, parts, json_get_string(&content->items[i], "text"));
    if (!parts->len)
        talk_add_text(a, parts, json_get_string(m, "text"));
    add_attachments(t, a, m, parts);
    talk_user(t, parts);
}

static void tell_message(struct talk *t, struct arena *a, const struct json *m)
{
    str sender = json_get_string(m, "sender");
    const struct json *content = json_get(m, "content");
    talk_at(t, json_get_string(m, "created_at"));
    if (str_eq(sender, STR("human"))) {
        tell_human(t, a, m);
    } else if (str_eq(sender, STR("assistant"))) {
        talk_answer(t, json_get_string(m, "uuid"), STR_NONE);
        if (json_is(content, JSON_ARRAY) && content->len)
            talk_anthropic(t, content, false);
        else
            talk_text(t, json_get_string(m, "text"));
    } else {
        talk_skip(t, "a message from an unknown sender");
    }
}

void import_claude(struct talk *t, struct arena *a, const struct json *v, struct conv_create *conv)
{
    const struct json *messages = json_get(v, "chat_messages");
    str id = json_get_string(v, "uuid");
    *conv = (struct conv_create){.id = talk_conv_id(t, a, "claude", id),
                                 .metadata = import_metadata(a, "claude", id)};
    (void)clock_parse_iso(json_get_string(v, "created_at"), &conv->created_ms);
    talk_at(t, json_get_string(v, "created_at"));
    for (size_t i = 0; i < messages->len; i++)
        tell_message(t, a, &messages->items[i]);
    talk_finish(t);
    talk_title(t, json_get_string(v, "name"));
}
