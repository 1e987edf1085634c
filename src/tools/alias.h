/* alias.h - older names of tools that are still accepted in calls, and never listed. */
#pragma once

#include "base/json/json.h"

/* The current name for an older one, or `name` itself. Some old tools had several functions: the
 * arguments (may be NULL) tell which one is meant. */
str tool_alias(str name, const struct json *args);
