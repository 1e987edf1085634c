/* roster_diff.h - the differences between two rosters, as items: losses of access first, so that
 * observers end streams and runs before they handle anything new. Pure. */
#pragma once

#include "workspace/roster/directory.h"

typedef void (*roster_diff_fn)(void *ctx, const struct directory_item *item);

void roster_diff(const struct roster *before, const struct roster *after, roster_diff_fn fn,
                 void *ctx);
