#include "cli/term/help_text.h"

#define ROW_LEFT 26 /* columns of the left part of a row */

struct help_line {
    FILE *out;
    size_t indent; /* indent of continued lines */
    size_t used;   /* columns of the current line */
    bool has_word;
};

static void end_line(struct help_line *l)
{
    fputc('\n', l->out);
    l->used = 0;
    l->has_word = false;
}

static void add_word(struct help_line *l, str word)
{
    if (l->has_word && l->used + 1 + word.n > HELP_WIDTH)
        end_line(l);
    if (l->used < l->indent) {
        fprintf(l->out, "%*s", (int)(l->indent - l->used), "");
        l->used = l->indent;
    }
    fprintf(l->out, "%s%.*s", l->has_word ? " " : "", STR_ARG(word));
    l->used += l->has_word + word.n;
    l->has_word = true;
}

static void add_words(struct help_line *l, str text)
{
    str word;
    while (str_split(&text, ' ', &word))
        if (word.n > 0)
            add_word(l, word);
}

void help_print_row(FILE *out, const char *left, const char *text)
{
    struct help_line l = {.out = out, .indent = ROW_LEFT + 3};
    int n = fprintf(out, "  %-*s", ROW_LEFT, left);
    l.used = n > 0 ? (size_t)n : 0;
    if (l.used >= l.indent)
        end_line(&l);
    if (!*text)
        return;
    add_words(&l, str_from(text));
    end_line(&l);
}

void help_print_text(FILE *out, const char *text)
{
    struct help_line l = {.out = out};
    str rest = str_from(text), one;
    if (str_ends(rest, STR("\n")))
        rest.n--;
    while (str_split(&rest, '\n', &one)) {
        bool is_apart = one.n == 0 || one.p[0] == ' ';
        if (is_apart && l.has_word)
            end_line(&l);
        if (is_apart)
            fprintf(out, "%.*s\n", STR_ARG(one));
        else
            add_words(&l, one);
    }
    if (l.has_word)
        end_line(&l);
}

void help_print_usage(FILE *out, const char *words)
{
    struct help_line l = {.out = out, .indent = strlen("Usage: nb ")};
    fputs("Usage: nb ", out);
    l.used = l.indent;
    add_words(&l, str_from(words));
    end_line(&l);
}
