/* http_legacy.h - Streamable HTTP with sessions (2025-03-26 to 2025-11-25). */
#pragma once

#include "gateway/request.h"

void gw_legacy_post(struct gw_request *q, struct http_req *r, const struct gateway_caller *who,
                    struct json *doc);
void gw_legacy_get(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                   str source);
void gw_legacy_delete(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                      str source);
