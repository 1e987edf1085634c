/* nb skill list|info|validate|match|write|delete. */
#include "skill/skill.h"

#include "base/utf8.h"
#include "cli/command.h"
#include "cli/session/client.h"
#include "cli/term/styled.h"
#include "os/file.h"

#define BODY_SHOWN 500 /* bytes of a skill's text that are printed without --full */

static void print_problem(struct cmd *x, FILE *out, const struct json *p)
{
    int64_t line = json_get_int(p, "line", 0);
    str at = line > 0 ? arena_printf(&x->arena, ":%lld", (long long)line) : STR_NONE;
    fprintf(out, "%.*s%.*s: %.*s: %.*s\n", STR_ARG(cmd_line(x, json_get_string(p, "path"))),
            STR_ARG(at), STR_ARG(json_get_string(p, "severity")),
            STR_ARG(cmd_line(x, json_get_string(p, "message"))));
}

/* ---- list ---- */

static int skill_list(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"NAME", "name", .style = STYLE_BOLD},
        {"TYPE", "type"},
        {"PRIORITY", "priority", .is_right = true},
        {"SOURCE", "source"},
        {"DESCRIPTION", "description"},
    };
    const struct json *all = cmd_ask(x, NULL, STR("/v1/skills"), NULL, NULL);
    if (!all)
        return EXIT_FAILED;
    int code = cmd_list(x, json_get(all, "skills"), COLUMNS, ARRAY_LEN(COLUMNS), NULL);
    const struct json *problems = json_get(all, "problems");
    for (size_t i = 0; problems && i < problems->len; i++)
        print_problem(x, stderr, json_at(problems, i));
    return code;
}

static const struct command SKILL_LIST = {
    .name = "list",
    .alias = "ls",
    .summary = "list skills in load order, and files with errors",
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = skill_list,
};

/* ---- info ---- */

static const struct arg INFO_ARGS[] = {
    {"full", 0, ARG_FLAG, NULL, "show the whole text, not only its beginning"}, {0}};

static void print_words(const char *label, const struct json *list)
{
    if (!list || list->len == 0)
        return;
    printf("%-14s", label);
    for (size_t i = 0; i < list->len; i++) {
        fputs(i > 0 ? ", " : "", stdout);
        cmd_print_text(json_string(json_at(list, i), STR_NONE));
    }
    putchar('\n');
}

static void print_line(const char *label, str value)
{
    if (value.n == 0)
        return;
    printf("%-14s", label);
    cmd_print_text(value);
    putchar('\n');
}

static void print_info(struct cmd *x, const struct json *s, bool is_full)
{
    str body = json_get_string(s, "body");
    bool is_cut = !is_full && body.n > BODY_SHOWN;
    print_line("Name", json_get_string(s, "name"));
    print_line("Description", json_get_string(s, "description"));
    print_line("Type", json_get_string(s, "type"));
    print_line("Priority",
               arena_printf(&x->arena, "%lld", (long long)json_get_int(s, "priority", 0)));
    print_line("Version", json_get_string(s, "version"));
    print_line("Source", json_get_string(s, "source"));
    print_line("File", json_get_string(s, "path"));
    print_words("Triggers", json_get(s, "triggers"));
    print_words("Keywords", json_get(s, "keywords"));
    print_words("Allowed tools", json_get(s, "allowedTools"));
    print_words("Needs bundles", json_get(s, "requiresBundles"));
    putchar('\n');
    cmd_print_text(is_cut ? utf8_truncate(body, BODY_SHOWN) : body);
    puts(is_cut ? "…" : "");
    if (is_cut)
        fprintf(stderr, "%d of %zu bytes; --full shows all of them.\n", BODY_SHOWN, body.n);
}

static int skill_info(struct cmd *x)
{
    const struct json *all = cmd_ask(x, NULL, STR("/v1/skills"), NULL, NULL);
    const struct json *skills = json_get(all, "skills");
    if (!skills)
        return EXIT_FAILED;
    for (size_t i = 0; i < skills->len; i++) {
        const struct json *s = json_at(skills, i);
        if (!str_eq(json_get_string(s, "name"), str_from(x->argv[0])))
            continue;
        if (!cmd_json(x, s))
            print_info(x, s, cmd_flag(x, "full"));
        return EXIT_DONE;
    }
    return cli_failed("no skill '%s'; nb skill list shows all", x->argv[0]);
}

static const struct command SKILL_INFO = {
    .name = "info",
    .operands = "NAME",
    .summary = "show when a skill is used, its tools and its text",
    .args = INFO_ARGS,
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = skill_info,
};

/* ---- validate ---- */

static bool is_standard(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "SKILL.md") == 0;
}

/* False when the file would not be loaded. */
static bool validate(struct cmd *x, const char *path)
{
    struct err e = {0};
    struct skill s;
    struct skill_problems problems = {0};
    str text;
    if (file_read(&x->arena, path, SKILL_BYTES_MAX, &text, &e) < 0) {
        cli_fail(&e);
        return false;
    }
    int r = skill_parse(&x->arena, str_from(path), text, is_standard(path), &s, &problems);
    for (size_t i = 0; i < problems.len; i++) {
        const struct skill_problem *p = &problems.items[i];
        str severity = p->severity == SKILL_ERROR ? STR("error") : STR("warning");
        struct json *v = cmd_object(
            x, {STR("severity"), json_of_str(severity)}, {STR("path"), json_of_str(p->path)},
            {STR("line"), json_of_int(p->line)}, {STR("message"), json_of_str(p->message)});
        if (!cmd_json(x, v))
            print_problem(x, stdout, v);
    }
    if (r == 0 && problems.len == 0 && !x->cli->opt.is_json)
        printf("%s: valid\n", path);
    return r == 0;
}

static int skill_validate(struct cmd *x)
{
    int code = EXIT_DONE;
    for (int i = 0; i < x->argc; i++)
        if (!validate(x, x->argv[i]))
            code = EXIT_FAILED;
    return code;
}

static const struct command SKILL_VALIDATE = {
    .name = "validate",
    .operands = "FILE...",
    .summary = "check skill files, and print problems as file:line",
    .help = "Checks a file named SKILL.md by the Agent Skills standard. Exits with 1 when a file "
            "would not be loaded; warnings do not change the exit code.\n",
    .run = skill_validate,
};

/* ---- match ---- */

static str show_arrow(struct cmd *x, const struct json *hit)
{
    return json_get_bool(hit, "isWinner", false) ? STR("→") : STR("");
}

static str show_found(struct cmd *x, const struct json *hit)
{
    str trigger = json_get_string(hit, "trigger");
    const struct json *keywords = json_get(hit, "keywords");
    str found =
        trigger.n > 0 ? arena_printf(&x->arena, "trigger \"%.*s\"", STR_ARG(trigger)) : STR_NONE;
    for (size_t i = 0; keywords && i < keywords->len; i++) {
        const char *before = i > 0 ? ", " : found.n > 0 ? "; keywords " : "keywords ";
        found = arena_printf(&x->arena, "%.*s%s%.*s", STR_ARG(found), before,
                             STR_ARG(json_string(json_at(keywords, i), STR_NONE)));
    }
    return found;
}

static void print_why(const struct json *m)
{
    str skill = json_get_string(m, "skill"), phase = json_get_string(m, "phase");
    long long needed = (long long)json_get_int(m, "keywordsNeeded", 0);
    if (skill.n == 0)
        printf("No skill matches: a match needs one trigger, or %lld keywords of the same skill.\n",
               needed);
    else if (str_eq(phase, STR("trigger")))
        printf("%.*s wins: the first skill in load order with a trigger in the message.\n",
               STR_ARG(skill));
    else
        printf("%.*s wins: no trigger was found, and it has the most keywords (%lld are needed).\n",
               STR_ARG(skill), needed);
}

static int skill_match(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"", .show = show_arrow, .style = STYLE_GREEN},
        {"SKILL", "skill", .style = STYLE_BOLD},
        {"FOUND IN THE MESSAGE", .show = show_found},
    };
    struct json *body = cmd_object(x, {STR("message"), json_of_str(str_from(x->argv[0]))});
    const struct json *m = cmd_ask(x, "POST", STR("/v1/skills/match"), body, NULL);
    if (!m)
        return EXIT_FAILED;
    if (cmd_json(x, m))
        return EXIT_DONE;
    struct json *hits = json_get(m, "candidates");
    print_why(m);
    if (hits->len == 0)
        return EXIT_DONE;
    if (json_get_string(m, "skill").n > 0) /* the first is the winner */
        json_set(&x->arena, json_at(hits, 0), STR("isWinner"), json_of_bool(true));
    putchar('\n');
    cmd_table(x, hits, COLUMNS, ARRAY_LEN(COLUMNS), true);
    return EXIT_DONE;
}

static const struct command SKILL_MATCH = {
    .name = "match",
    .operands = "MESSAGE",
    .summary = "show which skill matches a message, and why",
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = skill_match,
};

/* ---- write, delete: skills of the workspace, or personal skills ---- */

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

static const struct command SKILL_WRITE = {
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

static const struct command SKILL_DELETE = {
    .name = "delete",
    .operands = "NAME",
    .summary = "delete a skill of the workspace, or one of your own",
    .args = EDIT_ARGS,
    .needs = NEEDS_CLIENT,
    .run = skill_delete,
};

static const struct command *const SKILL_COMMANDS[] = {
    &SKILL_LIST, &SKILL_INFO, &SKILL_VALIDATE, &SKILL_MATCH, &SKILL_WRITE, &SKILL_DELETE, NULL};

const struct command CMD_SKILL = {
    .name = "skill",
    .alias = "skills",
    .summary = "list, read, check, try and write skills",
    .help =
        "With a running server, these are its skills. Without one, .agents/skills and "
        ".claude/skills of this directory and of your home directory are included, as in a chat.\n",
    .subs = SKILL_COMMANDS,
};
