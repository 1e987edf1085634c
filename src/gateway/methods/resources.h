/* resources.h - the resources of all bundles, with the addresses that their servers gave them.
 *
 * Addresses are not rewritten, because they also occur inside results. The bundle of an address is
 * found in the lists, then by the templates; if neither has it, the servers are tried in turn. */
#pragma once

#include "gateway/request.h"

void gw_list_entries(struct gw_request *q); /* resources, templates, prompts */
void gw_resources_read(struct gw_request *q);
/* The bundle that a URI belongs to; NULL: unknown, the caller tries each bundle in turn. */
void gw_resources_route(struct gw_request *q, str uri,
                        void (*fn)(struct gw_request *q, str uri, struct bundle *b));
