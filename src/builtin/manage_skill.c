/* nb__manage_skill - the agent writes skills, with the user's permission. */
#include <errno.h>

#include "builtin/internal.h"
#include "config/config.h"
#include "runtime/skill_change.h"
#include "runtime/skill_edit.h"

#define LIST_MAX (256u * 1024)

static void list(struct builtin_call *c, str name)
{
    const struct skills *all = runtime_skills(c->builtin->deps.runtime);
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

static void show(struct builtin_call *c, str name)
{
    const struct skill *s = skills_find(runtime_skills(c->builtin->deps.runtime), name);
    if (!s) {
        builtin_fail(c, "There is no skill '%.*s'.", STR_ARG(name));
        return;
    }
    struct skill_draft d = skill_draft_of(s);
    builtin_reply(c, skill_draft_render(&c->arena, &d));
}

/* ---- changing ---- */

struct skill_reply {
    struct builtin_call *call;
    str text;
};

static void on_changed(void *ctx, const struct err *err)
{
    struct skill_reply *r = ctx;
    r->call->on_cancel = NULL;
    if (err)
        builtin_fail(r->call, "%s", err->msg);
    else
        builtin_reply(r->call, r->text);
}

static void on_cancel(struct builtin_call *c)
{
    skill_change_forget(c->state);
}

static void start(struct builtin_call *c, str name, str text, str answer)
{
    struct skill_reply *r = ARENA_NEW(&c->arena, struct skill_reply);
    struct skill_change_spec spec = {.name = name, .text = text, .by = builtin_doer(c)};
    *r = (struct skill_reply){c, answer};
    c->on_cancel = on_cancel;
    c->state = skill_change_start(c->builtin->deps.runtime, &spec, on_changed, r);
}

static void write(struct builtin_call *c, str name, bool is_new)
{
    const struct skill *old = skills_find(runtime_skills(c->builtin->deps.runtime), name);
    struct err e = {0};
    struct skill_draft d = {0};
    str warning = STR_NONE;
    if (is_new && old && old->origin == SKILL_GLOBAL) {
        builtin_fail(c, "The skill '%.*s' exists already; edit it instead.", STR_ARG(name));
        return;
    }
    if (!is_new && !old) {
        builtin_fail(c, "There is no skill '%.*s' to edit; create it.", STR_ARG(name));
        return;
    }
    const struct json *given = json_get(c->args, "skill");
    if (!is_new)
        d = skill_draft_of(old);
    if (skill_draft_from_json(&c->arena, name, given, &d, &e) < 0 ||
        skill_draft_check(&d, &warning, &e) < 0) {
        builtin_fail(c, "%s", e.msg);
        return;
    }
    str answer =
        arena_printf(&c->arena, "Skill '%.*s' %s.%s%.*s", STR_ARG(name),
                     is_new ? "created" : "updated", warning.n > 0 ? " " : "", STR_ARG(warning));
    start(c, name, skill_draft_render(&c->arena, &d), answer);
}

static void create(struct builtin_call *c, str name)
{
    write(c, name, true);
}

static void edit(struct builtin_call *c, str name)
{
    write(c, name, false);
}

static void delete (struct builtin_call *c, str name)
{
    str answer = arena_printf(&c->arena, "Skill '%.*s' deleted.", STR_ARG(name));
    start(c, name, STR_NONE, answer);
}

static const struct {
    const char *action;
    void (*run)(struct builtin_call *c, str name);
    bool needs_name;
    const char *audited; /* NULL = it changes nothing */
} ACTIONS[] = {
    {"list", list, false, NULL},
    {"show", show, true, NULL},
    {"create", create, true, "skill.write"},
    {"edit", edit, true, "skill.write"},
    {"delete", delete, true, "skill.delete"},
};

static const char *audited(const struct json *args)
{
    str action = json_get_string(args, "action");
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++)
        if (str_eq(action, str_from(ACTIONS[i].action)))
            return ACTIONS[i].audited;
    return NULL;
}

static void manage(struct builtin_call *c)
{
    str action = json_get_string(c->args, "action"), name = json_get_string(c->args, "name");
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++) {
        if (!str_eq(action, str_from(ACTIONS[i].action)))
            continue;
        if (ACTIONS[i].needs_name && name.n == 0)
            builtin_fail(c, "name: required for '%s'", ACTIONS[i].action);
        else if (ACTIONS[i].audited && !actor_is_admin(c->actor))
            builtin_refuse(c,
                           "Only admins of the workspace may change its skills: they are part of "
                           "everybody's prompt.");
        else
            ACTIONS[i].run(c, name);
        return;
    }
    builtin_fail(c, "action: expected list, show, create, edit or delete");
}

const struct builtin_tool BUILTIN_MANAGE_SKILL = {
    .name = "manage_skill",
    .title = "Manage skills",
    .description =
        "List, show, create, edit or delete the skills of this workspace. A skill is matched by "
        "its triggers or keywords and then adds its body to the prompt.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"action\":{\"type\":\"string\",\"enum\":[\"list\",\"show\",\"create\",\"edit\","
              "\"delete\"]},"
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
    .call = manage,
    .audited = audited,
};
