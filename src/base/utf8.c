#include "base/utf8.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define REPLACEMENT 0xfffdu

/* Length of a character by its lead byte, and the range of the second byte, which is where
 * overlong forms, surrogates and values above U+10FFFF are excluded. */
struct lead {
    uint8_t len;
    uint8_t second_from, second_to;
};

static const struct lead LEADS[] = {
    {2, 0x80, 0xbf}, /* c2..df */
    {3, 0xa0, 0xbf}, /* e0 */
    {3, 0x80, 0xbf}, /* e1..ec */
    {3, 0x80, 0x9f}, /* ed */
    {3, 0x80, 0xbf}, /* ee..ef */
    {4, 0x90, 0xbf}, /* f0 */
    {4, 0x80, 0xbf}, /* f1..f3 */
    {4, 0x80, 0x8f}, /* f4 */
};

/* Which entry of LEADS a byte from 0xc0 on belongs to, counted from 1; 0 = none. */
static const uint8_t LEAD_OF[64] = {
    [0x02 ... 0x1f] = 1, [0x20] = 2, [0x21 ... 0x2c] = 3, [0x2d] = 4,
    [0x2e ... 0x2f] = 5, [0x30] = 6, [0x31 ... 0x33] = 7, [0x34] = 8,
};

static inline const struct lead *find_lead(uint8_t c)
{
    uint8_t index = c >= 0xc0 ? LEAD_OF[c - 0xc0] : 0;
    return index ? &LEADS[index - 1] : NULL;
}

static bool is_continuation(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

/* Length of the well-formed start of a character at s.p (at least 1), and in *ret_whole
 * whether that is a whole character. */
static inline size_t scan_char(str s, bool *ret_whole)
{
    const uint8_t *p = (const uint8_t *)s.p;
    *ret_whole = p[0] < 0x80;
    const struct lead *lead = find_lead(p[0]);
    if (!lead)
        return 1;
    if (s.n < 2 || p[1] < lead->second_from || p[1] > lead->second_to)
        return 1;
    size_t n = 2;
    while (n < lead->len && n < s.n && is_continuation(p[n]))
        n++;
    *ret_whole = n == lead->len;
    return n;
}

/* Length of the run of ASCII at p, eight bytes at a time. */
static inline size_t ascii_run(const char *p, size_t n)
{
    size_t i = 0;
    for (uint64_t w; n - i >= sizeof(w); i += sizeof(w)) {
        memcpy(&w, p + i, sizeof(w));
        w = le64toh(w) & UINT64_C(0x8080808080808080);
        if (w)
            return i + (size_t)__builtin_ctzll(w) / 8;
    }
    while (i < n && (uint8_t)p[i] < 0x80)
        i++;
    return i;
}

size_t utf8_valid_prefix(str s)
{
    size_t at = 0;
    while (at < s.n) {
        at += ascii_run(s.p + at, s.n - at);
        while (at < s.n && (uint8_t)s.p[at] >= 0x80) {
            bool whole;
            size_t len = scan_char(str_make(s.p + at, s.n - at), &whole);
            if (!whole)
                return at;
            at += len;
        }
    }
    return at;
}

bool utf8_valid(str s)
{
    return utf8_valid_prefix(s) == s.n;
}

/* All bytes but those that continue a character: bit 7 set and bit 6 not. The product adds
 * up the eight bytes in the highest one. */
size_t utf8_count(str s)
{
    size_t i = 0, n = s.n;
    for (uint64_t w; s.n - i >= sizeof(w); i += sizeof(w)) {
        memcpy(&w, s.p + i, sizeof(w));
        w = (w & ~(w << 1)) >> 7 & UINT64_C(0x0101010101010101);
        n -= w * UINT64_C(0x0101010101010101) >> 56;
    }
    for (; i < s.n; i++)
        n -= is_continuation((uint8_t)s.p[i]);
    return n;
}

str utf8_truncate(str s, size_t max_bytes)
{
    if (s.n <= max_bytes)
        return s;
    /* Step back over at most three continuation bytes: no character has more. */
    size_t end = max_bytes;
    while (end > 0 && max_bytes - end < 3 && is_continuation((uint8_t)s.p[end]))
        end--;
    bool whole;
    size_t len = scan_char(str_skip(s, end), &whole);
    if (is_continuation((uint8_t)s.p[end]) || !whole || end + len <= max_bytes)
        end = max_bytes;
    return str_slice(s, 0, end);
}

size_t utf8_decode(str s, uint32_t *ret_cp)
{
    if (s.n == 0)
        return 0;
    bool whole;
    size_t len = scan_char(s, &whole);
    if (!whole)
        return 0;
    const uint8_t *p = (const uint8_t *)s.p;
    uint32_t cp = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        cp = cp << 6 | (p[i] & 0x3fu);
    *ret_cp = cp;
    return len;
}

int utf8_encode(struct buf *b, uint32_t cp)
{
    if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        cp = REPLACEMENT;
    if (cp < 0x80)
        return buf_add_char(b, (char)cp);
    size_t len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    char out[4];
    for (size_t i = len - 1; i > 0; i--, cp >>= 6)
        out[i] = (char)(0x80 | (cp & 0x3f));
    out[0] = (char)((0xf00u >> len & 0xff) | cp);
    return buf_add(b, out, len);
}

int utf8_sanitise(struct buf *b, str s)
{
    while (s.n > 0 && !buf_failed(b)) {
        size_t good = utf8_valid_prefix(s);
        (void)buf_add(b, s.p, good);
        s = str_skip(s, good);
        if (s.n == 0)
            break;
        bool whole;
        s = str_skip(s, scan_char(s, &whole));
        (void)utf8_encode(b, REPLACEMENT);
    }
    return buf_failed(b) ? -ENOBUFS : 0;
}
