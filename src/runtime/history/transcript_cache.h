/* transcript_cache.h - transcripts kept between the turns of a conversation, so that a long history
 * is not read and parsed again for every message.
 *
 * A cached transcript may be outdated: compare it with the log first (transcript_catch_up). The
 * least recently used ones are freed when there are too many, or too many bytes. The taker owns a
 * transcript until it gives it back. Loop thread only. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "runtime/history/transcript.h"

#define TRANSCRIPT_CACHE_MAX       512
#define TRANSCRIPT_CACHE_ONE_BYTES (4u * 1024 * 1024) /* longer ones are read again */
#define TRANSCRIPT_CACHE_ALL_BYTES (16u * 1024 * 1024)

struct transcript_cache {
    struct map entries;   /* conversation id -> entry */
    struct list_node lru; /* least recently used first */
    size_t bytes;
};

void transcript_cache_init(struct transcript_cache *r);
void transcript_cache_done(struct transcript_cache *r);

/* NULL when there is none. */
struct transcript *transcript_cache_take(struct transcript_cache *r, str conversation_id);
/* Takes ownership; frees it immediately when it is too long, or when an append failed. */
void transcript_cache_give(struct transcript_cache *r, str conversation_id, struct transcript *t);
