/* rebuild.h - builds the model requests of a stored conversation again, from its log alone.
 *
 * Nothing is sent. The request of every response in the log is built by the same functions as in a
 * live run, and its SHA-256 is compared with the one that was recorded when it was sent. A run
 * that resumes another run after an answer must also have its setting: model,
 * skill, limits, system prompt and tools. Blocking: `get_blob` reads files. */
#pragma once

#include "llm/call/outline.h"
#include "llm/llm.h"
#include "runtime/runtime.h"

enum rebuild_verdict {
    REBUILD_EQUAL,
    REBUILD_DIFFERENT,
    REBUILD_UNKNOWN, /* nothing was recorded: an old log, or a run that was cut off */
};

#define REBUILD_DIFFERENCES_MAX 16 /* differences reported per request */

struct rebuilt {
    str run_id, model, recorded_sha256;
    char rebuilt_sha256[65];
    int iteration; /* of the run, from 1 */
    size_t nmessages;
    str body; /* what would be sent */
    enum rebuild_verdict verdict;
    str why; /* for REBUILD_UNKNOWN; for REBUILD_DIFFERENT when no single part differs */
    struct outline_difference differences[REBUILD_DIFFERENCES_MAX]; /* REBUILD_DIFFERENT */
    size_t ndifferences;
};

/* Bytes of a blob, in the arena, or 0 - errno. */
typedef int (*rebuild_blob_fn)(void *ctx, struct arena *a, str sha256, str *ret, struct err *e);

/* Calls fn for each model call of the log, in order; what it gets is borrowed. */
void rebuild_requests(struct llm *llm, const str *lines, size_t n, rebuild_blob_fn get_blob,
                      void (*fn)(void *ctx, const struct rebuilt *r), void *ctx);
