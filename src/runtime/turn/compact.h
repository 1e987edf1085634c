/* compact.h - shortens long conversations for the model; the log keeps all messages.
 *
 * When the messages fill most of the model's input budget, are very many, their provider refused
 * them as too long, or the sender wants it, a model call summarises the older ones, and an event
 * history.compacted is appended. From then on the model's context is: the summary, the user's
 * messages (verbatim, bounded), and the newest messages; and a turn reads no more of the log than
 * that.
 *
 * If there is no summary, the next turn tries again. A conversation that is too long to wait for
 * that is cut: the event is appended with a note in place of the summary, and the reason. */
#pragma once

#include "runtime/turn/turn.h"

#define COMPACT_TRIGGER_PERCENT   70   /* of the input budget: compact */
#define COMPACT_KEEP_PERCENT      35   /* of it stays verbatim */
#define COMPACT_KEEP_MESSAGES     4    /* at least */
#define COMPACT_KEEP_MESSAGES_MAX 200  /* at most, if a user's message is there to begin with */
#define COMPACT_MESSAGES          1000 /* more: compact, however short they are */
#define COMPACT_MESSAGES_MAX      2000 /* more, or more than the input budget: cut, if need be */

bool compact_is_due(struct turn *t);
/* False when no compaction is due; else calls `then` exactly once, later. */
bool compact_start(struct turn *t, void (*then)(struct turn *t));
void compact_abandon(struct turn *t); /* calls `then` now, without a summary; may be idle */
