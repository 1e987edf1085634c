/* json_impl.h - declarations shared by the JSON sources; other files do not include it. */
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bytes/word.h"
#include "base/json/json.h"

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
    return word_below(w, 0x20) | word_equal(w, '"') | word_equal(w, '\\');
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
        *has_high |= (w & WORD_EACH(0x80)) != 0;
    }
    for (; p < end && !json_is_special(*p); p++)
        *has_high |= (*p & 0x80) != 0;
    return p;
}

/* Copies n < 16 bytes when a JSON string holds all of them as they are: most strings are this
 * short. They are read as two words that may overlap. False: nothing of use was written. */
static inline bool json_copy_short(char *out, const char *p, size_t n, bool *has_high)
{
    uint64_t first = WORD_EACH(' '), last = first;
    if (n >= 8) {
        memcpy(&first, p, 8);
        memcpy(&last, p + n - 8, 8);
        memcpy(out, &first, 8);
        memcpy(out + n - 8, &last, 8);
    } else if (n >= 4) {
        uint32_t left, right;
        memcpy(&left, p, 4);
        memcpy(&right, p + n - 4, 4);
        memcpy(out, &left, 4);
        memcpy(out + n - 4, &right, 4);
        first = left | (uint64_t)right << 32;
    } else if (n > 0) {
        uint8_t left = (uint8_t)p[0], middle = (uint8_t)p[n / 2], right = (uint8_t)p[n - 1];
        out[0] = (char)left;
        out[n / 2] = (char)middle;
        out[n - 1] = (char)right;
        first = (first & ~UINT64_C(0xffffff)) | left | (uint64_t)middle << 8 | right << 16;
    }
    *has_high |= ((first | last) & WORD_EACH(0x80)) != 0;
    return (json_special_word(first) | json_special_word(last)) == 0;
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
    for (uint64_t w; end - at >= 16; at += 8, out += 8) {
        memcpy(&w, at, 8);
        if (json_special_word(w))
            break;
        memcpy(out, &w, 8);
        *has_high |= (w & WORD_EACH(0x80)) != 0;
    }
    bool is_high = *has_high;
    if (end - at < 16 && json_copy_short(out, at, (size_t)(end - at), has_high)) {
        out += end - at;
        *p = end;
        return out;
    }
    *has_high = is_high;
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
