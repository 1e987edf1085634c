/* json_impl.h - declarations shared by the JSON sources; other files do not include it. */
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/json/json.h"

/* A word with the byte `c` in all eight places. */
#define JSON_EACH(c) (UINT64_C(0x0101010101010101) * (uint8_t)(c))

/* Not 0 when a byte of `w` is below `limit` (at most 0x80), or equal to `c`. Bytes above the
 * lowest hit may be marked wrongly: this tells whether there is one, not where. */
static inline uint64_t json_bytes_below(uint64_t w, uint8_t limit)
{
    return (w - JSON_EACH(limit)) & ~w & JSON_EACH(0x80);
}

static inline uint64_t json_bytes_equal(uint64_t w, char c)
{
    return json_bytes_below(w ^ JSON_EACH(c), 1);
}

static inline bool json_is_special(char c)
{
    return (uint8_t)c < 0x20 || c == '"' || c == '\\';
}

#ifdef __SSE2__
/* One bit per byte of `v` that a JSON string cannot hold as it is. */
static inline unsigned json_special_mask(__m128i v)
{
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1f);
    __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash));
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
    return (unsigned)_mm_movemask_epi8(hit);
}
#endif

static inline uint64_t json_special_word(uint64_t w)
{
    return json_bytes_below(w, 0x20) | json_bytes_equal(w, '"') | json_bytes_equal(w, '\\');
}

/* The end of the run of bytes that a JSON string holds as they are: stops at a quote, a
 * backslash, a control character or `end`. *has_high turns true when the run is not all
 * ASCII. */
static inline const char *json_plain_run(const char *p, const char *end, bool *has_high)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned mask = json_special_mask(v), high = (unsigned)_mm_movemask_epi8(v);
        if (mask) {
            *has_high |= (high & (mask - 1) & ~mask) != 0;
            return p + __builtin_ctz(mask);
        }
        *has_high |= high != 0;
    }
#endif
    for (uint64_t w; end - p >= 8; p += 8) {
        memcpy(&w, p, 8);
        if (json_special_word(w))
            break;
        *has_high |= (w & JSON_EACH(0x80)) != 0;
    }
    for (; p < end && !json_is_special(*p); p++)
        *has_high |= (*p & 0x80) != 0;
    return p;
}

/* Copies such a run to `out`, which has room for end - *p bytes, and moves *p behind it.
 * Returns the end of the copy. Bytes behind that, within the room, may be overwritten. */
static inline char *json_copy_run(char *out, const char **p, const char *end, bool *has_high)
{
    const char *at = *p;
#ifdef __SSE2__
    for (; end - at >= 16; at += 16, out += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
        _mm_storeu_si128((__m128i *)(void *)out, v);
        *has_high |= _mm_movemask_epi8(v) != 0;
        unsigned mask = json_special_mask(v);
        if (mask) {
            *p = at + __builtin_ctz(mask);
            return out + __builtin_ctz(mask);
        }
    }
#endif
    for (uint64_t w; end - at >= 8; at += 8, out += 8) {
        memcpy(&w, at, 8);
        if (json_special_word(w))
            break;
        memcpy(out, &w, 8);
        *has_high |= (w & JSON_EACH(0x80)) != 0;
    }
    for (; at < end && !json_is_special(*at); at++) {
        *has_high |= (*at & 0x80) != 0;
        *out++ = *at;
    }
    *p = at;
    return out;
}

/* Makes room for n more bytes, with some to spare; false beyond the ceiling. */
bool json_grow(struct buf *b, size_t n);

/* Where the next n bytes go; NULL beyond the ceiling. They count after json_written. */
static inline char *json_room(struct buf *b, size_t n)
{
    bool is_there = b->cap - b->n > n && n <= b->max - b->n && !b->failed;
    return is_there || json_grow(b, n) ? b->p + b->n : NULL;
}

static inline void json_written(struct buf *b, char *end)
{
    *end = '\0';
    b->n = (size_t)(end - b->p);
}

/* A heap array of the object's members ordered by key, equal keys by position; the caller
 * frees it. For work that would be quadratic with lookups. NULL for an empty object. */
const struct json_member **json_sort_members(const struct json *obj);

/* Whether two numbers mean the same, exactly: 1 = 1.0 = 10e-1. Both must be numbers. */
bool json_number_equal(const struct json *a, const struct json *b);
