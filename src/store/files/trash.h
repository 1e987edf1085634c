/* trash.h - deleting conversations of the jsonl store, and taking them back.
 *
 * A deleted log goes to <dir>/trash/<epoch ms>-<id>.jsonl with its blobs beside it, and is
 * purged TRASH_DAYS later, when a store is opened. Each move is synced. */
#pragma once

#include "store/backend/backend.h"

#define TRASH_DAYS 7

void trash_remove(struct store_op *op);  /* store_ops.remove */
void trash_restore(struct store_op *op); /* store_ops.restore */

/* May who asks manage the conversation whose log lies at `path`? Reads the whole log: the last
 * metadata counts. What cannot be read is the operator's alone. Blocking. */
bool trash_may_manage(const struct store_op *op, const char *path);

/* Starts purging what is due; does nothing where nothing was ever deleted. */
void trash_sweep(struct store *s);
