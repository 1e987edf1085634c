/* picture.h - whether a picture may go to a model, and as what.
 *
 * APIs refuse the whole request when a picture is not what its MIME type says, so the bytes
 * decide, not the label that a tool put on them. Pure. */
#pragma once

#include "base/str.h"

#define PICTURE_BASE64_MAX (10u * 1024 * 1024)

/* The MIME type of base64 data that models take (png, jpeg, gif, webp), or the empty slice
 * with the reason in *ret_problem. */
str picture_mime(str base64, const char **ret_problem);
