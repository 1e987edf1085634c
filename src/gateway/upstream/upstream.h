/* upstream.h - a request on its way to a bundle (struct upstream_call).
 *
 * The request uses one of three connections:
 *
 *   shared              the bundle's connection for everybody (u->shared)
 *   session_connection  the session's own, when the client has a session and can be asked
 *   private_connection  for this call alone, when a stateless client can be asked (u->own)
 *
 * A server of the older revisions does not say for which request it asks a question. The last two
 * connections exist for this reason: every question on them has only one possible recipient.
 *
 * States of a call. u->q is the client's request that gets the response:
 *
 *             +-- private connection is busy: u->wait --+
 *             |                                         v
 *   started --+------------------------------------> sent --- response ---> delivered, freed
 *                                                    |  ^
 *                         server asks a question     |  | client repeats its request
 *                         (private connection only)  v  | with answers (take_up)
 *                                                 suspended: u->q NULL
 *                                                    |  +-- response arrives: kept in u->kept
 *                                                    v      until the client repeats
 *                                                 cancelled and freed: expired, evicted, access or
 *                                                 workspace ended, bundle removed
 *
 * Ownership: the gateway's space lists every call (space->ups, by `all`). The call owns its private
 * connection until release_way. Exactly one of these frees a call: upstream_call_deliver,
 * upstream_call_cancel, upstream_call_free. Callers must not use `u` after a function that may free
 * it.
 *
 * Order of callbacks: any number of on_progress, on_logged, on_ask and on_ask_gone, then one
 * on_done; after a cancellation, none. Loop thread only. */
#pragma once

#include "gateway/request.h"
#include "gateway/upstream/private_connections.h"
#include "mcp/client.h"

struct session_connection;

/* Handles the response; it gets exactly one of result and error, or neither when the connection
 * failed. */
typedef void (*upstream_fn)(struct gw_request *q, struct bundle *b, const struct mcp_reply *r);

struct gw_question { /* asked by the server, not yet answered by the client */
    struct list_node node;
    struct mcp_ask *ask;
    char key[24];
};

struct upstream_call {
    struct list_node node;    /* in space->suspended */
    struct list_node sibling; /* in session_connection->ups */
    struct list_node all;     /* in space->ups */
    struct gateway *g;
    struct gw_space *space;
    struct gw_request *q; /* NULL while the call is suspended */
    struct bundle *bundle;
    upstream_fn done;
    enum mcp_era era;

    struct bundle_call *shared;
    struct mcp_call *call;
    struct session_connection *session_connection;
    struct private_connection *own;
    struct private_wait wait;

    struct list_node questions;
    unsigned next_key;
    /* a ping: when its reply arrives, the questions are sent to the client */
    struct mcp_call *settling;
    uint64_t suspended_ms;
    struct timer expiry;
    char handle[33];
    char *user_id;
    struct arena arena; /* holds `kept` */
    struct mcp_reply *kept;
};

/* Sends q->params in their current form, and replies to q with the bundle's response. */
void gw_upstream_forward(struct gw_request *q, struct bundle *b);
/* The same, but `done` handles the response. */
void gw_upstream_ask(struct gw_request *q, struct bundle *b, upstream_fn done);
/* The bundle is being removed. */
void gw_upstream_bundle_gone(struct gw_space *s, struct bundle *b);

/* ---- for suspended_calls.c ---- */

/* cancels it at the server and frees it */
void upstream_call_cancel(struct upstream_call *u, const char *why);
void upstream_call_deliver(struct upstream_call *u,
                           const struct mcp_reply *r); /* to u->q; frees u */
void upstream_call_attach(struct upstream_call *u, struct gw_request *q);
