/* nb__manage_conversation - sharing, by the agent, for the person it acts for. */
#include "builtin/conversations.h"
#include "workspace/directory.h"

static bool is_member(const struct builtin_call *c, str user_id)
{
    const struct runtime_deps *d = runtime_deps(c->builtin->deps.runtime);
    const char *id = store_conf(d->store)->workspace_id;
    const struct workspace *ws =
        d->directory ? roster_workspace(directory_roster(d->directory), str_from(id)) : NULL;
    return ws && workspace_role(ws, user_id) != WS_NONE;
}

static void set(struct builtin_call *c, const struct conv *conv, bool is_shared,
                const struct json_strs *who)
{
    c->op = store_set_sharing(conv_tool_store(c), conv->id, is_shared, who, builtin_doer(c),
                              conv_tool_reply, c);
}

static void share(struct builtin_call *c, const struct conv *conv)
{
    set(c, conv, true, NULL);
}

static void unshare(struct builtin_call *c, const struct conv *conv)
{
    set(c, conv, false, NULL);
}

/* Those who take part, without this one; `more` places are left at the end. */
static struct json_strs others(struct builtin_call *c, const struct conv *conv, str user)
{
    const struct json_strs *now = &conv->acl.participants;
    struct json_strs out = {arena_array(&c->arena, now->len + 1, sizeof(str)), 0};
    for (size_t i = 0; i < now->len; i++)
        if (!str_eq(now->items[i], user))
            out.items[out.len++] = now->items[i];
    return out;
}

static void add_participant(struct builtin_call *c, const struct conv *conv)
{
    str user = json_get_string(c->args, "userId");
    if (!is_member(c, user)) {
        builtin_fail(c, "'%.*s' is not a member of this workspace.", STR_ARG(user));
        return;
    }
    struct json_strs who = others(c, conv, user);
    who.items[who.len++] = user;
    set(c, conv, true, &who);
}

static void remove_participant(struct builtin_call *c, const struct conv *conv)
{
    str user = json_get_string(c->args, "userId");
    struct json_strs who = others(c, conv, user);
    if (str_eq(user, conv->acl.owner_id))
        builtin_fail(c, "The owner cannot be removed.");
    else if (who.len == conv->acl.participants.len)
        builtin_fail(c, "'%.*s' does not take part.", STR_ARG(user));
    else
        set(c, conv, conv->acl.is_shared, &who);
}

static const struct {
    const char *name;
    void (*act)(struct builtin_call *c, const struct conv *conv);
    bool needs_user;
    const char *audited;
} ACTIONS[] = {
    {"share", share, false, "conversation.share"},
    {"unshare", unshare, false, "conversation.unshare"},
    {"add_participant", add_participant, true, "participant.add"},
    {"remove_participant", remove_participant, true, "participant.remove"},
};

static const char *audited(const struct json *args)
{
    str action = json_get_string(args, "action");
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++)
        if (str_eq(action, str_from(ACTIONS[i].name)))
            return ACTIONS[i].audited;
    return NULL;
}

static void manage(struct builtin_call *c)
{
    str action = json_get_string(c->args, "action");
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++) {
        if (!str_eq(action, str_from(ACTIONS[i].name)))
            continue;
        if (ACTIONS[i].needs_user && json_get_string(c->args, "userId").n == 0)
            builtin_fail(c, "userId: say whom.");
        else
            conv_tool_find(c, ACTIONS[i].act);
        return;
    }
    builtin_fail(c, "action: expected share, unshare, add_participant or remove_participant");
}

/* Others get to see what was private: a person decides on that. */
const struct builtin_tool BUILTIN_MANAGE_CONVERSATION = {
    .name = "manage_conversation",
    .rule = {.conv = RULE_CONV_SHARE},
    .title = "Share a conversation",
    .description =
        "Shares a conversation with members of the workspace or makes it private again, and adds "
        "or removes participants. Only its owner or an admin of the workspace may do that.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"action\":{\"type\":\"string\",\"enum\":[\"share\",\"unshare\","
              "\"add_participant\",\"remove_participant\"]},"
              "\"conversationId\":{\"type\":\"string\",\"description\":\"This conversation when "
              "left out\"},"
              "\"userId\":{\"type\":\"string\"}},"
              "\"required\":[\"action\"],\"additionalProperties\":false}",
    .is_destructive = true,
    .call = manage,
    .audited = audited,
};
