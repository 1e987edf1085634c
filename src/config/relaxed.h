/* relaxed.h - settings as people write them, made strict JSON.
 *
 * A byte order mark, comments (// and slash-star) and a comma before a closing bracket are replaced
 * by spaces, so that the line and column of an error stay those of the file. Pure. */
#pragma once

#include "base/arena.h"

/* The text itself when nothing is replaced, else a copy in the arena. *ret_has_comments (may be
 * NULL): more than a byte order mark was replaced, and would be lost if the file were rewritten. */
str relaxed_json(struct arena *a, str text, bool *ret_has_comments);
