/* headers.h - what the libraries do not tell about a picture, read from its file. Pure. */
#pragma once

#include "base/str.h"

/* The orientation that EXIF data of a JPEG, PNG or WebP names, 1 to 8; 1 when there is none. */
unsigned headers_orientation(str file);

/* The chunks of the first frame of an animated WebP; the file itself when it has no frames. */
str headers_webp_frame(str file);
