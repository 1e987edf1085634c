/* nb skill write|delete - skills of the workspace, or personal skills. */
#include "cli/mcp/skill.h"
#include "cli/session/client.h"
#include "os/file.h"
#include "skill/skill.h"

static const struct arg EDIT_ARGS[] = {
    {"personal", 0, ARG_FLAG, NULL, "use a skill of your own, for your conversations only"}, {0}};

/* Changes the skill of that name; the text to print begins with its kind and name. */
static int edit_skill(struct cmd *x, const char *method, const char *name, const struct json *body,
                      const char *done)
{
    const char *kind = cmd_flag(x, "personal") ? "personal" : "workspace";
    str path = arena_printf(&x->arena, "/v1/skills/%s/%.*s", kind,
                            STR_ARG(client_encode(&x->arena, str_from(name))));
    const struct json *answer = cmd_ask(x, method, path, body, name);
    return answer ? cmd_say(x, answer, "The %s skill '%s' is %s.", kind, name, done) : EXIT_FAILED;
}

static void set_list(struct cmd *x, struct json *to, const char *key, struct json_strs list)
{
    if (list.len > 0)
        json_set(&x->arena, to, str_from(key), cmd_strings(x, list.items, list.len));
}

/* The members that PUT /v1/skills accepts. */
static struct json *skill_json(struct cmd *x, const struct skill *s)
{
    struct json *o = cmd_object(x, {STR("description"), json_of_str(s->description)},
                                {STR("type"), json_of_str(str_from(skill_type_name(s->type)))},
                                {STR("priority"), json_of_int(s->priority)},
                                {STR("body"), json_of_str(s->body)});
    set_list(x, o, "triggers", s->triggers);
    set_list(x, o, "keywords", s->keywords);
    set_list(x, o, "allowed_tools", s->allowed_tools);
    set_list(x, o, "requires_bundles", s->requires_bundles);
    set_list(x, o, "tags", s->tags);
    if (s->category.n > 0)
        json_set(&x->arena, o, STR("category"), json_of_str(s->category));
    return o;
}

static int read_skill(struct cmd *x, const char *path, struct skill *ret)
{
    struct skill_problems problems = {0};
    struct err e = {0};
    str text;
    if (file_read(&x->arena, path, SKILL_BYTES_MAX, &text, &e) < 0)
        return cli_fail(&e);
    return skill_parse(&x->arena, str_from(path), text, false, ret, &problems) == 0
               ? EXIT_DONE
               : cli_failed("%s is not a skill; `nb skill validate` says why", path);
}

static int skill_write(struct cmd *x)
{
    struct skill s;
    int code = read_skill(x, x->argv[0], &s);
    if (code != EXIT_DONE)
        return code;
    return edit_skill(x, "PUT", arena_cstr(&x->arena, s.name), skill_json(x, &s), "written");
}

const struct command SKILL_WRITE = {
    .name = "write",
    .operands = "FILE",
    .summary = "create or replace a skill from a file",
    .help = "FILE is Markdown with frontmatter; its `name` is the name of the skill. Without "
            "--personal the skill belongs to the workspace and is used for every member.\n",
    .args = EDIT_ARGS,
    .needs = NEEDS_CLIENT,
    .run = skill_write,
};

static int skill_delete(struct cmd *x)
{
    return edit_skill(x, "DELETE", x->argv[0], NULL, "deleted");
}

const struct command SKILL_DELETE = {
    .name = "delete",
    .operands = "NAME",
    .summary = "delete a skill of the workspace, or one of your own",
    .args = EDIT_ARGS,
    .needs = NEEDS_CLIENT,
    .run = skill_delete,
};
