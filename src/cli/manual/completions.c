/* nb completions - prints completions for a shell. */
#include <assert.h>

#include "cli/manual/manual.h"

#define SCRIPT_MAX (1024u * 1024)

enum completion_value completion_value_of(const struct arg *a)
{
    static const char *const FILES[] = {"FILE", "PATH", NULL};
    if (a->choices)
        return COMPLETES_CHOICES;
    str name = str_from(a->value_name);
    return str_eq(name, STR("DIR"))    ? COMPLETES_DIRS
           : str_in_cstrs(name, FILES) ? COMPLETES_FILES
                                       : COMPLETES_NOTHING;
}

bool completion_takes_files(const struct command *c)
{
    str operands = str_from(c ? c->operands : NULL);
    return str_find(operands, STR("FILE"), 0) >= 0 || str_find(operands, STR("PATH"), 0) >= 0 ||
           str_find(operands, STR("DIR"), 0) >= 0;
}

static bool has_row(const struct arg *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

/* An option of a command hides the one of all commands with the same name. */
static size_t add_rows(struct arg *ret, size_t n, const struct arg *rows)
{
    for (; rows && rows->name; rows++) {
        assert(n + 1 < COMPLETION_ARGS_MAX);
        if (!has_row(ret, n, rows->name))
            ret[n++] = *rows;
    }
    return n;
}

void completion_args(const struct command *c, struct arg ret[COMPLETION_ARGS_MAX])
{
    size_t n = add_rows(ret, 0, c ? c->args : CLI_CHAT_ARGS);
    const struct arg yes[] = {{"yes", 'y', ARG_FLAG, NULL, c ? c->yes : NULL}, {0}};
    if (c && c->yes)
        n = add_rows(ret, n, yes);
    n = add_rows(ret, n, CLI_GLOBAL_ARGS);
    ret[n] = (struct arg){0};
}

void completion_each(struct buf *b, completion_visit visit)
{
    visit(b, NULL, "");
    for (const struct command *const *c = COMMANDS; *c; c++) {
        if (!(*c)->summary)
            continue;
        visit(b, *c, (*c)->name);
        for (const struct command *const *sub = (*c)->subs; sub && *sub; sub++) {
            char path[128];
            snprintf(path, sizeof path, "%s %s", (*c)->name, (*sub)->name);
            if ((*sub)->summary)
                visit(b, *sub, path);
        }
    }
}

static const struct {
    const char *name;
    void (*add)(struct buf *b);
} SHELLS[] = {
    {"bash", completions_add_bash},
    {"zsh", completions_add_zsh},
    {"fish", completions_add_fish},
};

static int run_completions(struct cmd *x)
{
    struct buf b;
    for (size_t i = 0; i < ARRAY_LEN(SHELLS); i++) {
        if (strcmp(SHELLS[i].name, x->argv[0]) != 0)
            continue;
        buf_init(&b, SCRIPT_MAX);
        SHELLS[i].add(&b);
        fwrite(b.p, 1, b.n, stdout);
        buf_done(&b);
        return EXIT_DONE;
    }
    return cmd_usage(x, "'%s' is not one of bash, zsh, fish", x->argv[0]);
}

const struct command CMD_COMPLETIONS = {
    .name = "completions",
    .operands = "bash|zsh|fish",
    .summary = "print completions for a shell",
    .help = "Packages install them. Without a package:\n"
            "\n"
            "  source <(nb completions bash)                  in ~/.bashrc\n"
            "  source <(nb completions zsh)                   in ~/.zshrc, after compinit\n"
            "  nb completions fish > ~/.config/fish/completions/nb.fish\n",
    .needs = WRITES_PROTOCOL,
    .run = run_completions,
};
