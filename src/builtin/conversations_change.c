/* conversations__update, __fork, __note, __delete. */
#include "builtin/conversations.h"

/* ---- update ---- */

static void update_found(struct builtin_call *c, const struct conv *conv)
{
    c->op = store_set_title(conv_tool_store(c), conv->id, json_get_string(c->call.args, "title"),
                            conv_tool_reply, c);
}

static void update(struct builtin_call *c)
{
    if (str_trim(json_get_string(c->call.args, "title")).n == 0)
        builtin_fail(c, "title: must not be empty");
    else
        conv_tool_find(c, update_found);
}

const struct builtin_tool BUILTIN_CONV_UPDATE = {
    .name = "update",
    .rule = {.conv = RULE_CONV_MANAGE},
    .title = "Rename a conversation",
    .description = "Change the title of a conversation.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"id\":{\"type\":\"string\",\"description\":\"This conversation when left out\"},"
              "\"title\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":500}},"
              "\"required\":[\"title\"],\"additionalProperties\":false}",
    .call = update,
};

/* ---- fork ---- */

static void fork_found(struct builtin_call *c, const struct conv *conv)
{
    int64_t at = json_get_int(c->call.args, "atMessage", -1);
    c->op = store_fork(conv_tool_store(c), conv->id, at, actor_user(c->call.who.actor), NULL,
                       conv_tool_reply, c);
}

const struct builtin_tool BUILTIN_CONV_FORK = {
    .name = "fork",
    .rule = {.conv = RULE_CONV_VIEW},
    .title = "Fork a conversation",
    .description = "Copy the first atMessage messages (all when left out) into a new "
                   "conversation. The original stays as it is.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"id\":{\"type\":\"string\",\"description\":\"This conversation when left out\"},"
              "\"atMessage\":{\"type\":\"integer\",\"minimum\":0}},\"additionalProperties\":false}",
    .found = fork_found,
};

/* ---- note ---- */

static void note_found(struct builtin_call *c, const struct conv *conv)
{
    c->op = store_add_note(conv_tool_store(c), conv->id, STR("model"),
                           json_get_string(c->call.args, "text"), conv_tool_reply, c);
}

const struct builtin_tool BUILTIN_CONV_NOTE = {
    .name = "note",
    .rule = {.conv = RULE_CONV_SEND},
    .title = "Write a note",
    .description = "Add a note to a conversation. People can read it, and search finds it.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"id\":{\"type\":\"string\",\"description\":\"This conversation when left out\"},"
              "\"text\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":16000}},"
              "\"required\":[\"text\"],\"additionalProperties\":false}",
    .found = note_found,
};

/* ---- delete ---- */

static void on_deleted(void *ctx, const struct err *err)
{
    struct builtin_call *c = ctx;
    c->op = NULL;
    if (err) {
        conv_tool_fail(c, err);
        return;
    }
    struct json *out = json_new(&c->call.arena, JSON_OBJECT);
    json_set(&c->call.arena, out, STR("id"), json_of_str(json_get_string(c->call.args, "id")));
    json_set(&c->call.arena, out, STR("deleted"), json_of_bool(true));
    builtin_reply_json(c, STR("Deleted. It can be restored for 7 days."), out);
}

static void delete_found(struct builtin_call *c, const struct conv *conv)
{
    if (str_eq(conv->id, c->call.who.conversation_id)) {
        builtin_fail(c,
                     "A conversation cannot delete itself. Delete it from another conversation.");
        return;
    }
    c->op = store_delete(conv_tool_store(c), conv->id, false,
                         actor_viewer(c->call.who.actor, &c->call.arena), builtin_doer(c),
                         on_deleted, c);
}

const struct builtin_tool BUILTIN_CONV_DELETE = {
    .name = "delete",
    .rule = {.conv = RULE_CONV_MANAGE},
    .title = "Delete a conversation",
    .description = "Move a conversation to the trash, where it can be restored for 7 days.",
    .schema = "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"}},"
              "\"required\":[\"id\"],\"additionalProperties\":false}",
    .is_destructive = true,
    .found = delete_found,
    .audited = "conversation.delete",
};
