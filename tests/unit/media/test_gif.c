#include <errno.h>

#include "media/helper/gif.h"
#include "support/unit.h"

/* 2 x 2 pixels, colours 0 1 2 3 of four: red, green, blue, white. Codes of three bits: 4 clears, 5
 * ends; 4 0 1, 4 2 3, 5. */
#define HEAD    "GIF89a\2\0\2\0\x81\0\0\xff\0\0\0\xff\0\0\0\xff\xff\xff\xff"
#define CONTROL "\x21\xf9\4\1\0\0\3\0" /* colour 3 is transparent */
#define COMMENT "\x21\xfe\3abc\0"
#define FRAME   "\x2c\0\0\0\0\2\0\2\0\0\2"
#define DATA    "\3\x44\xa8\x15\0"
#define END     "\x3b"

static int decode(str file, struct picture *p)
{
    struct err e = {0};
    return gif_decode(file, p, &e);
}

TEST(the_first_frame_is_drawn)
{
    static const uint8_t SEEN[] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 0, 0, 0, 0};
    struct picture p;
    assert_int_equal(decode(STR(HEAD COMMENT CONTROL FRAME DATA END), &p), 0);
    assert_int_equal(p.width, 2);
    assert_memory_equal(p.pixels, SEEN, sizeof SEEN);
    picture_done(&p);
}

TEST(a_frame_may_be_larger_than_the_canvas_or_beside_it)
{
    struct picture p;
    assert_int_equal(decode(STR(HEAD "\x2c\1\0\1\0\2\0\2\0\0\2" DATA END), &p), 0);
    assert_int_equal(p.pixels[3], 0); /* not drawn */
    assert_memory_equal(p.pixels + 12, ((uint8_t[]){255, 0, 0, 255}), 4);
    picture_done(&p);
}

TEST(broken_files_have_no_pixels)
{
    static const str CASES[] = {
        STR_INIT(""),
        STR_INIT("GIF89a"),
        STR_INIT(HEAD),
        STR_INIT(HEAD END),
        STR_INIT(HEAD FRAME),
        STR_INIT(HEAD FRAME "\3\x44\xa8"),
        STR_INIT(HEAD FRAME "\0" END),
        STR_INIT(HEAD "\x2c\0\0\0\0\2\0\2\0\0\x0c" DATA END), /* codes of 12 bits at once */
        STR_INIT(HEAD FRAME "\1\xff\0" END),                  /* a code that is not known yet */
        STR_INIT(HEAD "\x2c\0\0\0\0\0\0\2\0\0\2" DATA END),   /* no width */
        STR_INIT("GIF89a\0\0\2\0\0\0\0" FRAME DATA END),
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct picture p;
        assert_int_equal(decode(CASES[i], &p), -EINVAL);
    }
}

TEST(large_ones_are_refused_by_their_header)
{
    struct picture p;
    assert_int_equal(decode(STR("GIF89a\xff\xff\xff\xff\0\0\0" FRAME DATA END), &p), -EFBIG);
    assert_int_equal(decode(STR(HEAD "\x2c\0\0\0\0\xff\xff\xff\xff\0\2" DATA END), &p), -EFBIG);
}
