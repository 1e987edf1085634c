/* report.h - a finished turn as JSON, the same for API, page and terminal. */
#pragma once

#include "runtime/runtime.h"

/* {response, conversationId, runId, skillName, toolCalls, inputTokens, outputTokens,
 * stopReason, usage{...}} */
void report_write(struct json_writer *w, const struct turn_result *t);
