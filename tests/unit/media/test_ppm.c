#include <errno.h>

#include "media/helper/ppm.h"
#include "support/unit.h"

static int decode(str file, struct picture *p)
{
    struct err e = {0};
    int rc = ppm_decode(file, p, &e);
    assert_true(rc == 0 || e.msg[0]);
    return rc;
}

TEST(pixels_are_opaque_and_in_their_order)
{
    struct picture p;
    assert_int_equal(decode(STR("P6\n2 1\n255\nabcdef"), &p), 0);
    assert_int_equal(p.width, 2);
    assert_int_equal(p.height, 1);
    assert_memory_equal(p.pixels,
                        "abc\xff"
                        "def\xff",
                        8);
    picture_done(&p);
}

TEST(anything_else_is_refused)
{
    static const str BAD[] = {
        STR_INIT(""),
        STR_INIT("P6\n"),
        STR_INIT("P5\n2 1\n255\nabcdef"),
        STR_INIT("P6\n2 1\n255\nabcde"),
        STR_INIT("P6\n2 1\n255\nabcdefg"),
        STR_INIT("P6\n2 1\n65535\nabcdef"),
        STR_INIT("P6\n# comment\n2 1\n255\nabcdef"),
        STR_INIT("P6\n2  1\n255\nabcdef"),
        STR_INIT("P6\n-2 1\n255\nabcdef"),
        STR_INIT("P6\n0 1\n255\n"),
        STR_INIT("P6\n4294967297 1\n255\nabc"),
    };
    struct picture p;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(decode(BAD[i], &p), -EINVAL);
    assert_int_equal(decode(STR("P6\n50000 50000\n255\nabc"), &p), -EFBIG);
    assert_true(ppm_is(STR("P6\n2 1\n255\nabcdef")));
    assert_false(ppm_is(STR("P6 2 1 255 abcdef")));
}
