/* Any bytes as a picture: what is read without a library (GIF, PPM, EXIF data, the frames of a
 * WebP) stays inside the bytes, and a picture that is accepted has the size that was checked. */
#include <assert.h>
#include <stdlib.h>

#include "media/helper/gif.h"
#include "media/helper/headers.h"
#include "media/helper/ppm.h"

#define SMALL 200000u /* pixels; larger ones only take time */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_gif(str file)
{
    struct picture p;
    struct err e = {0};
    uint32_t width = file.n < 10 ? 0 : (uint8_t)file.p[6] | (uint32_t)(uint8_t)file.p[7] << 8;
    uint32_t height = width == 0 ? 0 : (uint8_t)file.p[8] | (uint32_t)(uint8_t)file.p[9] << 8;
    if ((uint64_t)width * height > SMALL)
        return;
    if (gif_decode(file, &p, &e) < 0) {
        assert(e.msg[0]);
        return;
    }
    assert(p.width == width && p.height == height);
    picture_find_alpha(&p);
    picture_fit(&p, 64);
    assert(p.width <= 64 && p.height <= 64);
    picture_orient(&p, (unsigned)(file.n % 10));
    picture_on_white(&p);
    picture_done(&p);
}

static void check_ppm(str file)
{
    struct picture p;
    struct err e = {0};
    if (ppm_decode(file, &p, &e) < 0) {
        assert(e.msg[0]);
        return;
    }
    assert(ppm_is(file) && (size_t)p.width * p.height * 3 < file.n);
    picture_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1); /* exactly as long, so that reading further is noticed */
    memcpy(copy, data, size);
    str file = str_make(copy, size);
    unsigned orientation = headers_orientation(file);
    assert(orientation >= 1 && orientation <= 8);
    str frame = headers_webp_frame(file);
    assert(frame.n <= size &&
           (frame.n == 0 || (frame.p >= copy && frame.p + frame.n <= copy + size)));
    check_gif(file);
    check_ppm(file);
    free(copy);
    return 0;
}
