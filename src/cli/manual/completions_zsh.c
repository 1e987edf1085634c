#include "cli/manual/manual.h"

/* In single quotes, inside a specification of _arguments. */
static void add_zsh_text(struct buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') {
            buf_add_lit(b, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *text))
            buf_add_char(b, '\\');
        buf_add_char(b, *text);
    }
}

static void add_zsh_action(struct buf *b, const struct arg *o)
{
    if (o->kind == ARG_FLAG)
        return;
    buf_add_lit(b, ":");
    add_zsh_text(b, o->value_name ? o->value_name : "VALUE");
    buf_add_lit(b, ":");
    switch (completion_value_of(o)) {
    case COMPLETES_CHOICES:
        buf_add_lit(b, "(");
        for (const char *p = o->choices; *p; p++)
            if (*p != ',')
                buf_add_char(b, *p);
        buf_add_lit(b, ")");
        break;
    case COMPLETES_FILES:
        buf_add_lit(b, "_files");
        break;
    case COMPLETES_DIRS:
        buf_add_lit(b, "_directories");
        break;
    case COMPLETES_NOTHING:
        break;
    }
}

static void add_zsh_option(struct buf *b, const struct arg *o)
{
    const char *mark = o->kind == ARG_LIST ? "*" : "";
    buf_printf(b, "            '%s--%s%s[", mark, o->name, o->kind == ARG_FLAG ? "" : "=");
    add_zsh_text(b, o->help);
    buf_add_lit(b, "]");
    add_zsh_action(b, o);
    buf_add_lit(b, "' \\\n");
    if (!o->letter)
        return;
    buf_printf(b, "            '%s-%c%s[", mark, o->letter, o->kind == ARG_FLAG ? "" : "+");
    add_zsh_text(b, o->help);
    buf_add_lit(b, "]");
    add_zsh_action(b, o);
    buf_add_lit(b, "' \\\n");
}

/* "bundle add" is the function _nb__bundle_add. */
static void add_zsh_name(struct buf *b, const char *path)
{
    buf_add_lit(b, "_nb_");
    for (; *path; path++)
        buf_add_char(b, *path == ' ' || *path == '-' ? '_' : *path);
}

static void add_zsh_subs(struct buf *b, const struct command *const *subs)
{
    buf_add_lit(b, "            local -a commands=(\n");
    for (const struct command *const *s = subs; *s; s++) {
        if (!(*s)->summary)
            continue;
        buf_printf(b, "                '%s:", (*s)->name);
        add_zsh_text(b, (*s)->summary);
        buf_add_lit(b, "'\n");
    }
    buf_add_lit(b, "            )\n            _describe command commands\n");
}

static void add_zsh_dispatch(struct buf *b, const struct command *const *subs, const char *path)
{
    buf_add_lit(b, "            case $words[1] in\n");
    for (const struct command *const *s = subs; *s; s++) {
        if (!(*s)->summary)
            continue;
        char below[128];
        snprintf(below, sizeof below, "%s%s%s", path, *path ? " " : "", (*s)->name);
        buf_printf(b, "            %s%s%s) ", (*s)->name, (*s)->alias ? " | " : "",
                   (*s)->alias ? (*s)->alias : "");
        add_zsh_name(b, below);
        buf_add_lit(b, " ;;\n");
    }
    buf_add_lit(b, "            esac\n");
}

static void add_zsh_words(struct buf *b, const struct command *c, const char *path)
{
    struct arg options[COMPLETION_ARGS_MAX];
    const struct command *const *subs = c ? c->subs : COMMANDS;
    completion_args(c, options);
    add_zsh_name(b, path);
    buf_add_lit(b, "() {\n    local state line curcontext=$curcontext\n    _arguments -C \\\n");
    for (const struct arg *o = options; o->name; o++)
        add_zsh_option(b, o);
    if (!subs) {
        buf_printf(b, "            '*:%s:%s'\n}\n\n", "operand",
                   completion_takes_files(c) ? "_files" : "");
        return;
    }
    buf_add_lit(b, "            '(-): :->command' \\\n            '(-)*:: :->operands'\n"
                   "    case $state in\n        command)\n");
    add_zsh_subs(b, subs);
    buf_add_lit(b, "            ;;\n        operands)\n");
    add_zsh_dispatch(b, subs, path);
    buf_add_lit(b, "            ;;\n    esac\n}\n\n");
}

void completions_add_zsh(struct buf *b)
{
    buf_add_lit(b, "#compdef nb\n# Completions of nb for zsh: nb completions zsh\n\n");
    completion_each(b, add_zsh_words);
    buf_add_lit(b, "if [[ $funcstack[1] == _nb ]]; then\n    _nb_ \"$@\"\n"
                   "else\n    compdef _nb_ nb\nfi\n");
}
