/* feed.h - a conversation's events from a position on: first from the log, then live.
 *
 * It subscribes to the bus before it reads the log, so that no event is missed in between, and
 * drops events at positions that it has already delivered, so that no event is delivered twice.
 * Ephemeral messages (deltas, typing) are delivered only when the feed is live; those of a run on
 * another server a moment later, when they cannot belong in front of lines that were delivered.
 * Loop thread only. */
#pragma once

#include "store/store.h"

struct feed;

struct feed_events {
    void (*on_event)(void *ctx, store_pos pos, str line);
    void (*on_ephemeral)(void *ctx, struct bus_msg *msg);
    void (*on_live)(void *ctx);  /* the log is read; called once, and again after a reset */
    void (*on_reset)(void *ctx); /* the position does not exist any more: the feed restarts at 0 */
    void (*on_end)(void *ctx, const struct err *err); /* deleted or unreadable; the feed is freed */
    /* Called instead of on_event for events from the bus, so that all feeds of a conversation can
     * share the result of processing a message. NULL = on_event is called. */
    void (*on_live_event)(void *ctx, struct bus_msg *msg);
};

/* after: deliver events past this position; STORE_FEED_TAIL: only new ones. */
#define STORE_FEED_TAIL UINT64_MAX
struct feed *feed_open(struct store *s, str id, store_pos after, const struct feed_events *ev,
                       void *ctx);
/* Delivers what is published from this call on, ephemeral messages included. The log is not read
 * and on_live is not called. */
struct feed *feed_open_live(struct store *s, str id, const struct feed_events *ev, void *ctx);
void feed_close(struct feed *f); /* no callback afterwards */
