/* word.h - eight bytes at a time: questions about all bytes of a uint64_t. */
#pragma once

#include <stdint.h>

/* A word with the byte `c` in all eight places. */
#define WORD_EACH(c) (UINT64_C(0x0101010101010101) * (uint8_t)(c))

/* Not 0 when a byte of `w` is below `limit` (at most 0x80), or equal to `c`. Bytes above the
 * lowest hit may be marked wrongly: this tells whether there is one, not where. */
static inline uint64_t word_below(uint64_t w, uint8_t limit)
{
    return (w - WORD_EACH(limit)) & ~w & WORD_EACH(0x80);
}

static inline uint64_t word_equal(uint64_t w, char c)
{
    return word_below(w ^ WORD_EACH(c), 1);
}

/* Not 0 when a byte of `w` is not a printable ASCII character. */
static inline uint64_t word_unprintable(uint64_t w)
{
    return (w & WORD_EACH(0x80)) | word_below(w, 0x20) | word_equal(w, 0x7f);
}
