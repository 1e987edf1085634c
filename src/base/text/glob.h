/* glob.h - the seed's globs: `*` matches any run of characters, everything else is literal,
 * anchored at both ends. Linear in the product of the lengths at worst; no recursion. */
#pragma once

#include "base/str.h"

bool glob_match(str pattern, str s);
