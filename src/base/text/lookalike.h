/* lookalike.h - names that a person takes for one another.
 *
 * Two names look alike when their skeletons are equal. A skeleton has lower-case ASCII letters
 * where the name has letters that are drawn the same (Cyrillic, Greek, full-width and
 * mathematical letters; 0 for o; 1, i and | for l; rn for m; vv for w), and nothing where the
 * name has characters that are not drawn at all. Pure; any thread. */
#pragma once

#include "base/arena.h"

/* Separators ('-', '_', '.', '/', spaces) are dropped as well, unless has_separators is set; then
 * each run of them is one '-'. Invalid bytes become '?'. */
str lookalike_skeleton(struct arena *a, str name, bool has_separators);

/* The skeletons without separators are equal. */
bool lookalike_eq(struct arena *a, str x, str y);
