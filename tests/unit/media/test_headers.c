#include "media/helper/headers.h"
#include "support/unit.h"

#define TIFF_LITTLE(value)                                                                         \
    "II*\0\x08\0\0\0\2\0\x0f\1\2\0\1\0\0\0\0\0\0\0\x12\1\3\0\1\0\0\0" value "\0\0\0"
#define TIFF_BIG(value) "MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0" value "\0\0"

TEST(the_orientation_is_found_in_each_format)
{
    static const struct {
        str file;
        unsigned orientation;
    } CASES[] = {
        {STR_INIT("\xff\xd8\xff\xe0\0\4xx\xff\xe1\0\x2a"
                  "Exif\0\0" TIFF_LITTLE("\6")),
         6},
        {STR_INIT("\xff\xd8\xff\xe1\0\x22"
                  "Exif\0\0" TIFF_BIG("\3")),
         3},
        {STR_INIT("\x89PNG\r\n\x1a\n\0\0\0\1IHDRx....\0\0\0\x22"
                  "eXIf" TIFF_LITTLE("\5")),
         5},
        {STR_INIT("RIFF....WEBPVP8X\1\0\0\0x\0EXIF\x22\0\0\0" TIFF_LITTLE("\x08")), 8},
        {STR_INIT("RIFF....WEBPEXIF\x28\0\0\0Exif\0\0" TIFF_LITTLE("\2")), 2},
        {STR_INIT("\xff\xd8\xff\xe1\0\x2a"
                  "Exif\0\0" TIFF_LITTLE("\x09")),
         1}, /* no such one */
        {STR_INIT("\xff\xd8\xff\xe1\0\x2a"
                  "Exif\0\0"
                  "II*\0\xff\xff\xff\xff"),
         1},
        {STR_INIT("\xff\xd8\xff\xda\0\4xx\xff\xe1\0\x2a"
                  "Exif\0\0" TIFF_LITTLE("\6")),
         1},
        {STR_INIT("\xff\xd8\xff\xe1\0\0"), 1},
        {STR_INIT("\xff\xd8"), 1},
        {STR_INIT("\x89PNG\r\n\x1a\n\xff\xff\xff\xffIHDR"), 1},
        {STR_INIT("RIFF....WEBPVP8X\xff\xff\xff\xff"), 1},
        {STR_INIT("GIF89a"), 1},
        {STR_INIT(""), 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_int_equal(headers_orientation(CASES[i].file), CASES[i].orientation);
}

TEST(the_first_frame_of_an_animation_is_found)
{
    str still = STR("RIFF....WEBPVP8 \1\0\0\0x");
    assert_true(str_eq(headers_webp_frame(still), still));
    str moving = STR("RIFF....WEBPANIM\0\0\0\0ANMF\x14\0\0\0................VP8 ");
    assert_true(str_eq(headers_webp_frame(moving), STR("VP8 ")));
    str empty = STR("RIFF....WEBPANMF\4\0\0\0....");
    assert_true(str_eq(headers_webp_frame(empty), empty));
}
