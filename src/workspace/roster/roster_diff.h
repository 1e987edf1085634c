/* roster_diff.h - what is different between two rosters, as a list of items in the order in which
 * they should be heard: who loses something first. Pure. */
#pragma once

#include "workspace/roster/directory.h"

typedef void (*news_fn)(void *ctx, const struct directory_item *item);

void news_tell(const struct roster *before, const struct roster *after, news_fn fn, void *ctx);
