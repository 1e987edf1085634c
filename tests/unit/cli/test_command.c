/* The frame of commands, with commands of the test's own; and rules for the table of all. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/term/table.h"
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
    assert_true(c->summary || strcmp(c->name, "launch") == 0);
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
