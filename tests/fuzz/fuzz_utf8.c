/* fuzz_utf8.c - the fast validator beside a slow one that computes each code point. */
#include <assert.h>

#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint32_t SMALLEST[] = {0, 0, 0x80, 0x800, 0x10000};

/* Length of the character at p by the definition: decode first, judge afterwards. */
static size_t slow_char(const uint8_t *p, size_t n)
{
    size_t ones = 0;
    while (ones < 8 && p[0] & (0x80u >> ones))
        ones++;
    if (ones == 0)
        return 1;
    if (ones == 1 || ones > 4 || ones > n)
        return 0;
    uint32_t cp = p[0] & (0x7fu >> ones);
    for (size_t i = 1; i < ones; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        cp = cp << 6 | (p[i] & 0x3fu);
    }
    bool is_surrogate = cp >= 0xd800 && cp <= 0xdfff;
    return cp < SMALLEST[ones] || cp > 0x10ffff || is_surrogate ? 0 : ones;
}

static size_t slow_prefix(str s)
{
    size_t at = 0;
    for (size_t len; at < s.n; at += len) {
        len = slow_char((const uint8_t *)s.p + at, s.n - at);
        if (len == 0)
            break;
    }
    return at;
}

static void check_characters(str s)
{
    struct buf again;
    buf_init(&again, s.n);
    for (size_t at = 0; at < s.n;) {
        uint32_t cp = 0;
        size_t len = utf8_decode(str_skip(s, at), &cp);
        assert(len > 0 && utf8_width(cp) >= 0 && utf8_width(cp) <= 2);
        assert(utf8_encode(&again, cp) == 0);
        at += len;
    }
    assert(str_eq(buf_str(&again), s));
    buf_done(&again);
}

static void check_cuts(str s)
{
    bool valid = utf8_valid(s);
    for (size_t max = 0; max <= s.n && max < 64; max++) {
        str cut = utf8_truncate(s, max);
        assert(cut.n <= max && cut.n + 3 >= max);
        assert(!valid || utf8_valid(cut));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str s = str_make((const char *)data, size);
    size_t good = utf8_valid_prefix(s);
    assert(good == slow_prefix(s));
    assert(utf8_valid(s) == (good == s.n));
    check_characters(str_slice(s, 0, good));
    check_cuts(s);

    struct buf clean;
    buf_init(&clean, 3 * size);
    assert(utf8_sanitise(&clean, s) == 0);
    assert(utf8_valid(buf_str(&clean)));
    assert(!utf8_valid(s) || str_eq(buf_str(&clean), s));
    buf_done(&clean);
    return 0;
}
