#include "config/relaxed.h"

#include <string.h>

#define BYTE_ORDER_MARK STR("\xef\xbb\xbf")

struct relaxing {
    char *p;
    size_t n, i;
    ptrdiff_t comma; /* the last one, while only white space followed; -1 = none */
    bool has_replaced;
};

static void blank(struct relaxing *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (r->p[i] != '\n' && r->p[i] != '\r')
            r->p[i] = ' ';
    r->has_replaced = true;
}

static void relaxed_skip_string(struct relaxing *r)
{
    for (r->i++; r->i < r->n && r->p[r->i] != '"'; r->i++)
        if (r->p[r->i] == '\\')
            r->i++;
    r->i++;
}

/* A comment without an end stays: the parser names its place. */
static bool skip_comment(struct relaxing *r)
{
    str rest = str_make(r->p + r->i, r->n - r->i);
    bool is_line = str_starts(rest, STR("//"));
    if (!is_line && !str_starts(rest, STR("/*")))
        return false;
    ptrdiff_t end = is_line ? str_find_char(rest, '\n') : str_find(rest, STR("*/"), 2);
    if (end < 0 && !is_line)
        return false;
    size_t to = end < 0 ? r->n : r->i + (size_t)end + (is_line ? 0 : 2);
    blank(r, r->i, to);
    r->i = to;
    return true;
}

static void relaxed_step(struct relaxing *r)
{
    char c = r->p[r->i];
    if (c == '/' && skip_comment(r))
        return;
    if ((c == '}' || c == ']') && r->comma >= 0)
        blank(r, (size_t)r->comma, (size_t)r->comma + 1);
    if (c == ',')
        r->comma = (ptrdiff_t)r->i;
    else if (!strchr(" \t\r\n", c) || c == '\0')
        r->comma = -1;
    if (c == '"')
        relaxed_skip_string(r);
    else
        r->i++;
}

str relaxed_json(struct arena *a, str text, bool *ret_has_comments)
{
    bool has_mark = str_starts(text, BYTE_ORDER_MARK);
    struct relaxing r = {.p = arena_cstr(a, text), .n = text.n, .comma = -1};
    if (has_mark) {
        memset(r.p, ' ', BYTE_ORDER_MARK.n);
        r.i = BYTE_ORDER_MARK.n;
    }
    while (r.i < r.n)
        relaxed_step(&r);
    if (ret_has_comments)
        *ret_has_comments = r.has_replaced;
    return has_mark || r.has_replaced ? str_make(r.p, r.n) : text;
}
