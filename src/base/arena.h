/* arena.h - memory with one lifetime: a request, a run step, a parsed message.
 *
 * Allocations are never freed one by one; arena_done or arena_reset drops them all.
 * Everything returned is aligned for any type. Memory is not zeroed by arena_alloc, it is
 * by arena_zalloc. One owner at a time; an arena may move between threads, not be shared. */
#pragma once

#include <stdarg.h>

#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunk; /* newest first */
    char *at, *end;            /* free space in the newest chunk */
    size_t total;              /* bytes held, for budgets */
};

void arena_init(struct arena *a);  /* allocates nothing yet */
void arena_done(struct arena *a);  /* accepts a zeroed struct */
void arena_reset(struct arena *a); /* drops everything but one chunk, which is kept for reuse */
/* With true, from now on the calling thread keeps up to a megabyte of freed chunks for its next
 * arenas; with false it ends that, and frees them: before the thread ends. arena_trim frees them
 * when there is nothing to do. */
void arena_keep(bool is_kept);
void arena_trim(void);

void *arena_alloc(struct arena *a, size_t size);
void *arena_zalloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size); /* zeroed; checks the product */
/* A copy of n elements, zeroed behind them up to `room` elements. */
void *arena_copy(struct arena *a, const void *p, size_t n, size_t room, size_t size);
str arena_str(struct arena *a, str s); /* a copy, NUL-terminated behind */
char *arena_cstr(struct arena *a, str s);
str arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
str arena_vprintf(struct arena *a, const char *fmt, va_list ap);
str arena_concat(struct arena *a, str x, str y);
str arena_join(struct arena *a, const str *parts, size_t n); /* cheaper than arena_printf */
/* Copies of lists: n strings (never NULL); an argv or environment that ends in NULL (of NULL: NULL)
 */
str *arena_strs(struct arena *a, const str *list, size_t n);
const char **arena_cstrs(struct arena *a, const char *const *list);

#define ARENA_NEW(a, type) ((type *)arena_zalloc((a), sizeof(type)))

/* Room for the element at index n of an array in the arena that has room for cap, as GROW. The
 * array before it stays in the arena. */
#define ARENA_GROW(a, array, n, cap)                                                               \
    do {                                                                                           \
        if ((n) == (cap)) {                                                                        \
            (cap) = (cap) ? (cap)*2 : 16;                                                          \
            (array) = arena_copy((a), (array), (n), (cap), sizeof(*(array)));                      \
        }                                                                                          \
    } while (0)
