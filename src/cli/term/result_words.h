/* result_words.h - the result of a tool call as text for a terminal.
 *
 * `call` is a tool.done event of a stream, or a call of the history: {ok, output, parts?}. The text
 * is foreign: it still passes text.h before it is printed. Pure. */
#pragma once

#include "base/json/json.h"

/* The text of the result; of a command what it printed, without colours, after its exit code if
 * that is not 0. Pictures and the like are named with type and size. */
str result_words(struct arena *a, const struct json *call);
/* False too for a command that ended with another exit code than 0. */
bool result_is_ok(const struct json *call);
