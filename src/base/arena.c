#include "base/arena.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Free space is poisoned under AddressSanitizer, and every allocation is followed by a
 * poisoned gap, so that an overrun inside an arena is caught like one on the heap. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define GAP            16
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define GAP            0
#endif

enum {
    ALIGN = 16,
    CHUNK_MIN = 1024,
    CHUNK_MAX = 64 * 1024,
    CHUNK_SIZES = 7,         /* CHUNK_MIN << 0 .. CHUNK_MIN << 6 */
    KEPT_BYTES = 128 * 1024, /* of each size, by each thread */
    BIG = CHUNK_MAX / 4,     /* from here on an allocation gets a chunk of its own */
};

struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* header included */
    char data[] __attribute__((aligned(ALIGN)));
};

static_assert(sizeof(struct arena_chunk) == ALIGN, "the header keeps the data aligned");

/* ---- chunks that are kept for the next arena ----
 *
 * A turn opens and closes dozens of arenas. malloc would split and merge their chunks with
 * everything between them each time, which costs time, and leaves holes that nothing else fits
 * into. Each thread keeps a few of each size. */

static_assert(CHUNK_MIN << (CHUNK_SIZES - 1) == CHUNK_MAX, "all sizes are powers of two");

static _Thread_local struct {
    struct arena_chunk *first;
    size_t bytes;
} kept[CHUNK_SIZES];
static _Thread_local bool is_keeping;

/* The index of a size in `kept`; -1 for other sizes. */
static int kept_index(size_t size)
{
    if (size < CHUNK_MIN || size > CHUNK_MAX || (size & (size - 1)) != 0)
        return -1;
    return __builtin_ctzll(size) - __builtin_ctzll(CHUNK_MIN);
}

static struct arena_chunk *take_kept(size_t size)
{
    int i = kept_index(size);
    struct arena_chunk *c = i < 0 ? NULL : kept[i].first;
    if (c) {
        kept[i].first = c->next;
        kept[i].bytes -= size;
    }
    return c;
}

static void chunk_free(struct arena_chunk *c)
{
    int i = is_keeping ? kept_index(c->size) : -1;
    if (i < 0 || kept[i].bytes + c->size > KEPT_BYTES) {
        free(c);
        return;
    }
    POISON(c->data, c->size - sizeof(*c));
    c->next = kept[i].first;
    kept[i].first = c;
    kept[i].bytes += c->size;
}

void arena_trim(void)
{
    for (int i = 0; i < CHUNK_SIZES; i++) {
        for (struct arena_chunk *c = kept[i].first, *next; c; c = next) {
            next = c->next;
            free(c);
        }
        kept[i].first = NULL;
        kept[i].bytes = 0;
    }
}

void arena_keep(bool is_kept)
{
    is_keeping = is_kept;
    if (!is_kept)
        arena_trim();
}

static struct arena_chunk *chunk_new(struct arena *a, size_t size)
{
    struct arena_chunk *c = take_kept(size);
    c = c ? c : malloc(size);
    if (!c) {
        fputs("nb: out of memory\n", stderr);
        abort();
    }
    c->next = NULL;
    c->size = size;
    a->total += size;
    POISON(c->data, size - sizeof(*c));
    return c;
}

static void use_chunk(struct arena *a, struct arena_chunk *c)
{
    a->at = c->data;
    a->end = (char *)c + c->size;
}

void arena_init(struct arena *a)
{
    *a = (struct arena){0};
}

void arena_done(struct arena *a)
{
    for (struct arena_chunk *c = a->chunk, *next; c; c = next) {
        next = c->next;
        chunk_free(c);
    }
    *a = (struct arena){0};
}

/* The largest chunk of normal size stays: the next user of this arena is likely to need as
 * much as the last one. */
void arena_reset(struct arena *a)
{
    struct arena_chunk *keep = NULL;
    for (struct arena_chunk *c = a->chunk, *next; c; c = next) {
        next = c->next;
        struct arena_chunk *drop = c;
        if (c->size <= CHUNK_MAX && (!keep || c->size > keep->size)) {
            drop = keep;
            keep = c;
        }
        if (drop)
            chunk_free(drop);
    }
    *a = (struct arena){0};
    if (!keep)
        return;
    keep->next = NULL;
    a->chunk = keep;
    a->total = keep->size;
    use_chunk(a, keep);
    POISON(keep->data, keep->size - sizeof(*keep));
}

/* A big allocation goes behind the newest chunk, whose free space stays in use. */
static void *alloc_big(struct arena *a, size_t size, size_t need)
{
    struct arena_chunk *c = chunk_new(a, sizeof(*c) + need);
    if (a->chunk) {
        c->next = a->chunk->next;
        a->chunk->next = c;
    } else {
        a->chunk = c;
        a->at = a->end = (char *)c + c->size;
    }
    UNPOISON(c->data, size);
    return c->data;
}

static void add_chunk(struct arena *a, size_t need)
{
    size_t size = CHUNK_MIN;
    if (a->chunk && a->chunk->size <= CHUNK_MAX / 2)
        size = a->chunk->size * 2;
    else if (a->chunk && a->chunk->size <= CHUNK_MAX)
        size = CHUNK_MAX;
    while (size - sizeof(struct arena_chunk) < need)
        size *= 2;
    struct arena_chunk *c = chunk_new(a, size);
    c->next = a->chunk;
    a->chunk = c;
    use_chunk(a, c);
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2) {
        fputs("nb: impossible allocation size\n", stderr);
        abort();
    }
    size_t need = ((size ? size : 1) + GAP + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (need > (size_t)(a->end - a->at)) {
        if (need >= BIG)
            return alloc_big(a, size, need);
        add_chunk(a, need);
    }
    void *p = a->at;
    a->at += need;
    UNPOISON(p, size);
    return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX; /* arena_alloc refuses it */
    return arena_zalloc(a, bytes);
}

void *arena_copy(struct arena *a, const void *p, size_t n, size_t room, size_t size)
{
    assert(n <= room);
    size_t bytes;
    if (__builtin_mul_overflow(room, size, &bytes))
        bytes = SIZE_MAX; /* arena_alloc refuses it */
    char *copy = arena_alloc(a, bytes);
    if (n > 0)
        memcpy(copy, p, n * size);
    memset(copy + n * size, 0, bytes - n * size);
    return copy;
}

char *arena_cstr(struct arena *a, str s)
{
    char *p = arena_alloc(a, s.n + 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

str arena_str(struct arena *a, str s)
{
    return (str){arena_cstr(a, s), s.n};
}

str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    char small[256];
    va_list again;
    va_copy(again, ap);
    int written = vsnprintf(small, sizeof(small), fmt, again);
    va_end(again);
    if (written < 0)
        return arena_str(a, STR_NONE);
    size_t n = (size_t)written;
    if (n < sizeof(small))
        return arena_str(a, str_make(small, n));
    char *p = arena_alloc(a, n + 1);
    (void)vsnprintf(p, n + 1, fmt, ap);
    return (str){p, n};
}

str arena_join(struct arena *a, const str *parts, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += parts[i].n;
    char *text = arena_alloc(a, total + 1), *at = text;
    for (size_t i = 0; i < n; i++)
        at = parts[i].n ? mempcpy(at, parts[i].p, parts[i].n) : at;
    *at = '\0';
    return (str){text, total};
}

str arena_concat(struct arena *a, str x, str y)
{
    return arena_join(a, (const str[]){x, y}, 2);
}

str *arena_strs(struct arena *a, const str *list, size_t n)
{
    str *copy = arena_array(a, n ? n : 1, sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_str(a, list[i]);
    return copy;
}

const char **arena_cstrs(struct arena *a, const char *const *list)
{
    size_t n = 0;
    if (!list)
        return NULL;
    while (list[n])
        n++;
    const char **copy = arena_array(a, n + 1, sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_cstr(a, str_from(list[i]));
    return copy;
}
