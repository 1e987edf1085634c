/* ledger.h - the usage and cost of deleted conversations.
 *
 * Before a conversation is deleted, the figures of its model calls are appended to
 * <dir>/.deleted-usage, one JSON line each: time, model, tokens, user. The file holds no text of
 * the conversation. The usage of a restored conversation is in its log again: readers of the
 * ledger must ignore ids that exist, and for an id that was deleted several times all deletions
 * except the last. Memory stores have no ledger. */
#pragma once

#include "store/backend/backend.h"

#define LEDGER_PAGE (1024u * 1024) /* bytes of one ledger_read */

/* Both are blocking, for op_run. A full disk must not prevent deleting, so a ledger that cannot be
 * written is only a warning. */
void ledger_keep(struct store_op *op);
void ledger_read(struct store_op *op); /* op->out.blob */
