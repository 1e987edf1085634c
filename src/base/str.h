/* str.h - a borrowed slice of bytes.
 *
 * A str never owns what it points to and need not end in NUL: it lives no longer than its
 * source (a literal, a buf, an arena). Copy it (arena_str, str_dup) to keep it. The empty
 * slice may have p == NULL. Everything here is pure and may be called from any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/banned.h"

typedef struct str {
    const char *p;
    size_t n;
} str;

/* A literal, usable in initialisers: STR("abc"). */
#define STR(lit) ((str){"" lit, sizeof(lit) - 1})
#define STR_INIT(lit)                                                                              \
    {                                                                                              \
        "" lit, sizeof(lit) - 1                                                                    \
    }
#define STR_NONE ((str){NULL, 0})

/* For printf: printf("%.*s", STR_ARG(s)). Longer slices are cut at INT_MAX. */
#define STR_ARG(s) ((s).n > 0x7fffffff ? 0x7fffffff : (int)(s).n), ((s).p ? (s).p : "")

#define ARRAY_LEN(a)                    (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline str str_make(const char *p, size_t n)
{
    return (str){p, n};
}
/* Inline, like str_eq, so that the length of a literal is known when it is compiled. */
static inline str str_from(const char *cstr) /* NULL gives the empty slice */
{
    return cstr ? (str){cstr, strlen(cstr)} : STR_NONE;
}

static inline bool str_eq(str a, str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
bool str_eq_nocase(str a, str b); /* ASCII only */
bool str_in(str s, const str *list, size_t n);
bool str_in_cstrs(str s, const char *const *list); /* the list ends in NULL */
/* The position in a table of names, which may have holes (NULL), or -1: STR_INDEX(s, NAMES). */
ptrdiff_t str_index(str s, const char *const *names, size_t n);
#define STR_INDEX(s, names) str_index((s), (names), ARRAY_LEN(names))
bool str_is_made_of(str s, const char *others); /* and ASCII letters and digits */
int str_cmp(str a, str b);                      /* bytewise; a prefix sorts first */
bool str_starts(str s, str prefix);
bool str_ends(str s, str suffix);
bool str_starts_nocase(str s, str prefix);

/* Position of the first needle at or after `from`, or -1. An empty needle is found at `from`. */
ptrdiff_t str_find(str s, str needle, size_t from);
ptrdiff_t str_find_char(str s, char c);
ptrdiff_t str_rfind_char(str s, char c);
ptrdiff_t str_find_nocase(str s, str needle); /* ASCII only */

str str_slice(str s, size_t from, size_t to); /* both ends are clamped */
str str_skip(str s, size_t n);                /* without the first n bytes */
str str_trim(str s);                          /* ASCII white space at both ends */

/* Takes the part of *rest before `sep` (all of it when there is none) and moves *rest
 * behind it. Returns false once nothing is left. "a,,b" gives "a", "", "b"; a separator at
 * the very end adds no empty part. */
bool str_split(str *rest, char sep, str *ret_part);

/* Whole-slice number parsers: no white space, no '+', no sign for u64, nothing left over; a
 * double is decimal and finite.
 * Return 0, -EINVAL or -ERANGE; *ret is set only on success. */
int parse_u64(str s, uint64_t *ret);
int parse_i64(str s, int64_t *ret);
int parse_double(str s, double *ret);

/* A NUL-terminated heap copy; the caller frees it. Aborts when memory runs out. */
char *str_dup(str s);

/* Allocation that cannot fail: aborts with a message. Zero-filled. */
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t size);

/* Room for the element at index n of a heap array that has room for cap: doubles cap when n has
 * reached it. The caller limits n. */
#define GROW(array, n, cap)                                                                        \
    do {                                                                                           \
        if ((n) == (cap)) {                                                                        \
            (cap) = (cap) ? (cap)*2 : 16;                                                          \
            (array) = xrealloc((array), (cap) * sizeof(*(array)));                                 \
        }                                                                                          \
    } while (0)
