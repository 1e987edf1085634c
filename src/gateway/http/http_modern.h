/* http_modern.h - stateless requests, which contain everything (protocol revision 2026-07-28). */
#pragma once

#include "gateway/request.h"

void gw_modern_post(struct gw_request *q, struct http_req *r, const struct rpc_message *m);
/* Reads the metadata that every stateless request has. False: the request was answered with an
 * error. */
bool gw_modern_accept(struct gw_request *q);
