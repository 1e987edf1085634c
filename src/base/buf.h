/* buf.h - a growable byte buffer with a mandatory maximum.
 *
 * Every buffer names its ceiling when it is made. An append that would pass it changes
 * nothing, marks the buffer failed and returns -ENOBUFS; later appends fail as well, so a
 * long chain of appends needs one check at its end (buf_failed). The bytes are always
 * followed by a NUL that is not counted. One owner; no locking. */
#pragma once

#include <stdarg.h>

#include "base/arena.h"

struct buf {
    char *p;
    size_t n, cap, max;
    bool failed;
};

void buf_init(struct buf *b, size_t max_bytes); /* allocates nothing yet */
void buf_done(struct buf *b);                   /* frees; accepts a zeroed struct */
void buf_clear(struct buf *b);                  /* empty and not failed; keeps its memory */
void buf_reset(struct buf *b);                  /* like clear, but gives its memory back */
/* Like clear for a buffer that is used again and again: gives back memory of more than `keep`
 * bytes, so that it does not stay as large as its largest use. */
void buf_recycle(struct buf *b, size_t keep);

int buf_reserve(struct buf *b, size_t extra); /* room for `extra` more bytes at p + n */
int buf_add(struct buf *b, const void *p, size_t n);
int buf_add_str(struct buf *b, str s);
int buf_add_lit(struct buf *b, const char *cstr);
int buf_add_char(struct buf *b, char c);
int buf_add_u64(struct buf *b, uint64_t v);
int buf_add_i64(struct buf *b, int64_t v);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *b, const char *fmt, va_list ap);

void buf_consume(struct buf *b, size_t n);  /* drops n bytes at the front */
void buf_truncate(struct buf *b, size_t n); /* keeps the first n bytes */

static inline str buf_str(const struct buf *b)
{
    return (str){b->p, b->n};
}
static inline bool buf_failed(const struct buf *b)
{
    return b->failed;
}
const char *buf_cstr(struct buf *b);          /* never NULL */
char *buf_take(struct buf *b, size_t *ret_n); /* the caller now owns and frees the bytes */
/* Copies the bytes to the arena and frees the buffer (buf_done). buf_keep_whole returns STR_NONE
 * if an append has failed, buf_keep the bytes before it. */
str buf_keep(struct buf *b, struct arena *a);
str buf_keep_whole(struct buf *b, struct arena *a);
