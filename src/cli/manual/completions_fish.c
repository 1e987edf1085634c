#include "cli/manual/manual.h"

/* fish evaluates the condition of every completion for each key, so that there is only one: a
 * function that finds the command on the line, then prints the words that may follow. */

static void add_fish_quoted(struct buf *b, const char *text)
{
    buf_add_char(b, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_add_char(b, '\\');
        buf_add_char(b, *text);
    }
    buf_add_char(b, '\'');
}

static void add_fish_word(struct buf *b, const char *dashes, const char *word, const char *about)
{
    buf_printf(b, " '%s%s' ", dashes, word);
    add_fish_quoted(b, about);
}

static void add_fish_words(struct buf *b, const struct command *c, const char *path)
{
    struct arg options[COMPLETION_ARGS_MAX];
    completion_args(c, options);
    buf_printf(b, "        case '%s'\n            set -a words", path);
    for (const struct command *const *sub = c ? c->subs : COMMANDS; sub && *sub; sub++)
        if ((*sub)->summary)
            add_fish_word(b, "", (*sub)->name, (*sub)->summary);
    buf_add_lit(b, "\n            set -a options");
    for (const struct arg *o = options; o->name; o++) {
        char letter[2] = {o->letter, 0};
        add_fish_word(b, "--", o->name, o->help);
        if (o->letter)
            add_fish_word(b, "-", letter, o->help);
    }
    buf_add_lit(b, completion_takes_files(c) ? "\n            set has_files 1\n" : "\n");
}

/* A word that is a command: "bundle add" is reached by "bundle", then "add". */
static void add_fish_path(struct buf *b, const struct command *c, const char *path)
{
    if (!c)
        return;
    buf_printf(b, "            case '%s'", path);
    if (c->alias)
        buf_printf(b, " '%.*s%s'", (int)(strlen(path) - strlen(c->name)), path, c->alias);
    buf_printf(b, "\n                set path '%s'\n", path);
}

static void add_fish_value(struct buf *b, const char *path, const struct arg *o)
{
    buf_printf(b, "        case '%s --%s'", path, o->name);
    if (o->letter)
        buf_printf(b, " '%s -%c'", path, o->letter);
    buf_add_lit(b, "\n            ");
    switch (completion_value_of(o)) {
    case COMPLETES_CHOICES:
        buf_add_lit(b, "printf '%s\\n' ");
        for (const char *p = o->choices; *p; p++)
            if (*p != ',')
                buf_add_char(b, *p);
        break;
    case COMPLETES_FILES:
        buf_add_lit(b, "__fish_complete_path (commandline -ct)");
        break;
    case COMPLETES_DIRS:
        buf_add_lit(b, "__fish_complete_directories (commandline -ct)");
        break;
    case COMPLETES_NOTHING:
        buf_add_lit(b, "true");
        break;
    }
    buf_add_lit(b, "\n            return 0\n");
}

static void add_fish_values(struct buf *b, const struct command *c, const char *path)
{
    struct arg options[COMPLETION_ARGS_MAX];
    completion_args(c, options);
    for (const struct arg *o = options; o->name; o++)
        if (o->kind != ARG_FLAG)
            add_fish_value(b, path, o);
}

static const char FISH_LINE[] =
    "function __nb_complete\n"
    "    set -l path ''\n"
    "    set -l value 0\n"
    "    set -l last ''\n"
    "    for word in (commandline -opc)[2..]\n"
    "        set last ''\n"
    "        if test $value = 1\n"
    "            set value 0\n"
    "            continue\n"
    "        end\n"
    "        if string match -q -- '-*' $word\n"
    "            __nb_value \"$path $word\" >/dev/null; and set value 1\n"
    "            set last $word\n"
    "            continue\n"
    "        end\n"
    "        set -l former $path\n"
    "        switch (string trim -- \"$path $word\")\n";

static const char FISH_WORDS[] = "        end\n"
                                 "        test \"$path\" = \"$former\"; and break\n"
                                 "    end\n"
                                 "    if test $value = 1\n"
                                 "        __nb_value \"$path $last\"\n"
                                 "        return\n"
                                 "    end\n"
                                 "    set -l words\n"
                                 "    set -l options\n"
                                 "    set -l has_files 0\n"
                                 "    switch $path\n";

static const char FISH_END[] = "    end\n"
                               "    if string match -q -- '-*' (commandline -ct)\n"
                               "        printf '%s\\t%s\\n' $options\n"
                               "    else if test $has_files = 1\n"
                               "        __fish_complete_path (commandline -ct)\n"
                               "    else if set -q words[1]\n"
                               "        printf '%s\\t%s\\n' $words\n"
                               "    end\n"
                               "end\n\n"
                               "complete -c nb -f -a '(__nb_complete)'\n";

void completions_add_fish(struct buf *b)
{
    buf_add_lit(b, "# Completions of nb for fish: nb completions fish\n\n"
                   "# Prints the values of an option; fails for one that has none.\n"
                   "function __nb_value\n"
                   "    switch $argv[1]\n");
    completion_each(b, add_fish_values);
    buf_add_lit(b, "    end\n    return 1\nend\n\n");
    buf_add_lit(b, FISH_LINE);
    completion_each(b, add_fish_path);
    buf_add_lit(b, FISH_WORDS);
    completion_each(b, add_fish_words);
    buf_add_lit(b, FISH_END);
}
