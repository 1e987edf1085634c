/* cache.h - what is derived from the logs used last, kept to go on from instead of
 * reading a log from its start each time.
 *
 * One catch-up per conversation runs at a time, on a reader thread; calls that arrive
 * meanwhile wait for the next one, so that each sees everything acknowledged before it was
 * made. What is appended here is derived at once, so that a log in use needs no catching up.
 * Loop thread, except for the catching up itself. */
#pragma once

#include "base/map.h"
#include "store/backend/file_store.h"

#define CACHE_CONVS_MAX    1024
#define CACHE_APPEND_BYTES (64u * 1024) /* more is left to a reader thread */

struct cache *cache_new(const struct files *f);
void cache_free(struct cache *c); /* no call may be under way */

/* Answers op (a store_get) whose path and limit are set. */
void cache_get(struct cache *c, struct store_op *op);

/* op has appended its lines: they are acknowledged and have their positions. */
void cache_append(struct cache *c, const struct store_op *op);

/* Answers op (a store_read) if that needs no file; false: read the log. */
bool cache_read(struct cache *c, struct store_op *op);

/* Forgets a conversation: deleted, replaced, or a write was taken back. */
void cache_drop(struct cache *c, str id);
