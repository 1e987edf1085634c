/* http.h - /mcp: tells the eras apart (gateway_handle). */
#pragma once

#include "gateway/gateway.h"

/* False: r was answered with 404. The empty source exists always. */
bool gw_http_has_source(struct http_req *r, const struct gateway_caller *who, str source);
