/* nb skill list|info|validate|match; write and delete are in skill_edit.c. */
#include "skill/skill.h"

#include "base/utf8.h"
#include "cli/conversations/conversations.h"
#include "cli/mcp/skill.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"
#include "cli/term/text.h"
#include "os/file.h"

#define BODY_SHOWN  500 /* bytes of a skill's text that are printed without --full */
#define PRINTED_MAX (64u * 1024 * 1024)

static void print_safe(str text)
{
    struct buf b;
    buf_init(&b, PRINTED_MAX);
    text_add(&b, text);
    printf("%.*s", STR_ARG(buf_str(&b)));
    buf_done(&b);
}

static void print_problem(FILE *out, str path, int64_t line, str severity, str message)
{
    struct buf b;
    buf_init(&b, PRINTED_MAX);
    text_add_line(&b, path);
    if (line > 0)
        buf_printf(&b, ":%lld", (long long)line);
    buf_printf(&b, ": %.*s: ", STR_ARG(severity));
    text_add_line(&b, message);
    fprintf(out, "%s\n", buf_cstr(&b));
    buf_done(&b);
}

static void print_problems(const struct json *problems)
{
    for (size_t i = 0; problems && i < problems->len; i++) {
        const struct json *p = json_at(problems, i);
        print_problem(stderr, json_get_string(p, "path"), json_get_int(p, "line", 0),
                      json_get_string(p, "severity"), json_get_string(p, "message"));
    }
}

static int ask_all(struct conv_cli *x, struct json **ret)
{
    return conv_ask(x, NULL, STR("/v1/skills"), STR_NONE, NULL, ret);
}

/* ---- list ---- */

static const struct table_column LIST_COLUMNS[] = {
    {"NAME", false, STYLE_BOLD}, {"TYPE", false, 0},        {"PRIORITY", true, 0},
    {"SOURCE", false, 0},        {"DESCRIPTION", false, 0},
};

static void print_list(struct conv_cli *x, const struct json *skills)
{
    struct table t;
    table_init(&t, LIST_COLUMNS, ARRAY_LEN(LIST_COLUMNS));
    for (size_t i = 0; i < skills->len; i++) {
        const struct json *s = json_at(skills, i);
        table_row(&t);
        table_cell(&t, 0, json_get_string(s, "name"));
        table_cell(&t, 1, json_get_string(s, "type"));
        table_cellf(&t, 2, "%lld", (long long)json_get_int(s, "priority", 0));
        table_cell(&t, 3, json_get_string(s, "source"));
        table_cell(&t, 4, json_get_string(s, "description"));
    }
    table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    table_done(&t);
}

static int do_skill_list(struct conv_cli *x, const void *options, int argc, char **argv)
{
    struct json *all;
    int code = ask_all(x, &all);
    if (code != EXIT_DONE)
        return code;
    const struct json *skills = json_get(all, "skills");
    for (size_t i = 0; x->cli->opt.is_json && i < skills->len; i++)
        conv_print_json(json_at(skills, i));
    if (!x->cli->opt.is_json)
        print_list(x, skills);
    print_problems(json_get(all, "problems"));
    return EXIT_DONE;
}

static int run_skill_list(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc > 0)
        return cli_usage_error("skill list takes no argument '%s'", argv[0]);
    return conv_with(cli, true, do_skill_list, options, argc, argv);
}

static const struct command SKILL_LIST = {
    .name = "list",
    .alias = "ls",
    .usage = "skill list [--json]",
    .summary = "list skills in load order, and files with errors",
    .run = run_skill_list,
};

/* ---- info ---- */

struct info_options {
    bool is_full;
};

static const struct arg INFO_ARGS[] = {{"full", 0, ARG_FLAG, offsetof(struct info_options, is_full),
                                        NULL, "show the whole text, not only its beginning"},
                                       {0}};

static void print_words(const char *label, const struct json *list)
{
    if (!list || list->len == 0)
        return;
    printf("%-14s", label);
    for (size_t i = 0; i < list->len; i++) {
        fputs(i > 0 ? ", " : "", stdout);
        print_safe(json_string(json_at(list, i), STR_NONE));
    }
    putchar('\n');
}

static void print_line(const char *label, str value)
{
    if (value.n == 0)
        return;
    printf("%-14s", label);
    print_safe(value);
    putchar('\n');
}

static void print_info(struct conv_cli *x, const struct json *s, bool is_full)
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
    print_safe(is_cut ? utf8_truncate(body, BODY_SHOWN) : body);
    puts(is_cut ? "…" : "");
    if (is_cut)
        fprintf(stderr, "%d of %zu bytes; --full shows all of them.\n", BODY_SHOWN, body.n);
}

static int do_info(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct info_options *o = options;
    struct json *all;
    int code = ask_all(x, &all);
    if (code != EXIT_DONE)
        return code;
    const struct json *skills = json_get(all, "skills");
    for (size_t i = 0; i < skills->len; i++) {
        const struct json *s = json_at(skills, i);
        if (!str_eq(json_get_string(s, "name"), str_from(argv[0])))
            continue;
        if (x->cli->opt.is_json)
            conv_print_json(s);
        else
            print_info(x, s, o->is_full);
        return EXIT_DONE;
    }
    fprintf(stderr, "nb: no skill '%s'; nb skill list shows all\n", argv[0]);
    return EXIT_FAILED;
}

static int run_info(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("skill info: name one skill");
    return conv_with(cli, true, do_info, options, argc, argv);
}

static const struct command SKILL_INFO = {
    .name = "info",
    .usage = "skill info NAME [--full] [--json]",
    .summary = "show when a skill is used, its tools and its text",
    .args = INFO_ARGS,
    .options_size = sizeof(struct info_options),
    .run = run_info,
};

/* ---- validate ---- */

static bool is_standard(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "SKILL.md") == 0;
}

static void print_problem_json(const struct skill_problem *p)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, PRINTED_MAX);
    jw_object(&w);
    jw_kstr(&w, "severity", p->severity == SKILL_ERROR ? STR("error") : STR("warning"));
    jw_kstr(&w, "path", p->path);
    jw_kint(&w, "line", p->line);
    jw_kstr(&w, "message", p->message);
    jw_end(&w);
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

/* False when the file would not be loaded. */
static bool validate(const struct cli *cli, struct arena *a, const char *path)
{
    struct err e = {0};
    struct skill s;
    struct skill_problems problems = {0};
    str text;
    if (file_read(a, path, SKILL_BYTES_MAX, &text, &e) < 0) {
        cli_fail(&e);
        return false;
    }
    int r = skill_parse(a, str_from(path), text, is_standard(path), &s, &problems);
    for (size_t i = 0; i < problems.len; i++) {
        const struct skill_problem *p = &problems.items[i];
        if (cli->opt.is_json)
            print_problem_json(p);
        else
            print_problem(stdout, p->path, p->line,
                          p->severity == SKILL_ERROR ? STR("error") : STR("warning"), p->message);
    }
    if (r == 0 && problems.len == 0 && !cli->opt.is_json)
        printf("%s: fine\n", path);
    return r == 0;
}

static int run_validate(struct cli *cli, const void *options, int argc, char **argv)
{
    int code = EXIT_DONE;
    if (argc == 0)
        return cli_usage_error("skill validate: name one file or more");
    for (int i = 0; i < argc; i++) {
        struct arena a;
        arena_init(&a);
        if (!validate(cli, &a, argv[i]))
            code = EXIT_FAILED;
        arena_done(&a);
    }
    return code;
}

static const struct command SKILL_VALIDATE = {
    .name = "validate",
    .usage = "skill validate FILE... [--json]",
    .summary = "check skill files, and print problems as file:line",
    .help = "Checks a file named SKILL.md by the Agent Skills standard. Exits with 1 when a file "
            "would not be loaded; warnings do not change the exit code.\n",
    .run = run_validate,
};

/* ---- match ---- */

static void print_hit(struct conv_cli *x, struct table *t, const struct json *hit, bool is_winner)
{
    str trigger = json_get_string(hit, "trigger");
    const struct json *keywords = json_get(hit, "keywords");
    struct buf b;
    buf_init(&b, PRINTED_MAX);
    if (trigger.n > 0)
        buf_printf(&b, "trigger \"%.*s\"", STR_ARG(trigger));
    for (size_t i = 0; keywords && i < keywords->len; i++)
        buf_printf(&b, "%s%.*s",
                   i > 0           ? ", "
                   : trigger.n > 0 ? "; keywords "
                                   : "keywords ",
                   STR_ARG(json_string(json_at(keywords, i), STR_NONE)));
    table_row(t);
    table_cell(t, 0, is_winner ? STR("→") : STR(""));
    table_cell(t, 1, json_get_string(hit, "skill"));
    table_cell(t, 2, buf_str(&b));
    buf_done(&b);
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

static int do_match(struct conv_cli *x, const void *options, int argc, char **argv)
{
    static const struct table_column COLUMNS[] = {
        {"", false, STYLE_GREEN}, {"SKILL", false, STYLE_BOLD}, {"FOUND IN THE MESSAGE", false, 0}};
    struct json *m, *body = json_new(&x->arena, JSON_OBJECT);
    json_set(&x->arena, body, STR("message"), json_of_str(str_from(argv[0])));
    int code = conv_ask(x, "POST", STR("/v1/skills/match"), json_to_str(&x->arena, body), NULL, &m);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json) {
        conv_print_json(m);
        return EXIT_DONE;
    }
    struct table t;
    const struct json *hits = json_get(m, "candidates");
    bool has_winner = json_get_string(m, "skill").n > 0;
    print_why(m);
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (size_t i = 0; i < hits->len; i++)
        print_hit(x, &t, json_at(hits, i), has_winner && i == 0);
    if (t.nrows > 0) {
        putchar('\n');
        table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    }
    table_done(&t);
    return EXIT_DONE;
}

static int run_match(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("skill match: give one message, in quotes");
    return conv_with(cli, true, do_match, options, argc, argv);
}

static const struct command SKILL_MATCH = {
    .name = "match",
    .usage = "skill match \"MESSAGE\" [--json]",
    .summary = "show which skill matches a message, and why",
    .run = run_match,
};

static const struct command *const COMMANDS[] = {
    &SKILL_LIST, &SKILL_INFO, &SKILL_VALIDATE, &SKILL_MATCH, &SKILL_WRITE, &SKILL_DELETE, NULL};

const struct command CMD_SKILL = {
    .name = "skill",
    .alias = "skills",
    .usage = "skill COMMAND [OPTIONS]",
    .summary = "list, read, check, try and write skills",
    .help =
        "With a running server, these are its skills. Without one, .agents/skills and "
        ".claude/skills of this directory and of your home directory are included, as in a chat.\n",
    .subs = COMMANDS,
};
