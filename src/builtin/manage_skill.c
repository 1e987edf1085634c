/* nb__manage_skill - the agent writes skills, with the user's permission. */
#include <assert.h>

#include "builtin/internal.h"
#include "runtime/skill_change.h"
#include "skill/edit.h"

#define LIST_MAX (256u * 1024)

/* Empty: the call is answered. */
static str named_skill(struct builtin_call *c)
{
    str name = json_get_string(c->call.args, "name");
    if (name.n == 0)
        builtin_fail(c, "name is required for this action.");
    return name;
}

/* The skills of the workspace, with the caller's own if the run has messages of nobody else. */
static const struct skills *known_skills(const struct builtin_call *c)
{
    return skills_for(runtime_skills(c->builtin->deps.runtime), actor_sole_user(c->call.who.actor));
}

static bool is_personal(const struct builtin_call *c)
{
    return str_eq(json_get_string(c->call.args, "scope"), STR("personal"));
}

/* The owner of the skill to change; empty: the workspace. False: the call is answered. */
static bool find_owner(struct builtin_call *c, str *ret)
{
    *ret = is_personal(c) ? actor_sole_user(c->call.who.actor) : STR_NONE;
    if (is_personal(c) && ret->n == 0) {
        builtin_refuse(c, "Several people wrote in this conversation. Change personal skills in a "
                          "conversation of your own.");
        return false;
    }
    return true;
}

static void list_skills(struct builtin_call *c)
{
    const struct skills *all = known_skills(c);
    struct buf b;
    buf_init(&b, LIST_MAX);
    for (size_t i = 0; i < skills_len(all); i++) {
        const struct skill *s = skills_at(all, i);
        buf_printf(&b, "- %.*s (%s, %s, priority %lld): %.*s\n", STR_ARG(s->name),
                   skill_type_name(s->type), skill_origin_name(s->origin), (long long)s->priority,
                   STR_ARG(s->description));
    }
    builtin_reply(c, buf_str(&b));
    buf_done(&b);
}

static void show_skill(struct builtin_call *c)
{
    str name = named_skill(c);
    if (name.n == 0)
        return;
    const struct skill *s = skills_find(known_skills(c), name);
    if (!s) {
        builtin_fail(c, "There is no skill '%.*s'.", STR_ARG(name));
        return;
    }
    struct skill_draft d = skill_draft_of(s);
    builtin_reply(c, skill_draft_render(&c->call.arena, &d));
}

/* ---- changing ---- */

struct skill_reply {
    struct builtin_call *call;
    str text;
};

static void on_skill_cancel(struct builtin_call *c)
{
    skill_change_forget(c->state);
}

static void on_skill_changed(void *ctx, const struct err *err)
{
    struct skill_reply *r = ctx;
    assert(r->call->on_cancel == on_skill_cancel);
    r->call->on_cancel = NULL;
    if (err)
        builtin_fail(r->call, "%s", err->msg);
    else
        builtin_reply(r->call, r->text);
}

static void start_change(struct builtin_call *c, str owner, str name, str text, str answer)
{
    struct skill_reply *r = ARENA_NEW(&c->call.arena, struct skill_reply);
    struct skill_change_spec spec = {
        .name = name, .owner = owner, .text = text, .by = builtin_doer(c)};
    *r = (struct skill_reply){c, answer};
    c->on_cancel = on_skill_cancel;
    c->state = skill_change_start(c->builtin->deps.runtime, &spec, on_skill_changed, r);
}

static size_t count_personal(const struct skills *all)
{
    size_t n = 0;
    for (size_t i = 0; i < skills_len(all); i++)
        n += skills_at(all, i)->origin == SKILL_PERSONAL;
    return n;
}

/* A personal skill must not replace a skill of the workspace. Answers the call on failure. */
static bool may_write(struct builtin_call *c, str name, const struct skill *old, bool is_new)
{
    bool is_old_personal = old && old->origin == SKILL_PERSONAL;
    if (!is_new && (!old || is_personal(c) != is_old_personal))
        builtin_fail(c, "There is no skill '%.*s' to edit in this scope. Use the action create.",
                     STR_ARG(name));
    else if (is_new && old && (is_personal(c) || is_old_personal || old->origin == SKILL_GLOBAL))
        builtin_fail(c, "The skill '%.*s' exists already (%s). Edit it, or choose another name.",
                     STR_ARG(name), skill_origin_name(old->origin));
    else if (is_new && is_personal(c) && count_personal(known_skills(c)) >= SKILL_PERSONAL_MAX)
        builtin_fail(c, "The limit of %d personal skills is reached. Delete one first.",
                     SKILL_PERSONAL_MAX);
    else
        return true;
    return false;
}

static void write(struct builtin_call *c, bool is_new)
{
    str name = named_skill(c);
    if (name.n == 0)
        return;
    const struct skill *old = skills_find(known_skills(c), name);
    struct err e = {0};
    struct skill_draft d = {0};
    str warning = STR_NONE, owner;
    if (!find_owner(c, &owner) || !may_write(c, name, old, is_new))
        return;
    const struct json *given = json_get(c->call.args, "skill");
    if (!is_new)
        d = skill_draft_of(old);
    if (skill_draft_from_json(&c->call.arena, name, given, &d, &e) < 0 ||
        skill_draft_check(&d, &warning, &e) < 0) {
        builtin_fail(c, "%s", e.msg);
        return;
    }
    str answer =
        arena_printf(&c->call.arena, "Skill '%.*s' %s.%s%.*s", STR_ARG(name),
                     is_new ? "created" : "updated", warning.n > 0 ? " " : "", STR_ARG(warning));
    start_change(c, owner, name, skill_draft_render(&c->call.arena, &d), answer);
}

static void create(struct builtin_call *c)
{
    write(c, true);
}

static void edit(struct builtin_call *c)
{
    write(c, false);
}

static void delete (struct builtin_call *c)
{
    str name = named_skill(c), owner;
    if (name.n > 0 && find_owner(c, &owner))
        start_change(c, owner, name, STR_NONE,
                     arena_printf(&c->call.arena, "Skill '%.*s' deleted.", STR_ARG(name)));
}

#define COMMON                                                                                     \
    .scope = "workspace", .rule = {.space = WS_ADMIN},                                             \
    .admins_only = "Only admins of the workspace may change its skills: they are part of "         \
                   "everybody's prompt. With scope \"personal\" you change your own."
#define OWN .scope = "personal"
static const struct builtin_action ACTIONS[] = {
    {.name = "list", .call = list_skills, .is_read_only = true},
    {.name = "show", .call = show_skill, .is_read_only = true},
    {.name = "create", .call = create, .audited = "skill.write", COMMON},
    {.name = "edit", .call = edit, .audited = "skill.write", COMMON},
    {.name = "update", .call = edit, .audited = "skill.write", COMMON},
    {.name = "delete", .call = delete, .audited = "skill.delete", COMMON},
    {.name = "create", .call = create, .audited = "skill.write", OWN},
    {.name = "edit", .call = edit, .audited = "skill.write", OWN},
    {.name = "update", .call = edit, .audited = "skill.write", OWN},
    {.name = "delete", .call = delete, .audited = "skill.delete", OWN},
};

const struct builtin_tool BUILTIN_MANAGE_SKILL = {
    .name = "manage_skill",
    .title = "Manage skills",
    .description =
        "List, show, create, edit or delete skills. A skill is matched by its triggers or keywords "
        "and then adds its body to the prompt. Skills of the workspace are changed by its admins; "
        "with scope \"personal\" everybody has skills of their own, which are used in their own "
        "conversations only.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"action\":{\"type\":\"string\",\"enum\":[\"list\",\"show\",\"create\",\"edit\","
              "\"update\",\"delete\"]},"
              "\"scope\":{\"type\":\"string\",\"enum\":[\"workspace\",\"personal\"],"
              "\"description\":\"The owner of the skill (workspace)\"},"
              "\"name\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-]+$\",\"maxLength\":64},"
              "\"skill\":{\"type\":\"object\",\"properties\":{"
              "\"description\":{\"type\":\"string\"},\"type\":{\"type\":\"string\",\"enum\":["
              "\"skill\",\"context\"]},"
              "\"priority\":{\"type\":\"integer\",\"minimum\":11,\"maximum\":99},\"body\":{"
              "\"type\":\"string\"},"
              "\"triggers\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
              "\"keywords\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
              "\"allowed_tools\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
              "\"requires_bundles\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
              "\"category\":{\"type\":\"string\"},\"tags\":{\"type\":\"array\",\"items\":{\"type\":"
              "\"string\"}}}}},"
              "\"required\":[\"action\"],\"additionalProperties\":false}",
    .is_workspace_change = true,
    .feature = BUILTIN_FEATURE(skill_management),
    .actions = ACTIONS,
    .nactions = ARRAY_LEN(ACTIONS),
};
