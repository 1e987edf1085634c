/* ledger.h - what deleted conversations have cost.
 *
 * Before a conversation goes, the figures of its model calls are appended to
 * <dir>/.deleted-usage, one JSON line each: time, model, tokens, who. No words of the conversation
 * are in it. A conversation that was taken back counts by its own log again: whoever reads the
 * ledger leaves out the ids that exist, and of one that was deleted several times all but the
 * last. Stores in memory keep none. */
#pragma once

#include "store/backend/backend.h"

#define LEDGER_PAGE (1024u * 1024) /* read at one go */

/* Both are blocking, for op_run. A full disk must not keep anybody from deleting: a ledger that
 * cannot be written is a warning. */
void ledger_keep(struct store_op *op);
void ledger_read(struct store_op *op); /* op->out.blob */
