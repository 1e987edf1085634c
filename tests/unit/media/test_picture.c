#include <errno.h>

#include "media/helper/picture.h"
#include "support/unit.h"

/* Each pixel says where it was. */
static void make_marked(struct picture *p, uint32_t width, uint32_t height)
{
    picture_init(p, width, height);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            memcpy(p->pixels + y * picture_stride(p) + (size_t)x * 4,
                   (uint8_t[]){(uint8_t)x, (uint8_t)y, 0, 255}, 4);
}

static const uint8_t *pixel(const struct picture *p, uint32_t x, uint32_t y)
{
    return p->pixels + y * picture_stride(p) + (size_t)x * 4;
}

TEST(sizes_are_checked_before_there_are_pixels)
{
    static const struct {
        uint32_t width, height;
        int code;
    } CASES[] = {
        {1, 1, 0},
        {8064, 6048, 0},
        {0, 5, -EINVAL},
        {5, 0, -EINVAL},
        {100000, 100000, -EFBIG},
        {PICTURE_SIDE_MAX + 1, 1, -EFBIG},
        {UINT32_MAX, UINT32_MAX, -EFBIG},
        {10000, 5001, -EFBIG},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct err e = {0};
        assert_int_equal(picture_check(CASES[i].width, CASES[i].height, &e), CASES[i].code);
        assert_int_equal(e.msg[0] != 0, CASES[i].code < 0);
    }
}

/* Where the pixel of the upper left corner, column 0 and row 0, is afterwards. */
TEST(a_picture_is_turned_as_its_orientation_says)
{
    static const struct {
        unsigned orientation;
        bool is_turned;
        uint32_t x, y; /* of 3 x 2 */
    } CASES[] = {{1, false, 0, 0}, {2, false, 2, 0}, {3, false, 2, 1}, {4, false, 0, 1},
                 {5, true, 0, 0},  {6, true, 1, 0},  {7, true, 1, 2},  {8, true, 0, 2},
                 {0, false, 0, 0}, {9, false, 0, 0}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct picture p;
        make_marked(&p, 3, 2);
        picture_orient(&p, CASES[i].orientation);
        assert_int_equal(p.width, CASES[i].is_turned ? 2 : 3);
        assert_int_equal(p.height, CASES[i].is_turned ? 3 : 2);
        const uint8_t *corner = pixel(&p, CASES[i].x, CASES[i].y);
        assert_int_equal(corner[0], 0);
        assert_int_equal(corner[1], 0);
        picture_done(&p);
    }
}

TEST(a_smaller_picture_has_the_averages)
{
    struct picture p;
    make_marked(&p, 4, 2); /* columns 0 1 2 3, rows 0 1 */
    picture_fit(&p, 2);
    assert_int_equal(p.width, 2);
    assert_int_equal(p.height, 1);
    assert_int_equal(pixel(&p, 0, 0)[0], 1); /* of 0 and 1, rounded */
    assert_int_equal(pixel(&p, 1, 0)[0], 3);
    assert_int_equal(pixel(&p, 0, 0)[3], 255);
    picture_done(&p);
    make_marked(&p, 5, 3);
    picture_fit(&p, 5);
    assert_int_equal(p.width, 5);
    picture_done(&p);
    make_marked(&p, 255, 1); /* a side never becomes 0 */
    picture_fit(&p, 10);
    assert_int_equal(p.height, 1);
    picture_done(&p);
}

TEST(transparent_pixels_do_not_darken_their_neighbours)
{
    struct picture p;
    picture_init(&p, 2, 1);
    memcpy(p.pixels, (uint8_t[]){200, 100, 50, 255, 0, 0, 0, 0}, 8);
    picture_find_alpha(&p);
    assert_true(p.has_alpha);
    picture_fit(&p, 1);
    assert_memory_equal(p.pixels, ((uint8_t[]){200, 100, 50, 128}), 4);
    picture_on_white(&p);
    assert_false(p.has_alpha);
    assert_int_equal(p.pixels[3], 255);
    assert_true(p.pixels[0] > 200);
    picture_done(&p);
}
