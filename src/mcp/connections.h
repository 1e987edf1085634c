/* connections.h - several connections to one server, used as one.
 *
 * A server of the older revisions that asks something back (sampling, elicitation) does not
 * say on behalf of which call. So a connection that ever did so carries one call at a time;
 * others open beside it, up to CONNECTIONS_MAX, then calls wait in order. All other servers need
 * one connection. The first connection is the main one: its loss is the loss of the whole;
 * the others come and go unnoticed. Loop thread only. */
#pragma once

#include "mcp/client.h"

#define CONNECTIONS_MAX       4
#define CONNECTIONS_QUEUE_MAX 1024
#define CONNECTIONS_IDLE_MS   60000 /* a connection beside the main one closes after so long */

struct connections;
struct connections_call; /* dies with its answer or its cancellation */

/* As mcp_open; events are those of the main connection. Requests may be made at once: they
 * wait until it is ready. */
struct connections *connections_open(struct loop *l, struct fetcher *f, const struct mcp_dial *dial,
                                     const struct mcp_host *host,
                                     const struct mcp_client_events *ev, void *ctx);
/* No new requests; those under way may end for so long, then all is closed, and `closed`
 * of the events comes. */
void connections_close(struct connections *p, uint64_t drain_ms);
void connections_abort(struct connections *p); /* at once, no callbacks */
struct mcp_client *connections_main(const struct connections *p);
size_t connections_busy(const struct connections *p); /* requests under way or waiting */

struct connections_call *connections_request(struct connections *p, const struct mcp_request *req,
                                             const struct mcp_call_events *ev,
                                             void *ctx); /* req is copied */
void connections_cancel(struct connections_call *c, const char *reason);
