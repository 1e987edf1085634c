/* events.h - the lines a run writes into the log, one builder per event type.
 *
 * Pure: values in, one line of JSON out (in the arena). "ts" is left to the store. */
#pragma once

#include "engine/run.h"

str event_run_start(struct arena *a, str run_id, str model, str user_id, str skill);
str event_llm_response(struct arena *a, str run_id, const struct llm_result *r);
/* Text that had arrived when the run was cancelled. */
str event_llm_partial(struct arena *a, str run_id, str model, str text);
str event_tool_start(struct arena *a, str run_id, str id, str name, str args);
str event_tool_done(struct arena *a, str run_id, str id, str name, const struct tool_result *r,
                    uint64_t ms);
str event_run_done(struct arena *a, str run_id, enum run_stop stop, int iterations, uint64_t ms);
str event_run_error(struct arena *a, str run_id, const char *type, str message, str partial);
str event_user_message(struct arena *a, str user_id, str text);
