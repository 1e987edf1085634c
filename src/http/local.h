/* local.h - a request to the handlers of a server without a connection.
 *
 * For the process that has a server but no listener: what it asks and what it is told are the
 * same as over the Unix socket, and the request counts as having come from there. Streams
 * (sse_open) need a connection: do not ask for them here. Loop thread only. */
#pragma once

#include "http/server.h"

struct http_local_ask {
    const char *method;
    str target; /* "/v1/conversations?limit=5", percent-encoded as on the wire */
    str body;
};

/* `type` may be NULL; all is borrowed for the time of the call. */
typedef void (*http_local_fn)(void *ctx, int status, const char *type, str body);

/* Calls fn exactly once, never before it returns. The server must not be freed before. */
void http_local(struct http_server *s, const struct http_local_ask *q, http_local_fn fn, void *ctx);
