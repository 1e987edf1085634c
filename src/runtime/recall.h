/* recall.h - transcripts kept between the turns of a conversation, so that a long history is
 * not read and parsed again for every message.
 *
 * Only a proposal: whoever takes one compares it with the log first (transcript_catch_up).
 * The least recently used go when there are too many, or too many bytes. Whoever took a
 * transcript owns it until it is given back. Loop thread only. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "runtime/transcript.h"

#define RECALL_MAX       512
#define RECALL_ONE_BYTES (4u * 1024 * 1024) /* longer ones are read again, in pages */
#define RECALL_ALL_BYTES (16u * 1024 * 1024)

struct recall {
    struct map entries;   /* conversation id -> entry */
    struct list_node lru; /* least recently used first */
    size_t bytes;
};

void recall_init(struct recall *r);
void recall_done(struct recall *r);

/* NULL when there is none. */
struct transcript *recall_take(struct recall *r, str conversation_id);
/* Takes it over; frees it at once when it is too long, or not to be trusted. */
void recall_give(struct recall *r, str conversation_id, struct transcript *t);
/* A look at one that nobody has taken; NULL when there is none. */
struct transcript *recall_peek(const struct recall *r, str conversation_id);
