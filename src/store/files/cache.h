/* cache.h - the derived properties of recently used conversations, so that a log need not be read
 * from its start each time.
 *
 * One catch-up per conversation runs at a time, on a reader thread. Calls that arrive meanwhile
 * wait for the next one, so that each call sees everything acknowledged before it was made. Lines
 * that this process appends are derived immediately, so that a log in use needs no catch-up. Loop
 * thread, except for the catch-up itself. */
#pragma once

#include "base/map.h"
#include "store/backend/file_store.h"

#define CACHE_CONVS_MAX    1024
#define CACHE_APPEND_BYTES (64u * 1024) /* larger appends are left to a reader thread */

struct cache *cache_new(const struct files *f);
void cache_free(struct cache *c); /* no call may be under way */

/* Completes op, a store_get whose path and limit are set. */
void cache_get(struct cache *c, struct store_op *op);

/* op has created its log, or appended its lines: they are acknowledged and their positions are
 * set. */
void cache_create(struct cache *c, struct store_op *op);
void cache_append(struct cache *c, const struct store_op *op);

/* Completes op, a store_read, if that needs no file; false: read the log. */
bool cache_read(struct cache *c, struct store_op *op);

/* Drops a conversation: it was deleted or replaced, or a write was undone. */
void cache_drop(struct cache *c, str id);
