#include "cli/manual/roff.h"

#define LINE_BYTES  72           /* of a page; escapes make a line longer */
#define MANUAL_DATE "2026-11-17" /* of the newest version in CHANGELOG.md */

/* One line of output, to which words are added. */
struct roff_line {
    struct buf *b;
    size_t used;
    bool is_code; /* between backquotes: bold */
};

static void add_escaped(struct buf *b, char c)
{
    switch (c) {
    case '\\':
        buf_add_lit(b, "\\e");
        break;
    case '-':
        buf_add_lit(b, "\\-");
        break;
    case '\'':
        buf_add_lit(b, "\\(aq");
        break;
    case '"':
        buf_add_lit(b, "\\(dq");
        break;
    case '^':
        buf_add_lit(b, "\\(ha");
        break;
    case '~':
        buf_add_lit(b, "\\(ti");
        break;
    default:
        buf_add_char(b, c);
        break;
    }
}

/* A dot at the begin of a line is a request. */
static void add_word_escaped(struct roff_line *l, str word)
{
    if (l->used == 0 && word.n > 0 && word.p[0] == '.')
        buf_add_lit(l->b, "\\&");
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] != '`') {
            add_escaped(l->b, word.p[i]);
            continue;
        }
        l->is_code = !l->is_code;
        buf_add_lit(l->b, l->is_code ? "\\fB" : "\\fR");
    }
}

static void roff_break(struct roff_line *l)
{
    if (l->used > 0)
        buf_add_char(l->b, '\n');
    l->used = 0;
}

static void add_roff_word(struct roff_line *l, str word)
{
    if (l->used + 1 + word.n > LINE_BYTES)
        roff_break(l);
    if (l->used > 0)
        buf_add_char(l->b, ' ');
    add_word_escaped(l, word);
    l->used += 1 + word.n;
}

static void add_roff_words(struct roff_line *l, str text)
{
    str word;
    while (str_split(&text, ' ', &word))
        if (word.n > 0)
            add_roff_word(l, word);
}

/* "[text](address)" at the begin of s: its length, or 0. */
static size_t link_at(str s, str *ret_text)
{
    ptrdiff_t middle = s.n > 0 && s.p[0] == '[' ? str_find(s, STR("]("), 0) : -1;
    ptrdiff_t end = middle < 0 ? -1 : str_find(s, STR(")"), (size_t)middle);
    if (end < 0 || str_find_char(str_slice(s, 1, (size_t)middle), '[') >= 0)
        return 0;
    *ret_text = str_slice(s, 1, (size_t)middle);
    return (size_t)end + 1;
}

static str without_links(struct arena *a, str markdown)
{
    struct buf b;
    buf_init(&b, ROFF_PAGE_MAX);
    while (markdown.n > 0) {
        str text;
        size_t n = link_at(markdown, &text);
        buf_add_str(&b, n > 0 ? text : str_slice(markdown, 0, 1));
        markdown = str_skip(markdown, n > 0 ? n : 1);
    }
    return buf_keep(&b, a);
}

str roff_plain(struct arena *a, str markdown)
{
    struct buf b;
    str text = without_links(a, markdown);
    buf_init(&b, ROFF_PAGE_MAX);
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '`')
            buf_add_char(&b, text.p[i]);
    return buf_keep(&b, a);
}

void roff_head(struct buf *b, const char *page, const char *section, str summary)
{
    struct roff_line l = {b};
    buf_add_lit(b, ".TH ");
    for (const char *p = page; *p; p++)
        buf_add_char(b, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
    buf_printf(b, " %s %s \"nb %s\" \"nb manual\"\n", section, MANUAL_DATE, NB_VERSION);
    roff_section(b, "NAME");
    add_roff_word(&l, str_from(page));
    buf_add_lit(b, " \\-");
    l.used += 3;
    add_roff_words(&l, summary);
    roff_break(&l);
}

void roff_section(struct buf *b, const char *title)
{
    buf_printf(b, ".SH %s\n", title);
}

void roff_subsection(struct buf *b, str title)
{
    struct roff_line l = {b};
    buf_add_lit(b, ".SS \"");
    for (size_t i = 0; i < title.n; i++)
        add_escaped(l.b, title.p[i]);
    buf_add_lit(b, "\"\n");
}

static void add_paragraphs(struct buf *b, str text)
{
    struct roff_line l = {b};
    bool is_example = false, has_gap = false, has_text = false;
    str one;
    while (str_split(&text, '\n', &one)) {
        bool is_indented = one.n > 0 && one.p[0] == ' ';
        if (is_indented != is_example && one.n > 0) {
            roff_break(&l);
            buf_add_lit(b, is_indented ? ".PP\n.EX\n" : ".EE\n.PP\n");
            is_example = is_indented;
            has_gap = false;
        }
        if (one.n == 0) {
            has_gap = true;
            continue;
        }
        if (has_gap && has_text && !is_example) {
            roff_break(&l);
            buf_add_lit(b, ".PP\n");
        }
        has_gap = false;
        has_text = true;
        if (is_indented) {
            buf_add_lit(b, "\\&");
            for (size_t i = 0; i < one.n; i++)
                add_escaped(b, one.p[i]);
            buf_add_char(b, '\n');
        } else
            add_roff_words(&l, one);
    }
    roff_break(&l);
    if (is_example)
        buf_add_lit(b, ".EE\n");
}

void roff_text(struct buf *b, str text)
{
    struct arena a;
    arena_init(&a);
    add_paragraphs(b, without_links(&a, text));
    arena_done(&a);
}

void roff_item(struct buf *b, str tag, str text)
{
    struct roff_line l = {b};
    buf_add_lit(b, ".TP\n");
    add_word_escaped(&l, tag);
    buf_add_char(b, '\n');
    if (text.n > 0)
        roff_text(b, text);
}

void roff_synopsis(struct buf *b, str words)
{
    struct roff_line l = {b};
    add_roff_words(&l, words);
    roff_break(&l);
}
