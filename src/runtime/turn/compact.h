/* compact.h - shortens long conversations for the model; the log keeps all messages.
 *
 * When the messages fill most of the model's input budget, or its provider refused them as too
 * long, a model call summarises the older ones, and an event history.compacted is appended. From
 * then on the model's context is: the summary, the user's messages (verbatim, bounded), and the
 * newest messages. */
#pragma once

#include "runtime/turn/turn.h"

#define COMPACT_TRIGGER_PERCENT 70 /* of the input budget: compact */
#define COMPACT_KEEP_PERCENT    35 /* of it stays verbatim */
#define COMPACT_KEEP_MESSAGES   4  /* at least */

bool compact_is_due(struct turn *t);
/* When it is due. Calls `then` exactly once, later. A compaction that fails is logged and changes
 * nothing. */
void compact_start(struct turn *t, void (*then)(struct turn *t));
void compact_abandon(struct turn *t); /* calls `then` now, without a summary; may be idle */
