/* trash.h - deletes conversations of the jsonl store, and restores them.
 *
 * A deleted log is moved to <dir>/trash/<epoch ms>-<id>.jsonl with its blobs beside it, and is
 * purged after TRASH_DAYS, when a store is opened. Each move is synced. */
#pragma once

#include "store/backend/backend.h"

#define TRASH_DAYS 7

void trash_remove(struct store_op *op);  /* store_ops.remove */
void trash_restore(struct store_op *op); /* store_ops.restore */

/* May the viewer of op manage the conversation whose log is at `path`? Reads the whole log, because
 * the last metadata is valid. Only the operator may manage a log that cannot be read. Blocking. */
bool trash_may_manage(const struct store_op *op, const char *path);

/* Starts purging expired conversations; does nothing without a trash directory. */
void trash_sweep(struct store *s);
