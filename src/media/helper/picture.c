#include "media/helper/picture.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int picture_check(uint32_t width, uint32_t height, struct err *e)
{
    if (width == 0 || height == 0)
        return err_set(e, -EINVAL, "it is broken or incomplete: it has no pixels");
    if (width <= PICTURE_SIDE_MAX && height <= PICTURE_SIDE_MAX &&
        (uint64_t)width * height <= PICTURE_PIXELS_MAX)
        return 0;
    return err_set(e, -EFBIG,
                   "it has %u × %u pixels; at most %u million, and %u on a side, are accepted. "
                   "Send a smaller one",
                   width, height, PICTURE_PIXELS_MAX / 1000000, PICTURE_SIDE_MAX);
}

void picture_init(struct picture *p, uint32_t width, uint32_t height)
{
    assert(width > 0 && height > 0 && (uint64_t)width * height <= PICTURE_PIXELS_MAX);
    *p = (struct picture){.width = width, .height = height};
    p->pixels = xcalloc((size_t)width * height, 4);
}

void picture_done(struct picture *p)
{
    free(p->pixels);
    *p = (struct picture){0};
}

size_t picture_stride(const struct picture *p)
{
    return (size_t)p->width * 4;
}

static size_t bytes_of(const struct picture *p)
{
    return picture_stride(p) * p->height;
}

void picture_find_alpha(struct picture *p)
{
    size_t n = bytes_of(p), i = 3;
    while (i < n && p->pixels[i] == 255)
        i += 4;
    p->has_alpha = i < n;
}

void picture_on_white(struct picture *p)
{
    size_t n = bytes_of(p);
    for (size_t i = 0; p->has_alpha && i < n; i += 4) {
        unsigned alpha = p->pixels[i + 3];
        for (size_t k = 0; k < 3; k++)
            p->pixels[i + k] = (uint8_t)((p->pixels[i + k] * alpha + 255 * (255 - alpha)) / 255);
        p->pixels[i + 3] = 255;
    }
    p->has_alpha = false;
}

/* ---- smaller ---- */

/* Part `i` of `n` equal parts of a line of `length` pixels. */
struct pixel_span {
    double from, to;
};

static struct pixel_span span_of(uint32_t i, uint32_t n, uint32_t length)
{
    return (struct pixel_span){(double)i * length / n, (double)(i + 1) * length / n};
}

/* How much of the pixel at `at` is in the span. */
static float share(struct pixel_span s, uint32_t at)
{
    double from = s.from > at ? s.from : at, to = s.to < at + 1.0 ? s.to : at + 1.0;
    return to > from ? (float)(to - from) : 0;
}

/* Adds a row to the sums, weighted; colours count as much as they are opaque. */
static void sum_row(float *sums, uint32_t n, const uint8_t *row, uint32_t length, float weight)
{
    for (uint32_t x = 0; x < n; x++) {
        struct pixel_span s = span_of(x, n, length);
        float *sum = sums + (size_t)x * 4;
        for (uint32_t at = (uint32_t)s.from; at < length && at < s.to; at++) {
            const uint8_t *pixel = row + (size_t)at * 4;
            float alpha = weight * share(s, at) * pixel[3];
            for (size_t k = 0; k < 3; k++)
                sum[k] += alpha * pixel[k];
            sum[3] += alpha;
        }
    }
}

static void put_row(uint8_t *to, uint32_t n, const float *sums, double area)
{
    for (size_t i = 0; i < (size_t)n * 4; i += 4) {
        float alpha = sums[i + 3];
        for (size_t k = 0; k < 3; k++)
            to[i + k] = alpha > 0 ? (uint8_t)(sums[i + k] / alpha + 0.5f) : 0;
        to[i + 3] = (uint8_t)(alpha / area + 0.5);
    }
}

static void shrink(const struct picture *from, struct picture *to)
{
    float *sums = xcalloc((size_t)to->width * 4, sizeof(float));
    double area = (double)from->width / to->width * ((double)from->height / to->height);
    for (uint32_t y = 0; y < to->height; y++) {
        struct pixel_span s = span_of(y, to->height, from->height);
        memset(sums, 0, (size_t)to->width * 4 * sizeof(float));
        for (uint32_t at = (uint32_t)s.from; at < from->height && at < s.to; at++)
            sum_row(sums, to->width, from->pixels + at * picture_stride(from), from->width,
                    share(s, at));
        put_row(to->pixels + y * picture_stride(to), to->width, sums, area);
    }
    free(sums);
}

void picture_fit(struct picture *p, uint32_t side)
{
    uint32_t longest = p->width > p->height ? p->width : p->height;
    struct picture small;
    assert(side > 0);
    if (longest <= side)
        return;
    uint32_t width = (uint32_t)((uint64_t)p->width * side / longest);
    uint32_t height = (uint32_t)((uint64_t)p->height * side / longest);
    picture_init(&small, width > 0 ? width : 1, height > 0 ? height : 1);
    small.has_alpha = p->has_alpha;
    shrink(p, &small);
    picture_done(p);
    *p = small;
}

/* ---- orientation ---- */

void picture_orient(struct picture *p, unsigned orientation)
{
    /* From EXIF 2.3: 5 to 8 exchange rows and columns; then it is mirrored. */
    bool is_turned = orientation >= 5;
    bool flips_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool flips_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    struct picture out;
    if (orientation < 2 || orientation > 8)
        return;
    picture_init(&out, is_turned ? p->height : p->width, is_turned ? p->width : p->height);
    out.has_alpha = p->has_alpha;
    for (uint32_t y = 0; y < out.height; y++)
        for (uint32_t x = 0; x < out.width; x++) {
            uint32_t from_x = is_turned ? y : x, from_y = is_turned ? x : y;
            from_x = flips_x ? p->width - 1 - from_x : from_x;
            from_y = flips_y ? p->height - 1 - from_y : from_y;
            memcpy(out.pixels + y * picture_stride(&out) + (size_t)x * 4,
                   p->pixels + from_y * picture_stride(p) + (size_t)from_x * 4, 4);
        }
    picture_done(p);
    *p = out;
}
