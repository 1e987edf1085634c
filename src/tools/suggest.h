/* suggest.h - what a wrong tool name may have meant. */
#pragma once

#include "tools/toolset.h"

#define SUGGEST_MAX 5

/* Up to SUGGEST_MAX items, best first: names that contain the wanted one or are contained
 * in it, then names few letters away. Internal tools are never suggested, admin tools only
 * to admins. Returns how many. */
size_t suggest_tools(const struct toolset *t, str wanted, bool is_admin,
                     const struct toolset_item *out[SUGGEST_MAX]);
