/* reply_sink_http.h - the response to a POST: one JSON object, or a stream as soon as a message
 * must be sent before the response. */
#pragma once

#include "gateway/request.h"

/* after this time without a message the response becomes a stream, with pings */
#define GW_QUIET_MS 5000

extern const struct reply_sink GW_OUT_HTTP;
void gw_http_sink_init(struct gw_request *q, struct http_req *r);
