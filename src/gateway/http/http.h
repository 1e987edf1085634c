/* http.h - /mcp: http.c tells the eras apart (gateway_handle), a file for each era. */
#pragma once

#include "gateway/request.h"

/* False: r was answered with 404. The empty source exists always. */
bool gw_http_has_source(struct http_req *r, const struct gateway_caller *who, str source);

/* ---- http_legacy.c: Streamable HTTP with sessions (2025-03-26 to 2025-11-25) ---- */

void gw_legacy_post(struct gw_request *q, struct http_req *r, const struct gateway_caller *who,
                    struct json *doc);
void gw_legacy_get(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                   str source);
void gw_legacy_delete(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                      str source);

/* ---- http_modern.c: stateless requests, which contain everything (2026-07-28) ---- */

void gw_modern_post(struct gw_request *q, struct http_req *r, const struct rpc_message *m);
/* Reads the metadata that every stateless request has. False: the request was answered with an
 * error. */
bool gw_modern_accept(struct gw_request *q);

/* ---- headers.c: request headers that must equal values of the body (2026-07-28) ---- */

/* Checks Mcp-Method, Mcp-Name and Mcp-Param-*. False: *e says why. */
bool gw_headers_fit(struct gw_request *q, const struct http_req *r, struct err *e);
void gw_headers_done(struct gw_space *s);

/* ---- reply_sink_http.c: the response to a POST, which is one JSON object, or a stream as soon as
 * a message must be sent before the response ---- */

/* after this time without a message the response becomes a stream, with pings */
#define GW_QUIET_MS 5000

extern const struct reply_sink GW_OUT_HTTP;
void gw_http_sink_init(struct gw_request *q, struct http_req *r);
