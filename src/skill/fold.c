#include "base/utf8.h"
#include "skill/skill.h"

/* Simple lower-casing as Unicode has it, one character to one. `step` 1 means that upper
 * and lower case alternate in pairs that start at `first`. */
struct case_range {
    uint32_t first, last;
    uint32_t step;
    int32_t delta;
};

static const struct case_range CASE_RANGES[] = {
    {0x00c0, 0x00d6, 0, 32},   {0x00d8, 0x00de, 0, 32},   {0x0100, 0x012f, 1, 1},
    {0x0130, 0x0130, 0, -199}, {0x0132, 0x0137, 1, 1},    {0x0139, 0x0148, 1, 1},
    {0x014a, 0x0177, 1, 1},    {0x0178, 0x0178, 0, -121}, {0x0179, 0x017e, 1, 1},
    {0x0386, 0x0386, 0, 38},   {0x0388, 0x038a, 0, 37},   {0x038c, 0x038c, 0, 64},
    {0x038e, 0x038f, 0, 63},   {0x0391, 0x03a1, 0, 32},   {0x03a3, 0x03ab, 0, 32},
    {0x0400, 0x040f, 0, 80},   {0x0410, 0x042f, 0, 32},   {0x0460, 0x0481, 1, 1},
    {0x048a, 0x04bf, 1, 1},    {0x04d0, 0x052f, 1, 1},    {0x1e00, 0x1e95, 1, 1},
    {0x1ea0, 0x1eff, 1, 1},
};

static uint32_t lower_cp(uint32_t cp)
{
    for (size_t i = 0; i < ARRAY_LEN(CASE_RANGES); i++) {
        const struct case_range *r = &CASE_RANGES[i];
        if (cp < r->first)
            return cp;
        if (cp > r->last)
            continue;
        if (r->step && (cp - r->first) % 2 != 0)
            return cp;
        return (uint32_t)((int32_t)cp + r->delta);
    }
    return cp;
}

str skill_fold(struct arena *a, str s)
{
    struct buf out;
    buf_init(&out, 3 * s.n + 1); /* an invalid byte becomes U+FFFD, three bytes */
    while (s.n > 0) {
        uint32_t cp;
        size_t n = utf8_decode(s, &cp);
        char c = s.p[0];
        if (n == 1)
            buf_add_char(&out, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
        else
            utf8_encode(&out, n ? lower_cp(cp) : 0xfffd);
        s = str_skip(s, n ? n : 1);
    }
    return buf_keep(&out, a);
}
