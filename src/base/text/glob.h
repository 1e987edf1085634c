/* glob.h - glob patterns: `*` matches any run of characters, everything else is literal, anchored
 * at both ends. At worst linear in the product of the lengths; no recursion. */
#pragma once

#include "base/str.h"

bool glob_match(str pattern, str s);
