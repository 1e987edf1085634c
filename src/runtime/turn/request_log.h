/* request_log.h - records the input of model calls besides the messages, for replay.
 *
 * The messages of a request follow from the log. The system prompt and the tool list do not:
 * they are
 * stored as shared blobs, and an event llm.request names them when they differ from the
 * last request of the run. The event is written in front of the run's next append, which waits
 * until the blobs are durable, unless they are known to exist. The model call itself does not
 * wait. */
#pragma once

#include "runtime/turn/turn.h"

void tools_memo_done(struct tools_memo *m);

/* Called for every step, with the input of the model call. */
void request_log_note(struct turn *t, int iteration, const struct run_input *in);

/* The turn stops waiting for blobs in progress: a cancelled run has to end now, because its log may
 * be deleted soon. The input of its last model call is not recorded then. */
void request_log_forget(struct turn *t);
void request_log_end(struct turn *t); /* of the turn: its appends are done */

/* A blob of a system prompt or of a tool list as part of a model's input. */
int request_system_parse(struct arena *a, str json, struct run_input *ret);
int request_tools_parse(struct arena *a, str json, struct run_input *ret);
