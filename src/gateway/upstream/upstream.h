/* upstream.h - a request on its way to a bundle.
 *
 * It goes over the connection that everybody shares, over one of the session's own, or over a
 * c that is its alone while it lasts. It may outlive the client's request: what a stateless
 * client is asked, it answers with another request (suspended_calls.c). */
#pragma once

#include "gateway/internal.h"

struct session_connection;

struct gw_question { /* asked by the server, not yet answered by the client */
    struct list_node node;
    struct mcp_ask *ask;
    char key[24];
};

struct upstream_call {
    struct list_node node;    /* in space->suspended */
    struct list_node sibling; /* in instance->ups */
    struct list_node all;     /* in space->ups */
    struct gateway *g;
    struct gw_space *space;
    struct gw_request *q; /* NULL while it waits for its client */
    struct bundle *bundle;
    upstream_fn done;
    enum mcp_era era;

    struct bundle_call *shared;
    struct connections_call *call;
    struct session_connection *session_connection;
    struct private_connection *own;
    struct private_wait wait;

    struct list_node questions;
    unsigned next_key;
    struct mcp_call *settling; /* a ping: the questions go to the client when it is answered */
    uint64_t suspended_ms;
    struct timer expiry;
    char handle[33];
    char *user_id;
    struct arena arena; /* of a reply that nobody was there for */
    struct mcp_reply *kept;
};

void upstream_call_free(struct upstream_call *u);
void upstream_call_cancel(struct upstream_call *u, const char *why); /* and frees it */
void upstream_call_failed(struct upstream_call *u, const struct err *e);
void upstream_call_deliver(struct upstream_call *u,
                           const struct mcp_reply *r); /* to the request it has; frees it */
void upstream_call_attach(struct upstream_call *u, struct gw_request *q);

/* ---- suspended_calls.c ---- */

void suspended_question(struct upstream_call *u, struct mcp_ask *a);
void suspended_question_gone(struct upstream_call *u, struct mcp_ask *a);
void suspended_keep(struct upstream_call *u,
                    const struct mcp_reply *r); /* until the client is back */
void suspended_done(struct upstream_call *u);
/* The answer to a server that wants an address opened first (-32042). */
void suspended_addresses(struct gw_request *q, const struct json *elicitations);
