/* transcript_cache.h - transcripts kept between the turns of a conversation, so that a long history
 * is not read and parsed again for every message.
 *
 * Only a proposal: whoever takes one compares it with the log first (transcript_catch_up).
 * The least recently used go when there are too many, or too many bytes. Whoever took a
 * transcript owns it until it is given back. Loop thread only. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "runtime/history/transcript.h"

#define TRANSCRIPT_CACHE_MAX       512
#define TRANSCRIPT_CACHE_ONE_BYTES (4u * 1024 * 1024) /* longer ones are read again, in pages */
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
/* Takes it over; frees it at once when it is too long, or not to be trusted. */
void transcript_cache_give(struct transcript_cache *r, str conversation_id, struct transcript *t);
/* A look at one that nobody has taken; NULL when there is none. */
struct transcript *transcript_cache_peek(const struct transcript_cache *r, str conversation_id);
