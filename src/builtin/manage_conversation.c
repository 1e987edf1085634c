/* nb__manage_conversation - sharing, by the agent, for the person it acts for. */
#include <assert.h>

#include "builtin/conversations.h"
#include "workspace/roster/directory.h"
#include "workspace/roster/roster.h"

static const struct workspace *workspace_of(const struct builtin_call *c)
{
    const struct runtime_deps *d = runtime_deps(c->builtin->deps.runtime);
    const char *id = store_conf(d->store)->workspace_id;
    return d->directory ? roster_workspace(directory_roster(d->directory), str_from(id)) : NULL;
}

/* ---- what is now the case ---- */

/* "Ann (usr_ann)", or the id of somebody who has left. */
static void add_person(struct buf *b, const struct workspace *ws, str id)
{
    for (size_t i = 0; ws && i < ws->nmembers; i++) {
        const struct user *u = ws->members[i].user;
        if (str_eq(u->id, id) && u->display_name.n > 0) {
            buf_printf(b, "%.*s (%.*s)", STR_ARG(u->display_name), STR_ARG(id));
            return;
        }
    }
    buf_add_str(b, id);
}

static void add_people(struct buf *b, const struct builtin_call *c, const struct conv *conv)
{
    const struct workspace *ws = workspace_of(c);
    const struct json_strs *who = &conv->acl.participants;
    buf_add_lit(b, "Owner: ");
    add_person(b, ws, conv->acl.owner_id);
    buf_add_lit(b, ". Participants besides the owner: ");
    size_t n = 0;
    for (size_t i = 0; i < who->len; i++) {
        if (str_eq(who->items[i], conv->acl.owner_id))
            continue;
        if (n++ > 0)
            buf_add_lit(b, ", ");
        add_person(b, ws, who->items[i]);
        if (json_strs_has(&conv->acl.readers, who->items[i]))
            buf_add_lit(b, " (only reads)");
    }
    if (n == 0)
        buf_add_lit(b, "nobody");
    buf_add_lit(b, ".");
}

static struct json *summary(struct builtin_call *c, const struct conv *conv)
{
    struct json *out = conv_tool_summary(&c->call.arena, conv);
    struct json *people = json_new(&c->call.arena, JSON_ARRAY);
    for (size_t i = 0; i < conv->acl.participants.len; i++)
        json_push(&c->call.arena, people,
                  json_of_str(arena_str(&c->call.arena, conv->acl.participants.items[i])));
    json_set(&c->call.arena, out, STR("ownerId"),
             json_of_str(arena_str(&c->call.arena, conv->acl.owner_id)));
    json_set(&c->call.arena, out, STR("participants"), *people);
    return out;
}

static void reply_sharing(void *call, const struct err *err, const struct conv *conv)
{
    struct builtin_call *c = call;
    struct buf b;
    c->op = NULL;
    if (err) {
        conv_tool_fail(c, err);
        return;
    }
    buf_init(&b, CONV_TOOL_CHARS);
    buf_printf(&b, "The conversation %.*s is %s. ", STR_ARG(conv->id),
               conv->acl.is_shared ? "shared: its participants see everything in it" : "private");
    if (conv->acl.is_shared)
        add_people(&b, c, conv);
    builtin_reply_json(c, buf_str(&b), summary(c, conv));
    buf_done(&b);
}

static void change_sharing(struct builtin_call *c, const struct conv *conv,
                           const struct sharing_change *change)
{
    assert(!c->op);
    c->op = store_change_sharing(conv_tool_store(c), conv->id, change, builtin_doer(c),
                                 reply_sharing, c);
}

/* ---- people ---- */

/* The id of a member, by id, e-mail address or name. False: the call is answered. */
static bool find_person(struct builtin_call *c, str typed, str *ret)
{
    const struct user *u;
    struct err e = {0};
    if (member_find(workspace_of(c), typed, &u, &e) < 0) {
        builtin_fail(c, "%s The action \"members\" lists them.", e.msg);
        return false;
    }
    *ret = arena_str(&c->call.arena, u->id);
    return true;
}

static str named_person(const struct builtin_call *c)
{
    return json_get_string(c->call.args, "userId");
}

/* ---- actions ---- */

static void share_found(struct builtin_call *c, const struct conv *conv)
{
    const struct json *given = json_get(c->call.args, "participants");
    size_t n = given ? given->len : 0;
    struct json_strs who = {arena_array(&c->call.arena, n + 1, sizeof(str)), 0};
    for (; who.len < n; who.len++)
        if (!find_person(c, json_string(json_at(given, who.len), STR_NONE), &who.items[who.len]))
            return;
    change_sharing(c, conv, &(struct sharing_change){SHARING_SHARED, .add = n > 0 ? &who : NULL});
}

static void unshare_found(struct builtin_call *c, const struct conv *conv)
{
    change_sharing(c, conv, &(struct sharing_change){SHARING_PRIVATE});
}

static void add_found(struct builtin_call *c, const struct conv *conv)
{
    str id;
    if (!find_person(c, named_person(c), &id))
        return;
    struct json_strs who = {&id, 1};
    str role = json_get_string(c->call.args, "role");
    change_sharing(c, conv,
                   &(struct sharing_change){SHARING_SHARED, .add = &who,
                                            .add_as = role.n == 0 ? SHARING_AS_BEFORE
                                                      : str_eq(role, STR("read")) ? SHARING_READ
                                                                                  : SHARING_WRITE});
}

/* Somebody who has left the workspace is known by their id alone. */
static str participant_named(const struct builtin_call *c, const struct conv *conv, str typed)
{
    const struct user *u;
    if (json_strs_has(&conv->acl.participants, typed))
        return typed;
    return member_find(workspace_of(c), typed, &u, NULL) == 0 ? u->id : typed;
}

static void remove_found(struct builtin_call *c, const struct conv *conv)
{
    str user = arena_str(&c->call.arena, participant_named(c, conv, named_person(c)));
    struct json_strs who = {&user, 1};
    if (str_eq(user, conv->acl.owner_id))
        builtin_fail(c, "The owner cannot be removed.");
    else if (!json_strs_has(&conv->acl.participants, user))
        builtin_fail(c, "'%.*s' is not a participant of this conversation.", STR_ARG(user));
    else
        change_sharing(c, conv, &(struct sharing_change){.remove = &who});
}

static bool has_person(struct builtin_call *c)
{
    if (named_person(c).n > 0)
        return true;
    builtin_fail(c, "userId is required for this action: an id, an e-mail address or a name.");
    return false;
}

static void add_participant(struct builtin_call *c)
{
    if (has_person(c))
        conv_tool_find(c, add_found);
}

static void remove_participant(struct builtin_call *c)
{
    if (has_person(c))
        conv_tool_find(c, remove_found);
}

/* Members see each other: the same as GET /v1/workspaces/:ws/members. */
static void members(struct builtin_call *c)
{
    const struct workspace *ws = workspace_of(c);
    struct arena *a = &c->call.arena;
    struct json *out = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
    struct buf b;
    buf_init(&b, CONV_TOOL_CHARS);
    for (size_t i = 0; ws && i < ws->nmembers; i++) {
        const struct user *u = ws->members[i].user;
        struct json *one = json_new(a, JSON_OBJECT);
        json_set(a, one, STR("userId"), json_of_str(arena_str(a, u->id)));
        json_set(a, one, STR("displayName"), json_of_str(arena_str(a, u->display_name)));
        json_set(a, one, STR("email"), json_of_str(arena_str(a, u->email)));
        json_set(a, one, STR("role"), json_of_str(ws_role_name(ws->members[i].role)));
        json_push(a, list, *one);
        buf_printf(&b, "%.*s  %.*s  %.*s  %.*s\n", STR_ARG(u->id), STR_ARG(u->display_name),
                   STR_ARG(u->email), STR_ARG(ws_role_name(ws->members[i].role)));
    }
    json_set(a, out, STR("members"), *list);
    builtin_reply_json(c, buf_str(&b), out);
    buf_done(&b);
}

#define SHARE                                                                                      \
    {                                                                                              \
        .conv = RULE_CONV_SHARE                                                                    \
    }
static const struct builtin_action ACTIONS[] = {
    {.name = "share", .rule = SHARE, .found = share_found, .audited = "conversation.share"},
    {.name = "unshare", .rule = SHARE, .found = unshare_found, .audited = "conversation.unshare"},
    {.name = "add_participant",
     .rule = SHARE,
     .call = add_participant,
     .audited = "participant.add"},
    {.name = "remove_participant",
     .rule = SHARE,
     .call = remove_participant,
     .audited = "participant.remove"},
    {.name = "members", .call = members, .is_read_only = true},
};

/* Sharing shows private messages to others: a person decides on that. */
const struct builtin_tool BUILTIN_MANAGE_CONVERSATION = {
    .name = "manage_conversation",
    .title = "Share a conversation",
    .description =
        "Share a conversation with members of the workspace or make it private again, add or "
        "remove participants, and list the members of the workspace. Only the owner of the "
        "conversation or an admin of the workspace may change who takes part. People are named by "
        "id, e-mail address or name.",
    .schema =
        "{\"type\":\"object\",\"properties\":{"
        "\"action\":{\"type\":\"string\",\"enum\":[\"share\",\"unshare\","
        "\"add_participant\",\"remove_participant\",\"members\"]},"
        "\"conversationId\":{\"type\":\"string\",\"description\":\"This conversation when "
        "left out\"},"
        "\"userId\":{\"type\":\"string\",\"description\":\"The person to add or remove: id, e-mail "
        "address or name\"},"
        "\"role\":{\"type\":\"string\",\"enum\":[\"write\",\"read\"],\"description\":"
        "\"add_participant: what the person may do; write when left out\"},"
        "\"participants\":{\"type\":\"array\",\"maxItems\":1000,\"items\":{\"type\":"
        "\"string\"},\"description\":\"share: the people to add\"}},"
        "\"required\":[\"action\"],\"additionalProperties\":false}",
    .is_destructive = true,
    .actions = ACTIONS,
    .nactions = ARRAY_LEN(ACTIONS),
};
