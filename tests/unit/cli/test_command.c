/* The frame of commands, with commands of the test's own; and rules for the table of all. */
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "os/dir.h"
#include "os/file.h"
#include "support/unit.h"

static struct {
    int runs;
    const char *role;
    bool is_forced;
    int limit;
    size_t tags;
} seen;

static int fake_run(struct cmd *x)
{
    seen.runs++;
    return EXIT_DONE;
}

static int fake_asks(struct cmd *x)
{
    seen.runs++;
    return cmd_confirm(x, "Sure?", "Nothing was changed.");
}

static int fake_options(struct cmd *x)
{
    seen.role = cmd_opt_or(x, "role", "none");
    seen.is_forced = cmd_flag(x, "force");
    seen.limit = cmd_int(x, "limit");
    seen.tags = cmd_opts(x, "tag")->len;
    return EXIT_DONE;
}

static int run(struct command c, struct cli *cli, const union arg_value *values, int argc,
               char **argv)
{
    c.name = "fake";
    c.needs = WRITES_PROTOCOL;
    return command_run(cli, &c, values, argc, argv);
}

TEST(the_number_of_operands_is_what_the_command_says)
{
    static const struct {
        const char *operands;
        int argc, code;
    } CASES[] = {
        {NULL, 0, EXIT_DONE},
        {NULL, 1, EXIT_USAGE},
        {"WS", 0, EXIT_USAGE},
        {"WS", 1, EXIT_DONE},
        {"WS", 2, EXIT_USAGE},
        {"WS [NAME]", 1, EXIT_DONE},
        {"WS [NAME]", 2, EXIT_DONE},
        {"WS [NAME]", 3, EXIT_USAGE},
        {"FILE...", 0, EXIT_USAGE},
        {"FILE...", 4, EXIT_DONE},
        {"[FILE...]", 0, EXIT_DONE},
        {"WS KEY[=VALUE]...", 1, EXIT_USAGE},
        {"[A|B] [ARG...]", 0, EXIT_DONE},
        {"WS KEY[=VALUE]...", 4, EXIT_DONE},
    };
    char word[] = "x", *argv[] = {word, word, word, word};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct cli cli = {0};
        seen.runs = 0;
        int code = run((struct command){.operands = CASES[i].operands, .run = fake_run}, &cli, NULL,
                       CASES[i].argc, argv);
        if (code != CASES[i].code || seen.runs != (code == EXIT_DONE))
            fail_msg("%s with %d: code %d, run %d times",
                     CASES[i].operands ? CASES[i].operands : "none", CASES[i].argc, code,
                     seen.runs);
    }
}

TEST(options_are_read_by_name_and_kind)
{
    static const struct arg ARGS[] = {{"role", 0, ARG_STRING, "ROLE", ""},
                                      {"force", 'f', ARG_FLAG, NULL, ""},
                                      {"limit", 'n', ARG_INT, "N", ""},
                                      {"tag", 't', ARG_LIST, "TAG", ""},
                                      {0}};
    union arg_value values[ARRAY_LEN(ARGS)] = {0};
    struct cli cli = {0};
    struct command c = {.args = ARGS, .run = fake_options};
    assert_int_equal(run(c, &cli, values, 0, NULL), EXIT_DONE);
    assert_string_equal(seen.role, "none");
    assert_true(!seen.is_forced && seen.limit == 0 && seen.tags == 0);
    values[0].text = "admin";
    values[1].flag = true;
    values[2].number = 7;
    values[3].list.len = 2;
    assert_int_equal(run(c, &cli, values, 0, NULL), EXIT_DONE);
    assert_string_equal(seen.role, "admin");
    assert_true(seen.is_forced && seen.limit == 7 && seen.tags == 2);
}

TEST(without_a_terminal_a_question_is_a_usage_error_unless_yes_is_given)
{
    struct cli cli = {0};
    struct command c = {.yes = "do not ask", .run = fake_asks};
    seen.runs = 0;
    assert_int_equal(run(c, &cli, NULL, 0, NULL), EXIT_USAGE);
    assert_int_equal(seen.runs, 1);
    cli.opt.is_sure = true;
    assert_int_equal(run(c, &cli, NULL, 0, NULL), EXIT_DONE);
    /* with NEEDS_TERMINAL the function is not called at all */
    cli.opt.is_sure = false;
    c.name = "fake";
    c.needs = NEEDS_TERMINAL | WRITES_PROTOCOL;
    seen.runs = 0;
    assert_int_equal(command_run(&cli, &c, NULL, 0, NULL), EXIT_USAGE);
    assert_int_equal(seen.runs, 0);
    cli.opt.is_sure = true;
    assert_int_equal(command_run(&cli, &c, NULL, 0, NULL), EXIT_DONE);
}

/* ---- the table of all commands ---- */

typedef void (*command_fn)(const struct command *c, const struct command *group);

static void each_command(command_fn fn)
{
    for (const struct command *const *top = COMMANDS; *top; top++) {
        fn(*top, NULL);
        for (const struct command *const *sub = (*top)->subs; sub && *sub; sub++)
            fn(*sub, *top);
    }
}

static void check_shape(const struct command *c, const struct command *group)
{
    assert_true(c->run || c->subs);
    assert_false(group && c->subs); /* one level of subcommands */
    bool is_internal = strcmp(c->name, "launch") == 0 || strcmp(c->name, "media") == 0 ||
                       strcmp(c->name, "man") == 0;
    assert_true(c->summary || is_internal);
    assert_true(!c->help || str_ends(str_from(c->help), STR("\n")));
    assert_true(!(c->needs & NEEDS_TERMINAL) || c->yes);
    size_t n = 0;
    for (const struct arg *a = c->args; a && a->name; a++, n++) {
        if ((a->kind == ARG_FLAG) != !a->value_name || !a->help)
            fail_msg("%s --%s: a value has a name, a switch has none", c->name, a->name);
        if (c->yes && (strcmp(a->name, "yes") == 0 || a->letter == 'y'))
            fail_msg("%s --%s: the frame has this option", c->name, a->name);
        for (const struct arg *b = a + 1; b->name; b++)
            if (strcmp(a->name, b->name) == 0 || (a->letter && a->letter == b->letter))
                fail_msg("%s: --%s and --%s", c->name, a->name, b->name);
    }
    assert_true(n < COMMAND_ARGS_MAX);
}

TEST(each_command_is_complete_and_its_options_differ)
{
    each_command(check_shape);
}

static void check_names(const struct command *const *list)
{
    for (; *list; list++)
        for (const struct command *const *other = list + 1; *other; other++)
            if (strcmp((*list)->name, (*other)->name) == 0 ||
                ((*list)->alias && command_find(other, (*list)->alias)) ||
                ((*other)->alias && strcmp((*other)->alias, (*list)->name) == 0))
                fail_msg("%s and %s", (*list)->name, (*other)->name);
}

static void check_subs(const struct command *c, const struct command *group)
{
    if (c->subs)
        check_names(c->subs);
}

TEST(no_two_commands_of_a_group_have_the_same_name_or_alias)
{
    check_names(COMMANDS);
    each_command(check_subs);
}

static void check_help(const struct command *c, const struct command *group)
{
    struct arena a;
    char *text = NULL;
    size_t n = 0;
    arena_init(&a);
    FILE *out = open_memstream(&text, &n);
    help_print_command(out, c);
    fclose(out);
    str path = command_path(&a, c);
    str usage = arena_printf(&a, "Usage: nb %.*s", STR_ARG(path));
    if (!strstr(text, usage.p) || (c->summary && !strstr(text, c->summary)))
        fail_msg("the help of %.*s is: %s", STR_ARG(path), text);
    if (group && !str_starts(path, str_from(group->name)))
        fail_msg("%.*s is not in %s", STR_ARG(path), group->name);
    for (const struct arg *arg = c->args; arg && arg->name; arg++)
        if (!strstr(text, arena_printf(&a, "--%s", arg->name).p))
            fail_msg("the help of %.*s does not name --%s", STR_ARG(path), arg->name);
    free(text);
    arena_done(&a);
}

TEST(the_help_of_a_command_has_its_usage_and_every_option)
{
    each_command(check_help);
}

/* ---- the sources: a name that is not in the table would only fail when it is read ---- */

#define SOURCE_MAX   (1024u * 1024)
#define LEVELS_MAX   8 /* directories between the test program and the tree */
#define OPTION_CHARS 40

static struct arena arena;

/* src/cli of the tree above the build directory of this program. */
static const char *sources(void)
{
    char dir[4096];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
    assert_true(n > 0);
    dir[n] = 0;
    for (int level = 0; level < LEVELS_MAX && strrchr(dir, '/'); level++) {
        *strrchr(dir, '/') = 0;
        const char *path = arena_printf(&arena, "%s/src/cli", dir).p;
        if (file_exists(arena_printf(&arena, "%s/command.h", path).p))
            return path;
    }
    fail_msg("no src/cli above %s", dir);
    return NULL;
}

/* Whether a table of the source has a row {"name", ..., kind, ...}. */
static bool has_row(str source, str name, const char *kind)
{
    str row = arena_printf(&arena, "{\"%.*s\", ", STR_ARG(name));
    for (ptrdiff_t at = 0; (at = str_find(source, row, (size_t)at)) >= 0; at++) {
        str rest = str_skip(source, (size_t)at + row.n);
        if (str_starts(str_skip(rest, (size_t)str_find_char(rest, ' ') + 1), str_from(kind)))
            return true;
    }
    return false;
}

/* Checks each `accessor(x, "name"` of the source; returns their number. */
static size_t check_accessor(const char *path, str source, const char *accessor, const char *kind)
{
    str call = arena_printf(&arena, "%s(", accessor);
    size_t n = 0;
    for (ptrdiff_t at = 0; (at = str_find(source, call, (size_t)at)) >= 0; at++) {
        str rest = str_slice(source, (size_t)at, (size_t)at + call.n + OPTION_CHARS);
        ptrdiff_t quote = str_find_char(rest, '"'), end = str_find_char(rest, ')');
        if (quote < 0 || (end >= 0 && end < quote))
            continue; /* a declaration */
        str name = str_skip(rest, (size_t)quote + 1);
        name = str_slice(name, 0, (size_t)str_find_char(name, '"'));
        if (!has_row(source, name, kind))
            fail_msg("%s: %s: no row of kind %s for \"%.*s\"", path, accessor, kind, STR_ARG(name));
        n++;
    }
    return n;
}

static size_t check_source(const char *path)
{
    static const struct {
        const char *accessor, *kind;
    } ACCESSORS[] = {
        {"cmd_flag", "ARG_FLAG"}, {"cmd_opt", "ARG_STRING"}, {"cmd_opt_or", "ARG_STRING"},
        {"cmd_int", "ARG_INT"},   {"cmd_opts", "ARG_LIST"},
    };
    str source;
    size_t n = 0;
    assert_int_equal(file_read(&arena, path, SOURCE_MAX, &source, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(ACCESSORS); i++)
        n += check_accessor(path, source, ACCESSORS[i].accessor, ACCESSORS[i].kind);
    return n;
}

TEST(each_option_that_a_function_reads_is_in_a_table_of_its_file)
{
    static const char *const ROOMS[] = {"bundle", "conversations", "mcp", "people", "serve"};
    size_t n = 0;
    arena_init(&arena);
    const char *root = sources();
    for (size_t i = 0; i < ARRAY_LEN(ROOMS); i++) {
        const char *room = arena_printf(&arena, "%s/%s", root, ROOMS[i]).p;
        DIR_EACH (d, room)
            if (str_ends(str_from(d.name), STR(".c")))
                n += check_source(arena_printf(&arena, "%s/%s", room, d.name).p);
    }
    arena_done(&arena);
    assert_true(n > 100); /* they were found */
}
