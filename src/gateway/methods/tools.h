/* tools.h - tools/list and tools/call. */
#pragma once

#include "gateway/request.h"

void gw_tools_list(struct gw_request *q);
void gw_tools_call(struct gw_request *q);
/* Finds the tool that a name means to this caller, or NULL; ret: the bundle that has it, or
 * NULL. */
const struct toolset_item *gw_tools_find(struct gw_request *q, str name,
                                         struct bundle **ret_bundle);
