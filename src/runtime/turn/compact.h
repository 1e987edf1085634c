/* compact.h - long conversations made short for the model; the log stays as it is.
 *
 * When the messages fill most of what the model can take, or its provider refused them as
 * too long, the older ones are summarised by a model call, and an event history.compacted is
 * appended. From then on the context is: the summary, what the user said (verbatim, bounded),
 * and the newest messages. */
#pragma once

#include "runtime/turn/turn.h"

#define COMPACT_TRIGGER_PERCENT 70 /* of the input budget: compact */
#define COMPACT_KEEP_PERCENT    35 /* of it stays verbatim */
#define COMPACT_KEEP_MESSAGES   4  /* at least */

/* Calls `then` when the turn may go on: at once if there is nothing to do. A compaction that
 * fails is logged and changes nothing. */
void compact_if_needed(struct turn *t, void (*then)(struct turn *t));
bool compact_is_due(struct turn *t);  /* whether there is something to do */
void compact_abandon(struct turn *t); /* goes on without, at once; nothing under way is fine */
