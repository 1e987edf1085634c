/* suggest.h - similar names for an unknown tool name. */
#pragma once

#include "tools/toolset.h"

#define SUGGEST_MAX 5

/* Up to SUGGEST_MAX items, best first: names that contain the wanted name or are contained in it,
 * then names with a small edit distance. Internal tools are never suggested, admin tools only to
 * admins. Returns the number of items. */
size_t suggest_tools(const struct toolset *t, str wanted, bool is_admin,
                     const struct toolset_item *out[SUGGEST_MAX]);
