/* headers.h - request headers that must equal values of the body (protocol revision 2026-07-28). */
#pragma once

#include "gateway/request.h"

/* Checks Mcp-Method, Mcp-Name and Mcp-Param-*. False: *e says why. */
bool gw_headers_fit(struct gw_request *q, const struct http_req *r, struct err *e);
void gw_headers_done(struct gw_space *s);
