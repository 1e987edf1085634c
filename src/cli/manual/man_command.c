#include "cli/manual/manual.h"
#include "cli/manual/roff.h"

static str in_bold(struct arena *a, const char *text)
{
    return arena_printf(a, "`%s`", text);
}

static void add_option(struct buf *b, struct arena *a, const struct arg *o)
{
    str letter = o->letter ? arena_printf(a, "`-%c`, ", o->letter) : STR_NONE;
    str value = o->value_name ? arena_printf(a, " %s", o->value_name) : STR_NONE;
    str tag = arena_printf(a, "%.*s`--%s`%.*s", STR_ARG(letter), o->name, STR_ARG(value));
    str text =
        o->choices ? arena_printf(a, "%s. One of: %s", o->help, o->choices) : str_from(o->help);
    roff_item(b, tag, text);
}

static void add_option_rows(struct buf *b, struct arena *a, const struct arg *rows)
{
    for (; rows && rows->name; rows++)
        add_option(b, a, rows);
}

static void add_own_options(struct buf *b, struct arena *a, const struct command *c)
{
    add_option_rows(b, a, c->args);
    const struct arg yes[] = {{"yes", 'y', ARG_FLAG, NULL, c->yes}, {0}};
    if (c->yes)
        add_option_rows(b, a, yes);
}

static str as_sentence(struct arena *a, const char *summary)
{
    char first =
        summary[0] >= 'a' && summary[0] <= 'z' ? (char)(summary[0] - 'a' + 'A') : summary[0];
    return arena_printf(a, "%c%s.", first, summary + 1);
}

static void add_sub(struct buf *b, struct arena *a, const struct command *sub)
{
    roff_subsection(b, arena_printf(a, "nb %.*s", STR_ARG(command_path(a, sub))));
    roff_synopsis(b, arena_printf(a, "`nb` %.*s", STR_ARG(help_usage(a, sub))));
    buf_add_lit(b, ".PP\n");
    roff_text(b, arena_printf(a, "%.*s\n%s%s", STR_ARG(as_sentence(a, sub->summary)),
                              sub->help ? "\n" : "", sub->help ? sub->help : ""));
    add_own_options(b, a, sub);
}

#define EXIT_STATUS "0 when the command is done, 1 when it failed, 2 after wrong usage."

static void add_end(struct buf *b, const char *status, const char *others)
{
    roff_section(b, "EXIT STATUS");
    roff_text(b, str_from(status));
    roff_section(b, "SEE ALSO");
    roff_text(b, str_from(others));
}

static void add_command_page(struct buf *b, struct arena *a, const struct command *c)
{
    roff_head(b, arena_printf(a, "nb-%s", c->name).p, "1", str_from(c->summary));
    roff_section(b, "SYNOPSIS");
    roff_synopsis(b, arena_printf(a, "`nb` %.*s", STR_ARG(help_usage(a, c))));
    if (c->help) {
        roff_section(b, "DESCRIPTION");
        roff_text(b, str_from(c->help));
    }
    if (c->args || c->yes) {
        roff_section(b, "OPTIONS");
        add_own_options(b, a, c);
    }
    if (c->subs)
        roff_section(b, "COMMANDS");
    for (const struct command *const *sub = c->subs; sub && *sub; sub++)
        if ((*sub)->summary)
            add_sub(b, a, *sub);
    add_end(b, EXIT_STATUS, "nb(1) for the options of every command, nimblebrain.json(5)");
}

static void add_nb_description(struct buf *b)
{
    roff_section(b, "SYNOPSIS");
    roff_text(b, STR("`nb` [OPTIONS] [COMMAND]"));
    roff_section(b, "DESCRIPTION");
    roff_text(b, STR("nb composes MCP servers into one tool namespace, runs an agentic loop over "
                     "them, stores every conversation as an append-only log, and lets several "
                     "people share a conversation live.\n"
                     "\n"
                     " nb                        chat in the terminal\n"
                     " nb \"TEXT\", nb -p TEXT     ask once; piped input and -f files are context\n"
                     " ... | nb                  one message per line, one conversation\n"
                     " nb serve                  serve the API and the page\n"));
}

static void add_nb_page(struct buf *b, struct arena *a)
{
    roff_head(b, "nb", "1", STR("a self-hosted agent workspace"));
    add_nb_description(b);
    roff_section(b, "COMMANDS");
    for (const struct command *const *c = COMMANDS; *c; c++)
        if ((*c)->summary)
            roff_item(b, in_bold(a, arena_printf(a, "nb-%s(1)", (*c)->name).p),
                      str_from((*c)->summary));
    roff_section(b, "OPTIONS OF A CHAT");
    add_option_rows(b, a, CLI_CHAT_ARGS);
    roff_section(b, "OPTIONS OF EVERY COMMAND");
    add_option_rows(b, a, CLI_GLOBAL_ARGS);
    roff_section(b, "ENVIRONMENT");
    for (const struct help_variable *v = HELP_VARIABLES; v->name; v++)
        roff_item(b, in_bold(a, v->name), str_from(v->help));
    roff_section(b, "FILES");
    roff_item(b, in_bold(a, "~/.nimblebrain/"),
              STR("the work directory: settings, conversations, files, skills, users"));
    roff_item(b, in_bold(a, "~/.nimblebrain/nimblebrain.json"), STR("nimblebrain.json(5)"));
    roff_item(b, in_bold(a, "~/.nimblebrain/conversations/*.jsonl"), STR("nb-log(5)"));
    add_end(b,
            EXIT_STATUS
            " nb -p and pipes also exit with 3 when a limit ended the answer, 4 when the "
            "model declined, 5 when the model service failed, 6 when the server could "
            "not be reached, 7 when the answer does not fit --output-schema, 8 when "
            "--max-cost is reached, 9 when --timeout has passed, 130 when it was "
            "interrupted.",
            "nimblebrain.json(5), nb-log(5)");
}

void man_add_command(struct buf *b, const struct command *c)
{
    struct arena a;
    arena_init(&a);
    if (c)
        add_command_page(b, &a, c);
    else
        add_nb_page(b, &a);
    arena_done(&a);
}
