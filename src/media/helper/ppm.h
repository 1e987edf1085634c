/* ppm.h - the plain pixels that pdftoppm writes: "P6", width, height, 255, then three bytes for
 * each pixel. Only this form, and only complete: it is a format between two programs of one call,
 * not one that people give. Pure. */
#pragma once

#include "media/helper/picture.h"

#define PPM_TYPE "image/x-portable-pixmap"

bool ppm_is(str file);
/* -EINVAL: anything else, or a byte too many or too few; -EFBIG. */
int ppm_decode(str file, struct picture *ret, struct err *e);
