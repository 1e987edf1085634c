/* request_log.h - what a model call was given besides the messages, kept for replay.
 *
 * The messages of a request follow from the log. The system prompt and the tool list do not:
 * they are stored as blobs beside the log, and an event llm.request names them when they
 * differ from what the run used before. It goes in front of the run's next append, which waits for
 * the blobs to be durable unless they are known to be there. The call itself does not wait. */
#pragma once

#include "runtime/turn/turn.h"

void tools_memo_done(struct tools_memo *m);

/* Called for every step, with what the model is about to get. */
void request_log_note(struct turn *t, int iteration, const struct run_input *in);

/* The turn waits no more for what is under way: a run that was cancelled has to end now, because
 * its log may be about to go. What its model was given stays unrecorded then. */
void request_log_forget(struct turn *t);

/* The blob of a system prompt or a tool list (empty when it is too large), and back. */
str request_system_json(struct arena *a, const struct run_input *in);
str request_tools_json(struct arena *a, const struct run_input *in);
int request_system_parse(struct arena *a, str json, struct run_input *ret);
int request_tools_parse(struct arena *a, str json, struct run_input *ret);
