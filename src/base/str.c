#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_ascii_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* memcmp and friends must not see NULL, not even with a length of zero. */
static bool same_bytes(const char *a, const char *b, size_t n)
{
    return n == 0 || memcmp(a, b, n) == 0;
}

static bool same_bytes_nocase(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ascii_lower(a[i]) != ascii_lower(b[i]))
            return false;
    return true;
}

bool str_eq_nocase(str a, str b)
{
    return a.n == b.n && same_bytes_nocase(a.p, b.p, a.n);
}

bool str_in(str s, const str *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(list[i], s))
            return true;
    return false;
}

bool str_in_cstrs(str s, const char *const *list)
{
    for (; *list; list++)
        if (str_eq(str_from(*list), s))
            return true;
    return false;
}

ptrdiff_t str_index(str s, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (names[i] && str_eq(str_from(names[i]), s))
            return (ptrdiff_t)i;
    return -1;
}

bool str_is_made_of(str s, const char *others)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_alnum && !memchr(others, c, strlen(others)))
            return false;
    }
    return true;
}

int str_cmp(str a, str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    if (order)
        return order;
    return (a.n > b.n) - (a.n < b.n);
}

bool str_starts(str s, str prefix)
{
    return s.n >= prefix.n && same_bytes(s.p, prefix.p, prefix.n);
}

bool str_ends(str s, str suffix)
{
    return s.n >= suffix.n && str_eq(str_skip(s, s.n - suffix.n), suffix);
}

bool str_starts_nocase(str s, str prefix)
{
    return s.n >= prefix.n && same_bytes_nocase(s.p, prefix.p, prefix.n);
}

ptrdiff_t str_find(str s, str needle, size_t from)
{
    if (from > s.n || needle.n > s.n - from)
        return -1;
    if (needle.n == 0)
        return (ptrdiff_t)from;
    const char *hit = memmem(s.p + from, s.n - from, needle.p, needle.n);
    return hit ? hit - s.p : -1;
}

ptrdiff_t str_find_char(str s, char c)
{
    const char *hit = s.n ? memchr(s.p, c, s.n) : NULL;
    return hit ? hit - s.p : -1;
}

ptrdiff_t str_rfind_char(str s, char c)
{
    const char *hit = s.n ? memrchr(s.p, c, s.n) : NULL;
    return hit ? hit - s.p : -1;
}

ptrdiff_t str_find_nocase(str s, str needle)
{
    for (size_t at = 0; needle.n <= s.n && at <= s.n - needle.n; at++)
        if (needle.n == 0 || same_bytes_nocase(s.p + at, needle.p, needle.n))
            return (ptrdiff_t)at;
    return -1;
}

str str_slice(str s, size_t from, size_t to)
{
    if (to > s.n)
        to = s.n;
    if (from > to)
        from = to;
    return (str){from ? s.p + from : s.p, to - from};
}

str str_skip(str s, size_t n)
{
    return str_slice(s, n, s.n);
}

str str_trim(str s)
{
    size_t from = 0, to = s.n;
    while (from < to && is_ascii_space(s.p[from]))
        from++;
    while (to > from && is_ascii_space(s.p[to - 1]))
        to--;
    return str_slice(s, from, to);
}

bool str_split(str *rest, char sep, str *ret_part)
{
    if (rest->n == 0)
        return false;
    ptrdiff_t at = str_find_char(*rest, sep);
    size_t end = at < 0 ? rest->n : (size_t)at;
    *ret_part = str_slice(*rest, 0, end);
    *rest = str_skip(*rest, end + 1);
    return true;
}

int parse_u64(str s, uint64_t *ret)
{
    uint64_t v = 0;
    if (s.n == 0)
        return -EINVAL;
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]))
            return -EINVAL;
    for (size_t i = 0; i < s.n; i++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
            return -ERANGE;
    *ret = v;
    return 0;
}

int parse_i64(str s, int64_t *ret)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    uint64_t magnitude;
    int r = parse_u64(negative ? str_skip(s, 1) : s, &magnitude);
    if (r < 0)
        return r;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return -ERANGE;
    *ret = (int64_t)(negative ? 0 - magnitude : magnitude);
    return 0;
}

static size_t skip_digits(str s, size_t at)
{
    while (at < s.n && is_digit(s.p[at]))
        at++;
    return at;
}

/* [-]digits[.digits][e[+-]digits] with a digit on at least one side of the point: strtod
 * alone would also take hexadecimal, "nan" and leading space. */
static bool is_decimal(str s)
{
    size_t at = s.n > 0 && s.p[0] == '-';
    size_t end = skip_digits(s, at), digits = end - at;
    if (end < s.n && s.p[end] == '.') {
        at = end + 1;
        end = skip_digits(s, at);
        digits += end - at;
    }
    if (digits == 0)
        return false;
    if (end < s.n && ascii_lower(s.p[end]) == 'e') {
        at = end + 1;
        if (at < s.n && (s.p[at] == '+' || s.p[at] == '-'))
            at++;
        end = skip_digits(s, at);
        if (end == at)
            return false;
    }
    return end == s.n;
}

int parse_double(str s, double *ret)
{
    if (!is_decimal(s))
        return -EINVAL;
    char small[64];
    char *text = s.n < sizeof(small) ? small : xcalloc(s.n + 1, 1);
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    double v = strtod(text, NULL);
    if (text != small)
        free(text);
    if (isinf(v))
        return -ERANGE;
    *ret = v;
    return 0;
}

char *str_dup(str s)
{
    char *copy = xcalloc(s.n + 1, 1);
    if (s.n)
        memcpy(copy, s.p, s.n);
    return copy;
}

static void *check_memory(void *p)
{
    if (!p) {
        fputs("nb: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    return check_memory(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t size)
{
    return check_memory(realloc(p, size ? size : 1));
}
