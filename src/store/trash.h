/* trash.h - deleting conversations of the jsonl store, and taking them back.
 *
 * A deleted log goes to <dir>/trash/<epoch ms>-<id>.jsonl with its blobs beside it, and is
 * purged TRASH_DAYS later, when a store is opened. Each move is synced. */
#pragma once

#include "store/backend.h"

#define TRASH_DAYS 7

void trash_remove(struct store_op *op);  /* store_ops.remove */
void trash_restore(struct store_op *op); /* store_ops.restore */

/* Starts purging what is due, and what crashes left behind (files that never became part of
 * a conversation). Does nothing where there is nothing to look at. */
void trash_sweep(struct store *s);
