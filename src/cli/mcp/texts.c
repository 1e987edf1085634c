/* nb instructions show|set|clear, nb prompts list|show|write|delete. */
#include "workspace/texts.h"

#include "cli/command.h"
#include "cli/session/client.h"
#include "cli/term/styled.h"
#include "os/file.h"

static const struct arg SHARED_ARGS[] = {
    {"shared", 0, ARG_FLAG, NULL, "use the text of the workspace, not your own (admins only)"},
    {0}};

static const struct arg WRITE_ARGS[] = {
    {"shared", 0, ARG_FLAG, NULL, "use the text of the workspace, not your own (admins only)"},
    {"description", 0, ARG_STRING, "TEXT", "say in one line what the prompt is for"},
    {0}};

static const char *scope_of(const struct cmd *x)
{
    return cmd_flag(x, "shared") ? "workspace" : "personal";
}

/* ---- instructions ---- */

static void print_set(const char *title, const struct json *set)
{
    str text = json_get_string(set, "text");
    printf("%s\n\n", title);
    cmd_print_text(text.n > 0 ? text : STR("(none)"));
    fputs("\n\n", stdout);
}

static int instructions_show(struct cmd *x)
{
    const struct json *all = cmd_ask(x, NULL, STR("/v1/instructions"), NULL, NULL);
    if (!all)
        return EXIT_FAILED;
    if (cmd_json(x, all))
        return EXIT_DONE;
    print_set("Your instructions", json_get(all, "personal"));
    print_set("Instructions of the workspace", json_get(all, "workspace"));
    return EXIT_DONE;
}

static int put_instructions(struct cmd *x, str text, const char *done)
{
    str path = arena_printf(&x->arena, "/v1/instructions/%s", scope_of(x));
    const struct json *answer =
        cmd_ask(x, "PUT", path, cmd_object(x, {STR("text"), json_of_str(text)}), NULL);
    return answer ? cmd_say(x, answer, "The %s instructions are %s.", scope_of(x), done)
                  : EXIT_FAILED;
}

static int instructions_set(struct cmd *x)
{
    struct err e = {0};
    str text;
    if (file_read(&x->arena, x->argv[0], TEXTS_INSTRUCTIONS_MAX, &text, &e) < 0)
        return cli_fail(&e);
    return put_instructions(x, text, "written");
}

static int instructions_clear(struct cmd *x)
{
    return put_instructions(x, STR_NONE, "removed");
}

static const struct command INSTRUCTIONS_SHOW = {
    .name = "show",
    .summary = "show your instructions and those of the workspace",
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = instructions_show,
};
static const struct command INSTRUCTIONS_SET = {
    .name = "set",
    .operands = "FILE",
    .summary = "set your instructions from a file",
    .help = "The agent gets them with your messages, except in conversations in which others have "
            "written. With --shared it gets them with the messages of every member.\n",
    .args = SHARED_ARGS,
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = instructions_set,
};
static const struct command INSTRUCTIONS_CLEAR = {
    .name = "clear",
    .summary = "remove your instructions",
    .args = SHARED_ARGS,
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = instructions_clear,
};
static const struct command *const INSTRUCTIONS_COMMANDS[] = {&INSTRUCTIONS_SHOW, &INSTRUCTIONS_SET,
                                                              &INSTRUCTIONS_CLEAR, NULL};

const struct command CMD_INSTRUCTIONS = {
    .name = "instructions",
    .summary = "show and set what the agent is told before every message",
    .subs = INSTRUCTIONS_COMMANDS,
};

/* ---- saved prompts ---- */

static int prompts_list(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"NAME", "name", .style = STYLE_BOLD},
        {"FOR", "scope"},
        {"VARIABLES", "variables", CELL_WORDS},
        {"DESCRIPTION", "description"},
    };
    const struct json *all = cmd_ask(x, NULL, STR("/v1/prompts"), NULL, NULL);
    return all ? cmd_list(x, json_get(all, "prompts"), COLUMNS, ARRAY_LEN(COLUMNS),
                          "There are no saved prompts.")
               : EXIT_FAILED;
}

static int prompts_show(struct cmd *x)
{
    const struct json *all = cmd_ask(x, NULL, STR("/v1/prompts"), NULL, NULL);
    const struct json *prompts = json_get(all, "prompts");
    if (!prompts)
        return EXIT_FAILED;
    for (size_t i = 0; i < prompts->len; i++) {
        const struct json *p = json_at(prompts, i);
        if (!str_eq(json_get_string(p, "name"), str_from(x->argv[0])))
            continue;
        if (!cmd_json(x, p)) {
            cmd_print_text(json_get_string(p, "text"));
            putchar('\n');
        }
        return EXIT_DONE;
    }
    return cli_failed("no saved prompt '%s'; nb prompts list shows all", x->argv[0]);
}

static str prompt_path(struct cmd *x)
{
    return arena_printf(&x->arena, "/v1/prompts/%s/%.*s", scope_of(x),
                        STR_ARG(client_encode(&x->arena, str_from(x->argv[0]))));
}

static int prompts_write(struct cmd *x)
{
    struct err e = {0};
    str text;
    if (file_read(&x->arena, x->argv[1], TEXTS_PROMPT_MAX, &text, &e) < 0)
        return cli_fail(&e);
    struct json *body =
        cmd_object(x, {STR("text"), json_of_str(text)},
                   {STR("description"), json_of_str(str_from(cmd_opt_or(x, "description", "")))});
    const struct json *answer = cmd_ask(x, "PUT", prompt_path(x), body, x->argv[0]);
    return answer ? cmd_say(x, answer, "The %s prompt '%s' is written.", scope_of(x), x->argv[0])
                  : EXIT_FAILED;
}

static int prompts_delete(struct cmd *x)
{
    const struct json *answer = cmd_ask(x, "DELETE", prompt_path(x), NULL, x->argv[0]);
    return answer ? cmd_say(x, answer, "The %s prompt '%s' is deleted.", scope_of(x), x->argv[0])
                  : EXIT_FAILED;
}

static const struct command PROMPTS_LIST = {
    .name = "list",
    .alias = "ls",
    .summary = "list saved prompts, your own first",
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = prompts_list,
};
static const struct command PROMPTS_SHOW = {
    .name = "show",
    .operands = "NAME",
    .summary = "print the text of a saved prompt",
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = prompts_show,
};
static const struct command PROMPTS_WRITE = {
    .name = "write",
    .operands = "NAME FILE",
    .summary = "create or replace a saved prompt from a file",
    .help = "Words in double braces, such as {{topic}}, are variables: the page asks for them.\n",
    .args = WRITE_ARGS,
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = prompts_write,
};
static const struct command PROMPTS_DELETE = {
    .name = "delete",
    .operands = "NAME",
    .summary = "delete a saved prompt",
    .args = SHARED_ARGS,
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = prompts_delete,
};
static const struct command *const PROMPTS_COMMANDS[] = {&PROMPTS_LIST, &PROMPTS_SHOW,
                                                         &PROMPTS_WRITE, &PROMPTS_DELETE, NULL};

const struct command CMD_PROMPTS = {
    .name = "prompts",
    .summary = "list, read and write saved prompts",
    .subs = PROMPTS_COMMANDS,
};
