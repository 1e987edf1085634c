/* compare.h - does a copy of a conversation have the same events as its original?
 *
 * Both logs are read page by page and compared by hashes, with large results in place and without
 * hash chains and positions, which each store makes itself. A copy may have events behind those of
 * the original: conversions complete it with what was in no event, and people continue it. Loop
 * thread. */
#pragma once

#include "store/store.h"

enum compare_result {
    COMPARE_SAME,    /* the copy begins with all events of the original */
    COMPARE_PARTIAL, /* the original begins with all events of the copy, and has more */
    COMPARE_DIFFERENT,
};

typedef void (*compare_fn)(void *ctx, const struct err *err, enum compare_result result);

/* created_ms: of the original, for events without a time. */
void compare_logs(struct store *original, struct store *copy, str id, int64_t created_ms,
                  compare_fn fn, void *ctx);
