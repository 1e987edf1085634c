/* usage_event.h - records the usage of model calls that are not part of a run. */
#pragma once

#include "base/arena.h"
#include "store/store.h"

/* aux.usage, one line. source: "title", "compaction", "delegate". */
str usage_event(struct arena *a, const char *source, str model, const struct conv_usage *u,
                uint64_t ms);
/* The same, with additional members: keys end with NULL. */
str usage_event_with(struct arena *a, const char *source, str model, const struct conv_usage *u,
                     uint64_t ms, const char *const *keys, const str *values);
