/* connections.h - several connections to one server, used as one.
 *
 * When a server of the older revisions sends a request of its own (sampling, elicitation), the
 * request does not name the call that it belongs to. So after the first such request each
 * connection carries one call at a time; more connections are opened, up to CONNECTIONS_MAX, and
 * further calls wait in order. All other servers need one connection. The first connection is the
 * main one: when it is lost, the whole is lost; the others open and close without notice. The
 * states are explained in client/connections.c. Loop thread only. */
#pragma once

#include "mcp/client.h"

#define CONNECTIONS_MAX       4
#define CONNECTIONS_QUEUE_MAX 1024
#define CONNECTIONS_IDLE_MS   60000 /* then a connection other than the main one closes */

struct connections;

/* As mcp_open; the events are those of the main connection. Requests may be made immediately: they
 * wait until the main connection is ready. */
struct connections *connections_open(struct loop *l, struct fetcher *f, const struct mcp_dial *dial,
                                     const struct mcp_host *host,
                                     const struct mcp_client_events *ev, void *ctx);
/* Refuses new requests. Requests in progress have drain_ms to end; then everything is closed, and
 * `closed` of the events follows. */
void connections_close(struct connections *p, uint64_t drain_ms);
void connections_abort(struct connections *p); /* immediately, no callbacks */
struct mcp_client *connections_main(const struct connections *p);

/* As mcp_request; cancelled with mcp_cancel. */
struct mcp_call *connections_request(struct connections *p, const struct mcp_request *req,
                                     const struct mcp_call_events *ev, void *ctx);
