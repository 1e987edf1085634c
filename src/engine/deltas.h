/* deltas.h - streamed text for watchers, at the pace that loop and watchers can keep.
 *
 * The pieces that arrive in one turn of the loop are published together at its end, so that text
 * reaches its watchers with the packet that brought it. Every frame costs each watcher one write,
 * however short it is. So what a publication cost the loop, until all frames of the turn were sent,
 * is how long the next one waits, DELTAS_REST_MS at most; below one millisecond it does not wait.
 * While a watcher does not take what it was sent, the wait is DELTAS_REST_MS. Nothing is reordered:
 * a piece of another type flushes the batch first, and code that publishes anything else calls
 * deltas_flush before. Loop thread only. */
#pragma once

#include "base/buf.h"
#include "loop/timer.h"

#define DELTAS_REST_MS   25
#define DELTAS_BYTES_MAX (64u * 1024) /* of a batch; a larger one is published immediately */

/* type: of vocabulary.h; never freed. Returns true if a watcher is behind. */
typedef bool (*deltas_fn)(void *ctx, str type, str text);

struct deltas {
    struct loop *loop;
    struct deferred turn; /* at the end of a turn with pieces: publishes them */
    struct deferred sent; /* after the frames were sent: what did that cost? */
    struct timer rest;    /* runs while pieces are collected */
    uint64_t since_us;    /* time of the last publication */
    bool is_watcher_late; /* as it said */
    struct buf waiting, spare;
    str type; /* of the collected pieces */
    deltas_fn publish;
    void *ctx;
};

void deltas_init(struct deltas *d, struct loop *l, deltas_fn publish, void *ctx);
void deltas_done(struct deltas *d); /* publishes nothing */

void deltas_add(struct deltas *d, str type, str text);
void deltas_flush(struct deltas *d);
