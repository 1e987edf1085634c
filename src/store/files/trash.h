/* trash.h - deletes conversations of the jsonl store, and restores them.
 *
 * A deleted log is moved to <dir>/trash/<epoch ms>-<id>.jsonl with its blobs beside it, and is
 * purged after TRASH_DAYS, when a store is opened. Each move is synced. */
#pragma once

#include "store/backend/backend.h"

#define TRASH_DAYS  7
#define TRASH_DEPTH 2 /* of the tree of an entry */

void trash_remove(struct store_op *op);  /* store_ops.remove */
void trash_restore(struct store_op *op); /* store_ops.restore */

void trash_list(struct store_op *op); /* store_ops.list_trash */

const char *trash_log(struct store_op *op, int64_t when); /* file_layout.trash_log */

/* Starts purging expired conversations; does nothing without a trash directory. */
void trash_sweep(struct store *s);

/* ---- shared with the folder store ---- */

const char *trash_dir(const struct store *s, struct arena *a);
/* When the newest conversation of this id in the trash was deleted that the viewer may manage; -1 =
 * none. Blocking. */
int64_t trash_newest_own(struct store_op *op);
/* The trash has the id of a new conversation, which is refused then in the words for an id that is
 * in use: nobody is told whose it is, nor that it is in the trash. Blocking. */
bool trash_has_id(struct store_op *op);
void trash_purge(struct store_op *op);  /* op_run: all of this id that the viewer may manage */
void trash_removed(struct log_task *t); /* `done` of a removal; a purge goes on in the trash */
void trash_purge_expired(struct store_op *op);
void trash_start_sweep(struct store *s, void (*work)(struct store_op *op)); /* op_run */
