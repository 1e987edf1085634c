/* nb skill write|delete - skills of the workspace, or personal skills. */
#include "cli/conversations/conversations.h"
#include "cli/mcp/skill.h"
#include "os/file.h"
#include "skill/skill.h"

struct edit_options {
    bool is_personal;
};

static const struct arg EDIT_ARGS[] = {{"personal", 0, ARG_FLAG,
                                        offsetof(struct edit_options, is_personal), NULL,
                                        "use a skill of your own, for your conversations only"},
                                       {0}};

static str edit_path(struct conv_cli *x, const struct edit_options *o, const char *name)
{
    return arena_printf(&x->arena, "/v1/skills/%s/%.*s", o->is_personal ? "personal" : "workspace",
                        STR_ARG(client_encode(&x->arena, str_from(name))));
}

static void set_list(struct arena *a, struct json *to, const char *key, struct json_strs list)
{
    struct json *items = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < list.len; i++)
        json_push(a, items, json_of_str(list.items[i]));
    if (list.len > 0)
        json_set(a, to, str_from(key), *items);
}

/* The members that PUT /v1/skills accepts. */
static struct json *skill_json(struct arena *a, const struct skill *s)
{
    struct json *o = json_new(a, JSON_OBJECT);
    json_set(a, o, STR("description"), json_of_str(s->description));
    json_set(a, o, STR("type"), json_of_str(str_from(skill_type_name(s->type))));
    json_set(a, o, STR("priority"), json_of_int(s->priority));
    json_set(a, o, STR("body"), json_of_str(s->body));
    set_list(a, o, "triggers", s->triggers);
    set_list(a, o, "keywords", s->keywords);
    set_list(a, o, "allowed_tools", s->allowed_tools);
    set_list(a, o, "requires_bundles", s->requires_bundles);
    set_list(a, o, "tags", s->tags);
    if (s->category.n > 0)
        json_set(a, o, STR("category"), json_of_str(s->category));
    return o;
}

static int read_skill(struct conv_cli *x, const char *path, struct skill *ret)
{
    struct skill_problems problems = {0};
    struct err e = {0};
    str text;
    if (file_read(&x->arena, path, SKILL_BYTES_MAX, &text, &e) < 0)
        return cli_fail(&e);
    if (skill_parse(&x->arena, str_from(path), text, false, ret, &problems) == 0)
        return EXIT_DONE;
    fprintf(stderr, "nb: %s is not a skill; `nb skill validate` says why\n", path);
    return EXIT_FAILED;
}

static int do_write(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct edit_options *o = options;
    struct skill s;
    struct json *answer;
    int code = read_skill(x, argv[0], &s);
    if (code != EXIT_DONE)
        return code;
    const char *name = arena_cstr(&x->arena, s.name);
    str body = json_to_str(&x->arena, skill_json(&x->arena, &s));
    code = conv_ask(x, "PUT", edit_path(x, o, name), body, name, &answer);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(answer);
    else
        printf("The %s skill '%s' is written.\n", o->is_personal ? "personal" : "workspace", name);
    return EXIT_DONE;
}

static int run_write(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("skill write: name one file");
    return conv_with(cli, true, do_write, options, argc, argv);
}

const struct command SKILL_WRITE = {
    .name = "write",
    .usage = "skill write FILE [--personal] [--json]",
    .summary = "create or replace a skill from a file",
    .help = "FILE is Markdown with frontmatter; its `name` is the name of the skill. Without "
            "--personal the skill belongs to the workspace and is used for every member.\n",
    .args = EDIT_ARGS,
    .options_size = sizeof(struct edit_options),
    .run = run_write,
};

static int do_delete(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct edit_options *o = options;
    struct json *answer;
    int code = conv_ask(x, "DELETE", edit_path(x, o, argv[0]), STR_NONE, argv[0], &answer);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(answer);
    else
        printf("The %s skill '%s' is deleted.\n", o->is_personal ? "personal" : "workspace",
               argv[0]);
    return EXIT_DONE;
}

static int run_delete(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("skill delete: name one skill");
    return conv_with(cli, true, do_delete, options, argc, argv);
}

const struct command SKILL_DELETE = {
    .name = "delete",
    .usage = "skill delete NAME [--personal] [--json]",
    .summary = "delete a skill of the workspace, or one of your own",
    .args = EDIT_ARGS,
    .options_size = sizeof(struct edit_options),
    .run = run_delete,
};
