#include "store/event/query.h"

#include <errno.h>

#include "base/clock.h"
#include "base/text/glob.h"
#include "base/utf8.h"
#include "store/event/fold.h"

enum { SNIPPET_SIDE = 100, PREFIX_MIN = 2 };

/* ---- taking the query apart ---- */

static int parse_date(str value, const char *name, int64_t *ret, struct err *e)
{
    if (clock_parse_iso(value, ret) < 0)
        return err_set(e, -EINVAL, "%s: \"%.*s\" is not a date like 2026-03-25", name,
                       STR_ARG(utf8_truncate(value, 40)));
    return 0;
}

/* 1 when the word is a filter, 0 when it is a search term. */
static int take_filter(struct arena *a, struct query *q, str word, struct err *e)
{
    int r = 1;
    if (str_starts_nocase(word, STR("from:")))
        q->from = arena_str(a, str_skip(word, 5));
    else if (str_starts_nocase(word, STR("tool:")))
        q->tool = arena_str(a, str_skip(word, 5));
    else if (str_eq_nocase(word, STR("in:title")))
        q->titles_only = true;
    else if (str_starts_nocase(word, STR("before:")))
        r = parse_date(str_skip(word, 7), "before", &q->before_ms, e) < 0 ? -EINVAL : 1;
    else if (str_starts_nocase(word, STR("after:")))
        r = parse_date(str_skip(word, 6), "after", &q->after_ms, e) < 0 ? -EINVAL : 1;
    else
        r = 0;
    return r;
}

static int add_term(struct arena *a, struct query *q, str word, bool is_phrase, struct err *e)
{
    bool is_prefix = !is_phrase && str_ends(word, STR("*"));
    str folded = fold_text(a, word);
    if (!folded.n)
        return 0;
    if (q->n == QUERY_TERMS_MAX)
        return err_set(e, -E2BIG, "the search has more than %d words", QUERY_TERMS_MAX);
    q->terms[q->n++] = (struct query_term){
        .text = folded,
        .is_prefix = is_prefix,
        .is_phrase = is_phrase || str_find_char(folded, ' ') >= 0,
    };
    return 0;
}

/* Removes the next word or quoted phrase from the text. */
static bool next_word(str *rest, str *ret_word, bool *ret_is_phrase)
{
    *rest = str_trim(*rest);
    if (!rest->n)
        return false;
    *ret_is_phrase = rest->p[0] == '"';
    if (*ret_is_phrase)
        *rest = str_skip(*rest, 1);
    size_t n = 0;
    while (n < rest->n && (*ret_is_phrase ? rest->p[n] != '"' : !strchr(" \t\r\n", rest->p[n])))
        n++;
    *ret_word = str_slice(*rest, 0, n);
    *rest = str_skip(*rest, n + (*ret_is_phrase && n < rest->n));
    return true;
}

/* People search while they type, so the last word may be the beginning of one. A single letter is
 * too little; in scripts without spaces every part of a text is found anyway. */
static bool may_grow(const struct query_term *t)
{
    uint32_t cp = 0;
    (void)utf8_decode(t->text, &cp);
    return !t->is_phrase && utf8_count(t->text) >= PREFIX_MIN && !fold_is_cjk(cp);
}

int query_parse(struct arena *a, str text, struct query *ret, struct err *e)
{
    struct query q = {.before_ms = INT64_MAX};
    str word;
    bool is_phrase, has_filter = false, is_last_quoted = false;
    if (!utf8_valid(text) || memchr(text.p ? text.p : "", 0, text.n))
        return err_set(e, -EINVAL, "the search text is not valid UTF-8");
    q.terms = arena_array(a, QUERY_TERMS_MAX, sizeof(*q.terms));
    while (next_word(&text, &word, &is_phrase)) {
        int r = is_phrase ? 0 : take_filter(a, &q, word, e);
        has_filter |= r > 0;
        if (r == 0) {
            is_last_quoted = is_phrase;
            r = add_term(a, &q, word, is_phrase, e);
        }
        if (r < 0)
            return r;
    }
    if (q.n > 0 && !is_last_quoted && may_grow(&q.terms[q.n - 1]))
        q.terms[q.n - 1].is_prefix = true;
    if (q.n == 0 && !has_filter)
        return err_set(e, -EINVAL, "the search needs at least one word");
    *ret = q;
    return 0;
}

/* ---- matching ---- */

static bool begins_word(str text, size_t at)
{
    uint32_t cp = 0;
    (void)utf8_decode(str_skip(text, at), &cp);
    if (at == 0 || text.p[at - 1] == ' ' || fold_is_cjk(cp))
        return true;
    size_t before = at - 1;
    while (before > 0 && ((unsigned char)text.p[before] & 0xc0) == 0x80)
        before--;
    return utf8_decode(str_skip(text, before), &cp) && fold_is_cjk(cp);
}

/* Position of the term in folded text, or -1. */
static ptrdiff_t find_term(str text, const struct query_term *t)
{
    for (size_t from = 0;;) {
        ptrdiff_t at = str_find(text, t->text, from);
        if (at < 0)
            return -1;
        size_t end = (size_t)at + t->text.n;
        if (begins_word(text, (size_t)at) &&
            (t->is_prefix || end == text.n || text.p[end] == ' ' || begins_word(text, end)))
            return at;
        from = (size_t)at + 1;
    }
}

static bool is_from(const struct query *q, const struct event_text *t)
{
    return str_eq_nocase(q->from, t->user_id) || str_eq_nocase(q->from, t->role);
}

static bool is_tool(const struct query *q, str name)
{
    ptrdiff_t at = str_find(name, STR("__"), 0);
    return glob_match(q->tool, name) ||
           (at >= 0 && glob_match(q->tool, str_skip(name, (size_t)at + 2)));
}

bool query_matches(const struct query *q, struct arena *scratch, const struct event_text *text,
                   const struct json *event)
{
    int64_t ms = 0;
    if ((q->from.n && !is_from(q, text)) || (q->tool.n && !is_tool(q, text->tool)) ||
        (q->titles_only && !str_eq(text->role, STR("title"))))
        return false;
    bool has_dates = q->after_ms != 0 || q->before_ms != INT64_MAX;
    if (has_dates && (!event_time(event, &ms) || ms < q->after_ms || ms >= q->before_ms))
        return false;
    str folded = fold_text(scratch, text->text);
    str tool = fold_text(scratch, text->tool);
    for (size_t i = 0; i < q->n; i++) {
        if (find_term(folded, &q->terms[i]) < 0 && find_term(tool, &q->terms[i]) < 0)
            return false;
    }
    return true;
}

/* ---- snippets ---- */

/* The place of the folded characters [at, at + n) in the original text. */
static bool find_original(str text, size_t at, size_t n, size_t *ret_from, size_t *ret_to)
{
    struct casefold_iter f;
    struct buf one;
    uint32_t cp;
    size_t where, folded = 0;
    bool is_gap = true, has_from = false;
    buf_init(&one, 8);
    fold_init(&f, text);
    while (fold_next(&f, &cp, &where)) {
        if (cp == ' ' && is_gap)
            continue;
        is_gap = cp == ' ';
        if (!has_from && folded >= at) {
            *ret_from = where;
            has_from = true;
        }
        buf_clear(&one);
        utf8_encode(&one, cp);
        folded += one.n;
        if (folded >= at + n) {
            *ret_to = f.at;
            break;
        }
    }
    buf_done(&one);
    return has_from && folded >= at + n;
}

static size_t back_to_character(str s, size_t at)
{
    while (at > 0 && at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
        at--;
    return at;
}

str query_snippet(struct arena *a, const struct query *q, str text)
{
    size_t from = 0, to = 0;
    str folded = fold_text(a, text);
    for (size_t i = 0; i < q->n; i++) {
        ptrdiff_t at = find_term(folded, &q->terms[i]);
        if (at >= 0 && find_original(text, (size_t)at, q->terms[i].text.n, &from, &to))
            break;
    }
    size_t start = back_to_character(text, from > SNIPPET_SIDE ? from - SNIPPET_SIDE : 0);
    str after = utf8_truncate(str_skip(text, to), SNIPPET_SIDE);
    if (to == 0)
        return arena_str(a, after);
    return arena_printf(a, "%.*s\x01%.*s\x02%.*s", STR_ARG(str_slice(text, start, from)),
                        STR_ARG(str_slice(text, from, to)), STR_ARG(after));
}

str query_unmarked(struct arena *a, str snippet)
{
    char *out = arena_alloc(a, snippet.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < snippet.n; i++)
        if (snippet.p[i] != '\1' && snippet.p[i] != '\2')
            out[n++] = snippet.p[i];
    return str_make(out, n);
}
