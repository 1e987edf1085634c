/* alias.h - older names of tools that are still accepted in calls, and never listed. */
#pragma once

#include "base/json/json.h"

/* The name in use today for an older one, or `name` itself. Some old tools did several
 * jobs: the arguments (may be NULL) then say which. */
str tool_alias(str name, const struct json *args);
