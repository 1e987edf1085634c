/* jsonc.h - JSON with comments and trailing commas, as editors write it.
 *
 * Comments and superfluous commas are replaced by spaces, so that lines and columns in messages of
 * the parser stay correct. Strings are not changed. Pure; any thread. */
#pragma once

#include "base/arena.h"

str jsonc_to_json(struct arena *a, str text);
