#include "bundle/entry/jsonc.h"

static bool is_jsonc_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void blank(char *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (p[i] != '\n' && p[i] != '\r')
            p[i] = ' ';
}

static size_t skip_jsonc_string(const char *p, size_t i, size_t n)
{
    for (i++; i < n && p[i] != '"'; i++)
        if (p[i] == '\\')
            i++;
    return i < n ? i + 1 : n;
}

/* The index after the comment that begins at i; i itself when there is none. */
static size_t skip_comment(str s, size_t i)
{
    if (s.p[i] != '/' || i + 1 >= s.n)
        return i;
    if (s.p[i + 1] == '/') {
        ptrdiff_t end = str_find(s, STR("\n"), i);
        return end < 0 ? s.n : (size_t)end;
    }
    if (s.p[i + 1] != '*')
        return i;
    ptrdiff_t end = str_find(s, STR("*/"), i + 2);
    return end < 0 ? s.n : (size_t)end + 2;
}

static void remove_comments(char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t end = skip_comment(str_make(p, n), i);
        if (p[i] == '"') {
            i = skip_jsonc_string(p, i, n);
        } else if (end > i) {
            blank(p, i, end);
            i = end;
        } else {
            i++;
        }
    }
}

static void remove_last_commas(char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (p[i] == '"') {
            i = skip_jsonc_string(p, i, n);
            continue;
        }
        size_t next = i + 1;
        while (next < n && is_jsonc_space(p[next]))
            next++;
        if (p[i] == ',' && next < n && (p[next] == '}' || p[next] == ']'))
            p[i] = ' ';
        i++;
    }
}

str jsonc_to_json(struct arena *a, str text)
{
    if (str_starts(text, STR("\xef\xbb\xbf"))) /* a byte order mark */
        text = str_skip(text, 3);
    char *p = arena_cstr(a, text);
    remove_comments(p, text.n);
    remove_last_commas(p, text.n);
    return str_make(p, text.n);
}
