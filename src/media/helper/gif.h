/* gif.h - the first picture of a GIF. Pure; for the media helper. */
#pragma once

#include "media/helper/picture.h"

/* -EINVAL: broken or cut off; -EFBIG. */
int gif_decode(str file, struct picture *ret, struct err *e);
