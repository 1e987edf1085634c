/* picture.h - pixels in memory, and what the media helper does with them. Pure.
 *
 * A pixel has four bytes: red, green, blue, alpha. Everything here runs in the helper process
 * (helper.h), never in the server. */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* A photo of 48 megapixels fits. Checked before pixels are decoded. */
#define PICTURE_PIXELS_MAX 50000000u
#define PICTURE_SIDE_MAX   60000u

struct picture {
    uint32_t width, height;
    bool has_alpha;  /* some pixel is not opaque */
    uint8_t *pixels; /* heap */
};

/* -EFBIG with the size in words; -EINVAL for a side of 0. */
int picture_check(uint32_t width, uint32_t height, struct err *e);

/* Transparent black. The size has passed picture_check. */
void picture_init(struct picture *p, uint32_t width, uint32_t height);
void picture_done(struct picture *p);

size_t picture_stride(const struct picture *p); /* bytes of a row */
void picture_find_alpha(struct picture *p);     /* sets has_alpha */
void picture_on_white(struct picture *p);       /* makes it opaque */

/* Shrinks it so that no side is longer than `side`; each new pixel is the average of the area that
 * it covers. A picture that is small enough stays as it is. */
void picture_fit(struct picture *p, uint32_t side);
/* Turns and mirrors it, so that it looks right without its EXIF orientation (1 to 8). */
void picture_orient(struct picture *p, unsigned orientation);
