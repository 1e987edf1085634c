/* local.h - a request to the handlers of a server without a connection.
 *
 * For a process that has a server but no listener. Request and response are the same as over the
 * Unix socket, and the request is treated as if it came from there. Streams (sse_open) need a
 * connection and do not work here. Loop thread only. */
#pragma once

#include "http/server.h"

struct http_local_ask {
    const char *method;
    str target; /* "/v1/conversations?limit=5", percent-encoded as on the wire */
    str body;
};

/* `type` may be NULL; all is borrowed for the time of the call. */
typedef void (*http_local_fn)(void *ctx, int status, const char *type, str body);

/* Calls fn exactly once, never before it returns. The server must not be freed before that. */
void http_local(struct http_server *s, const struct http_local_ask *q, http_local_fn fn, void *ctx);
