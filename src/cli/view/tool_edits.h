/* tool_edits.h - what a call of a tool does to files, by the name of the tool and the arguments
 * that the model wrote: a description, never a decision. Pure. */
#pragma once

#include "base/json/json.h"

const char *tool_kind(str tool); /* a ToolKind of the Agent Client Protocol: "edit", "read" ... */

/* The n-th path among the arguments, as it was written; empty when there are fewer. */
str tool_path(const struct json *input, size_t n);
bool tool_path_is_likely(str s);

struct tool_edit {             /* a part of a file that is replaced, or a file that is written */
    const struct json *before; /* a string; NULL = not known */
    str after;
};

#define TOOL_EDITS_MAX 64

/* The changes of the first path, borrowed from the input; their number. */
size_t tool_edits(str tool, const struct json *input, struct tool_edit ret[TOOL_EDITS_MAX]);
