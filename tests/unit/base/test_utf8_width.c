#include "base/utf8.h"
#include "support/unit.h"

TEST(narrow)
{
    static const uint32_t cps[] = {' ',    'a',    '~',     0xa0,    0xe4,   0x416,
                                   0x5d0,  0x2026, 0x20ac,  0x2500,  0x25cf, 0x2713,
                                   0x303f, 0xfffd, 0x1f321, 0x10ffff};
    for (size_t i = 0; i < ARRAY_LEN(cps); i++)
        assert_int_equal(utf8_width(cps[i]), 1);
}

TEST(zero)
{
    static const uint32_t cps[] = {0,      0x1b,   0x7f,   0x9f,   0xad,   0x300,
                                   0x36f,  0x5bf,  0x64b,  0x94d,  0xe31,  0x200b,
                                   0x200d, 0x20e3, 0x3099, 0xfe0f, 0xfeff, 0xe0001};
    for (size_t i = 0; i < ARRAY_LEN(cps); i++)
        assert_int_equal(utf8_width(cps[i]), 0);
}

TEST(wide)
{
    static const uint32_t cps[] = {0x1100,  0x231a,  0x2705,  0x3000,  0x3042, 0x30a2,
                                   0x4e2d,  0x9fff,  0xac00,  0xd7a3,  0xff01, 0x1f600,
                                   0x1f680, 0x1f914, 0x1fae0, 0x20000, 0x2a6df};
    for (size_t i = 0; i < ARRAY_LEN(cps); i++)
        assert_int_equal(utf8_width(cps[i]), 2);
}
