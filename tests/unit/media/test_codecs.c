#include <errno.h>

#include "media/helper/codecs.h"
#include "support/unit.h"

#define FILE_MAX (64u * 1024)

static void load(struct codecs *c, const char *mime)
{
    struct err e = {0};
    if (codecs_load(c, str_from(mime), &e) < 0)
        fail_msg("%s", e.msg);
}

static void make_red(struct picture *p, uint32_t width, uint32_t height)
{
    picture_init(p, width, height);
    for (size_t i = 0; i < picture_stride(p) * height; i += 4)
        memcpy(p->pixels + i, (uint8_t[]){255, 0, 0, 255}, 4);
}

/* Writes a red picture and reads it again. */
static void there_and_back(const char *mime, uint32_t side, uint32_t width)
{
    struct codecs c;
    struct picture p, back;
    struct buf file;
    struct err e = {0};
    load(&c, mime);
    make_red(&p, 64, 32);
    buf_init(&file, FILE_MAX);
    bool is_png = strcmp(mime, "image/png") == 0;
    assert_int_equal(is_png ? codecs_write_png(&c, &p, FILE_MAX, &file, &e)
                            : codecs_write_jpeg(&c, &p, 90, FILE_MAX, &file, &e),
                     0);
    assert_int_equal(codecs_decode(&c, str_from(mime), buf_str(&file), side, &back, &e), 0);
    assert_int_equal(back.width, width);
    assert_true(back.pixels[0] > 250 && back.pixels[1] < 5 && back.pixels[3] == 255);
    picture_done(&back);
    /* every beginning of it is refused, or is a whole picture */
    for (size_t n = 0; n < file.n; n += 7) {
        str cut = str_slice(buf_str(&file), 0, n);
        if (codecs_decode(&c, str_from(mime), cut, side, &back, &e) == 0)
            picture_done(&back);
    }
    picture_done(&p);
    buf_done(&file);
}

TEST(a_png_is_written_and_read)
{
    there_and_back("image/png", 16, 64);
}

TEST(a_jpeg_is_read_smaller_when_it_will_be_shrunk)
{
    there_and_back("image/jpeg", 64, 64);
    there_and_back("image/jpeg", 16, 16);
}

TEST(results_have_a_ceiling)
{
    struct codecs c;
    struct picture p;
    struct buf file;
    struct err e = {0};
    load(&c, "image/gif");
    make_red(&p, 64, 64);
    buf_init(&file, FILE_MAX);
    assert_int_equal(codecs_write_png(&c, &p, 40, &file, &e), -EFBIG);
    assert_int_equal(codecs_write_jpeg(&c, &p, 90, 40, &file, &e), -EFBIG);
    assert_int_equal(file.n, 0);
    picture_done(&p);
    buf_done(&file);
}

TEST(other_types_are_refused)
{
    struct codecs c;
    struct picture p;
    struct err e = {0};
    load(&c, "image/webp");
    assert_non_null(c.webp.WebPGetInfo);
    assert_int_equal(codecs_decode(&c, STR("image/tiff"), STR("II*"), 10, &p, &e), -EINVAL);
    assert_int_equal(codecs_decode(&c, STR("image/webp"), STR("RIFF"), 10, &p, &e), -EINVAL);
}
