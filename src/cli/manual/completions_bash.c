#include "cli/manual/manual.h"

/* The words after `path`: subcommands, then options. */
static void add_bash_words(struct buf *b, const struct command *c, const char *path)
{
    struct arg options[COMPLETION_ARGS_MAX];
    const struct command *const *subs = c ? c->subs : COMMANDS;
    completion_args(c, options);
    buf_printf(b, "    '%s')\n        commands='", path);
    for (; subs && *subs; subs++)
        if ((*subs)->summary)
            buf_printf(b, "%s ", (*subs)->name);
    buf_add_lit(b, c ? "'\n" : "help'\n");
    buf_add_lit(b, "        options='");
    for (const struct arg *o = options; o->name; o++) {
        buf_printf(b, "--%s ", o->name);
        if (o->letter)
            buf_printf(b, "-%c ", o->letter);
    }
    buf_add_lit(b, "'\n");
    if (completion_takes_files(c))
        buf_add_lit(b, "        operands=files\n");
    buf_add_lit(b, "        ;;\n");
}

static void add_bash_value(struct buf *b, const char *path, const struct arg *o)
{
    if (o->kind == ARG_FLAG)
        return;
    buf_printf(b, "    '%s --%s'", path, o->name);
    if (o->letter)
        buf_printf(b, " | '%s -%c'", path, o->letter);
    buf_add_lit(b, ") value=");
    switch (completion_value_of(o)) {
    case COMPLETES_CHOICES:
        buf_printf(b, "'words %s'", o->choices);
        break;
    case COMPLETES_FILES:
        buf_add_lit(b, "files");
        break;
    case COMPLETES_DIRS:
        buf_add_lit(b, "directories");
        break;
    case COMPLETES_NOTHING:
        buf_add_lit(b, "any");
        break;
    }
    buf_add_lit(b, " ;;\n");
}

static void add_bash_values(struct buf *b, const struct command *c, const char *path)
{
    struct arg options[COMPLETION_ARGS_MAX];
    completion_args(c, options);
    for (const struct arg *o = options; o->name; o++)
        add_bash_value(b, path, o);
}

static void add_bash_alias(struct buf *b, const struct command *c, const char *path)
{
    if (c && c->alias)
        buf_printf(b, "    '%.*s%s') path='%s' ;;\n", (int)(strlen(path) - strlen(c->name)), path,
                   c->alias, path);
}

static const char BASH_MAIN[] =
    "# Finds the command that the words before the cursor name.\n"
    "_nb() {\n"
    "    local path='' value commands options operands word index current\n"
    "    current=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=()\n"
    "    for ((index = 1; index < COMP_CWORD; index++)); do\n"
    "        word=${COMP_WORDS[index]}\n"
    "        if [[ $word == -* ]]; then\n"
    "            _nb_value \"$path $word\"\n"
    "            [[ -z $value ]] && continue\n"
    "            [[ ${COMP_WORDS[index + 1]} == '=' ]] && index=$((index + 1))\n"
    "            index=$((index + 1))\n"
    "            if ((index >= COMP_CWORD)); then\n"
    "                [[ $current == '=' ]] && current=''\n"
    "                _nb_reply_value\n"
    "                return\n"
    "            fi\n"
    "        else\n"
    "            _nb_words \"$path\"\n"
    "            _nb_name \"${path:+$path }$word\"\n"
    "            [[ \" $commands \" == *\" ${path##* } \"* && -n $path ]] || break\n"
    "        fi\n"
    "    done\n"
    "    _nb_words \"$path\"\n"
    "    if [[ $current == -* ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
    "    elif [[ -n $commands ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\")\n"
    "    elif [[ -n $operands ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
    "    fi\n"
    "}\n"
    "\n"
    "_nb_reply_value() {\n"
    "    case $value in\n"
    "    words*) mapfile -t COMPREPLY < <(compgen -W \"${value//,/ }\" -- \"$current\" | grep -vx "
    "words) ;;\n"
    "    files)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
    "        ;;\n"
    "    directories)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "complete -F _nb nb\n";

void completions_add_bash(struct buf *b)
{
    buf_add_lit(b, "# Completions of nb for bash: nb completions bash\n\n"
                   "_nb_words() {\n"
                   "    commands='' options='' operands=''\n"
                   "    case $1 in\n");
    completion_each(b, add_bash_words);
    buf_add_lit(b, "    esac\n}\n\n_nb_value() {\n    value=''\n    case $1 in\n");
    completion_each(b, add_bash_values);
    buf_add_lit(b, "    esac\n}\n\n_nb_name() {\n    path=$1\n    case $1 in\n");
    completion_each(b, add_bash_alias);
    buf_add_lit(b, "    esac\n}\n\n");
    buf_add_lit(b, BASH_MAIN);
}
