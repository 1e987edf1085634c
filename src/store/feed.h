/* feed.h - a conversation's events from a position on: first from the log, then live.
 *
 * Subscribes to the bus before it reads, so that the hand-over has no gap, and drops by
 * position what it has already delivered, so that nothing comes twice. Ephemeral messages
 * (deltas, typing) are passed on only once the feed is live. Loop thread only. */
#pragma once

#include "store/store.h"

struct feed;

struct feed_events {
    void (*on_event)(void *ctx, store_pos pos, str line);
    void (*on_ephemeral)(void *ctx, struct bus_msg *msg);
    void (*on_live)(void *ctx);  /* caught up; called once, and again after a reset */
    void (*on_reset)(void *ctx); /* the position does not exist any more: starts over at 0 */
    void (*on_end)(void *ctx, const struct err *err); /* deleted or unreadable; feed is gone */
    /* Instead of on_event for what comes from the bus, so that all feeds of a conversation can
     * share what they make of a message; NULL = on_event gets that too. */
    void (*on_live_event)(void *ctx, struct bus_msg *msg);
};

/* after: deliver events past this position; STORE_FEED_TAIL: only new ones. */
#define STORE_FEED_TAIL UINT64_MAX
struct feed *feed_open(struct store *s, str id, store_pos after, const struct feed_events *ev,
                       void *ctx);
void feed_close(struct feed *f); /* no callback afterwards */
