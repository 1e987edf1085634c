/* picture.h - checks whether a picture can be sent to a model, and finds its MIME type.
 *
 * APIs refuse the whole request when a picture does not match its MIME type, so the bytes decide,
 * not the type that a tool claims. Pure. */
#pragma once

#include "base/str.h"

#define PICTURE_BASE64_MAX (10u * 1024 * 1024)

/* The MIME type of base64 data that models accept (png, jpeg, gif, webp), or the empty slice
 * with the reason in *ret_problem. */
str picture_mime(str base64, const char **ret_problem);
