#include "cli/screen/term_answer.h"

#include <assert.h>

#define BEGIN STR("\x1b[?")

/* The first number says what the terminal imitates, the others what it can do. */
static bool lists_sixel(str numbers)
{
    str one = STR_NONE;
    (void)str_split(&numbers, ';', &one);
    while (str_split(&numbers, ';', &one))
        if (str_eq(one, STR("4")))
            return true;
    return false;
}

static size_t length_of_numbers(str s)
{
    size_t n = 0;
    while (n < s.n && ((s.p[n] >= '0' && s.p[n] <= '9') || s.p[n] == ';'))
        n++;
    return n;
}

/* Looks at what begins like an answer; returns how many bytes of it are not keys. */
static size_t read_attributes(struct term_answer *t, str s)
{
    size_t n = length_of_numbers(str_skip(s, BEGIN.n)), end = BEGIN.n + n;
    if (end == s.n && s.n < TERM_ANSWER_MAX) {
        memcpy(t->held, s.p, s.n);
        t->n = s.n;
        return s.n;
    }
    if (end >= s.n || s.p[end] != 'c' || n == 0)
        return 0;
    t->is_awaited = false;
    t->has_sixel = lists_sixel(str_make(s.p + BEGIN.n, n));
    return end + 1;
}

size_t term_answer_take(struct term_answer *t, str keys, char *to)
{
    size_t n = t->n + keys.n, from = 0;
    memcpy(to, t->held, t->n);
    memcpy(to + t->n, keys.p, keys.n);
    t->n = 0;
    while (t->is_awaited && t->n == 0) {
        ptrdiff_t at = str_find(str_make(to, n), BEGIN, from);
        if (at < 0)
            break;
        size_t taken = read_attributes(t, str_make(to + at, n - (size_t)at));
        assert((size_t)at + taken <= n);
        memmove(to + at, to + at + taken, n - (size_t)at - taken);
        n -= taken;
        from = (size_t)at + (taken > 0 ? 0 : BEGIN.n);
    }
    return n;
}
