/* help.c - help pages and usage hints, printed from the table of commands. */
#include "cli/command.h"
#include "cli/term/help_text.h"

#define USAGE_MAX         4096
#define USAGE_OPTIONS_MAX 5 /* more of them are [OPTIONS] */

const struct help_variable HELP_VARIABLES[] = {
    {"ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY,", ""},
    {"GROQ_API_KEY, MISTRAL_API_KEY, DEEPSEEK_API_KEY",
     "set keys of model providers; without one, and without a local model server, the demo model "
     "answers"},
    {"ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL",
     "set other addresses of these providers"},
    {"NB_MODEL", "set the model of new conversations"},
    {"NB_WORK_DIR", "set the work directory, as --workdir does"},
    {"NB_WORKSPACE", "set the workspace, as --workspace does"},
    {"NB_SERVER", "set the server to work on, as --server does"},
    {"NB_STORE_URL", "set the address of PostgreSQL, as store.url does"},
    {"NB_API_KEY", "set the key that API clients must send"},
    {"PORT", "set the port of nb serve, as --port does"},
    {"NO_COLOR", "turn colours off"},
    {0}};

static void print_commands(const struct command *const *list, FILE *out)
{
    for (; *list; list++) {
        if ((*list)->summary) /* others are for nb itself */
            help_print_row(out, (*list)->name, (*list)->summary);
    }
}

void help_print(FILE *out)
{
    fputs("nb - a self-hosted agent workspace\n\n"
          "Usage:\n"
          "  nb                         chat in the terminal\n"
          "  nb \"TEXT\", nb -p TEXT      ask once; piped input and -f files become context\n"
          "  ... | nb                   one message per line, one conversation\n"
          "  nb COMMAND [OPTIONS]\n\n"
          "Commands:\n",
          out);
    print_commands(COMMANDS, out);
    fputs("\nChat options:\n", out);
    args_print(CLI_CHAT_ARGS, out);
    fputs("\nOptions of every command:\n", out);
    args_print(CLI_GLOBAL_ARGS, out);
    fputs("\nEnvironment:\n", out);
    for (const struct help_variable *v = HELP_VARIABLES; v->name; v++)
        help_print_row(out, v->name, v->help);
    fputs("\nExit codes: 0 done, 1 failed, 2 wrong usage. nb -p and pipes also exit with:\n"
          "3 limit of the answer reached, 4 declined by the model, 5 model service\n"
          "failed, 6 server not reached, 7 answer does not fit --output-schema,\n"
          "8 --max-cost reached, 9 --timeout passed, 130 interrupted.\n",
          out);
}

static void add_options(struct buf *b, const struct command *c)
{
    size_t n = c->yes ? 1 : 0;
    for (const struct arg *a = c->args; a && a->name; a++)
        n++;
    if (n > USAGE_OPTIONS_MAX) {
        buf_add_lit(b, " [OPTIONS]");
        return;
    }
    for (const struct arg *a = c->args; a && a->name; a++)
        buf_printf(b, " [--%s%s%s]%s", a->name, a->value_name ? " " : "",
                   a->value_name ? a->value_name : "", a->kind == ARG_LIST ? "..." : "");
    buf_add_lit(b, c->yes ? " [--yes]" : "");
}

str help_usage(struct arena *a, const struct command *c)
{
    struct buf b;
    buf_init(&b, USAGE_MAX);
    buf_add_str(&b, command_path(a, c));
    add_options(&b, c);
    if (c->operands)
        buf_printf(&b, " %s", c->operands);
    if (c->subs)
        buf_printf(&b, "%s COMMAND ...", c->run ? " |" : "");
    return buf_keep(&b, a);
}

static void print_options(FILE *out, const struct command *c)
{
    if (!c->args && !c->yes)
        return;
    fputs("\nOptions:\n", out);
    if (c->args)
        args_print(c->args, out);
    const struct arg yes[] = {{"yes", 'y', ARG_FLAG, NULL, c->yes}, {0}};
    if (c->yes)
        args_print(yes, out);
}

void help_print_command(FILE *out, const struct command *c)
{
    struct arena a;
    arena_init(&a);
    if (c->summary)
        fprintf(out, "%s\n\n", c->summary);
    help_print_usage(out, arena_cstr(&a, help_usage(&a, c)));
    arena_done(&a);
    if (c->help) {
        fputc('\n', out);
        help_print_text(out, c->help);
    }
    if (c->subs) {
        fputs("\nCommands:\n", out);
        print_commands(c->subs, out);
    }
    print_options(out, c);
    if (c->subs)
        fprintf(out,
                "\nnb %s COMMAND --help explains a command.\n"
                "nb --help lists the options of all commands.\n",
                c->alias && strlen(c->alias) < strlen(c->name) ? c->alias : c->name);
    else
        fputs("\nnb --help lists the options of all commands.\n", out);
}

int help_hint(int code, const struct command *c)
{
    struct arena a;
    arena_init(&a);
    str path = c ? command_path(&a, c) : STR_NONE;
    if (code == EXIT_USAGE)
        fprintf(stderr, "Try 'nb %.*s%s--help'.\n", STR_ARG(path), c ? " " : "");
    arena_done(&a);
    return code;
}
