#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 64 };

void buf_init(struct buf *b, size_t max_bytes)
{
    /* One byte is kept for the NUL, and doubling must not overflow. */
    assert(max_bytes < SIZE_MAX / 4);
    *b = (struct buf){.max = max_bytes};
}

void buf_done(struct buf *b)
{
    free(b->p);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->failed = false;
    if (b->p)
        b->p[0] = '\0';
}

void buf_reset(struct buf *b)
{
    size_t max = b->max;
    buf_done(b);
    b->max = max;
}

void buf_recycle(struct buf *b, size_t keep)
{
    if (b->cap > keep)
        buf_reset(b);
    else
        buf_clear(b);
}

static int buf_fail(struct buf *b)
{
    b->failed = true;
    return -ENOBUFS;
}

int buf_reserve(struct buf *b, size_t extra)
{
    if (b->failed || extra > b->max - b->n)
        return buf_fail(b);
    size_t need = b->n + extra + 1;
    if (need <= b->cap)
        return 0;
    size_t cap = b->cap ? b->cap * 2 : FIRST_CAP;
    if (cap > b->max + 1)
        cap = b->max + 1;
    if (cap < need)
        cap = need;
    b->p = xrealloc(b->p, cap);
    b->cap = cap;
    b->p[b->n] = '\0';
    return 0;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
    int r = buf_reserve(b, n);
    if (r < 0)
        return r;
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
    return 0;
}

int buf_add_str(struct buf *b, str s)
{
    return buf_add(b, s.p, s.n);
}

int buf_add_lit(struct buf *b, const char *cstr)
{
    return buf_add(b, cstr, strlen(cstr));
}

int buf_add_char(struct buf *b, char c)
{
    return buf_add(b, &c, 1);
}

int buf_add_u64(struct buf *b, uint64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    return buf_add(b, digits + at, sizeof(digits) - at);
}

int buf_add_i64(struct buf *b, int64_t v)
{
    if (v >= 0)
        return buf_add_u64(b, (uint64_t)v);
    size_t before = b->n;
    if (buf_add_char(b, '-') < 0 || buf_add_u64(b, 0 - (uint64_t)v) < 0) {
        buf_truncate(b, before);
        return -ENOBUFS;
    }
    return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int r = buf_vprintf(b, fmt, ap);
    va_end(ap);
    return r;
}

int buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    if (b->failed)
        return -ENOBUFS;
    size_t room = b->cap - b->n; /* the NUL included */
    va_list again;
    va_copy(again, ap);
    int written = vsnprintf(room ? b->p + b->n : NULL, room, fmt, again);
    va_end(again);
    if (written < 0) {
        buf_truncate(b, b->n);
        return buf_fail(b);
    }
    size_t n = (size_t)written;
    if (n >= room) {
        buf_truncate(b, b->n); /* the first try may have overwritten the NUL */
        if (buf_reserve(b, n) < 0)
            return -ENOBUFS;
        (void)vsnprintf(b->p + b->n, n + 1, fmt, ap);
    }
    b->n += n;
    return 0;
}

void buf_consume(struct buf *b, size_t n)
{
    assert(n <= b->n);
    if (n == 0)
        return;
    b->n -= n;
    memmove(b->p, b->p + n, b->n + 1);
}

void buf_truncate(struct buf *b, size_t n)
{
    assert(n <= b->n);
    b->n = n;
    if (b->p)
        b->p[n] = '\0';
}

const char *buf_cstr(struct buf *b)
{
    return b->p ? b->p : "";
}

char *buf_take(struct buf *b, size_t *ret_n)
{
    char *p = b->p ? b->p : xcalloc(1, 1);
    if (ret_n)
        *ret_n = b->n;
    b->p = NULL;
    buf_reset(b);
    return p;
}

str buf_keep(struct buf *b, struct arena *a)
{
    str s = arena_str(a, buf_str(b));
    buf_done(b);
    return s;
}

str buf_keep_whole(struct buf *b, struct arena *a)
{
    if (!b->failed)
        return buf_keep(b, a);
    buf_done(b);
    return STR_NONE;
}
