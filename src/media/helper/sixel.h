/* sixel.h - a picture as sixels (DEC VT340), for terminals that say that they show them. Pure; it
 * runs in the helper process, which has decoded the picture. */
#pragma once

#include "base/buf.h"
#include "media/helper/helper.h"
#include "media/helper/picture.h"

#define SIXEL_TYPE    "image/x-sixel"
#define SIXEL_COLOURS 255u

/* Appends the sequence: at most SIXEL_COLOURS colours, which are chosen from the picture; pixels
 * that are more than half transparent are left out. -EFBIG: `to` has no room. */
int sixel_write(const struct picture *p, struct buf *to, struct err *e);
