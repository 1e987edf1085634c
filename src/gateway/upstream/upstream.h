/* upstream.h - a request on its way to a bundle.
 *
 * It goes over the connection that everybody shares, over one of the session's own, or over a
 * lane that is its alone while it lasts. It may outlive the client's request: what a stateless
 * client is asked, it answers with another request (park.c). */
#pragma once

#include "gateway/internal.h"

struct gw_instance;

struct gw_question { /* asked by the server, not yet answered by the client */
    struct list_node node;
    struct mcp_ask *ask;
    char key[24];
};

struct gw_up {
    struct list_node node;    /* in space->parked */
    struct list_node sibling; /* in instance->ups */
    struct list_node all;     /* in space->ups */
    struct gateway *g;
    struct gw_space *space;
    struct gw_request *q; /* NULL while it waits for its client */
    struct bundle *bundle;
    upstream_fn done;
    enum mcp_era era;

    struct bundle_call *shared;
    struct lanes_call *call;
    struct gw_instance *instance;
    struct gw_lane *lane;
    struct gw_lane_wait wait;

    struct list_node questions;
    unsigned next_key;
    struct mcp_call *settling; /* a ping: the questions go to the client when it is answered */
    uint64_t parked_ms;
    struct timer expiry;
    char handle[33];
    char *user_id;
    struct arena arena; /* of a reply that nobody was there for */
    struct mcp_reply *kept;
};

void gw_up_free(struct gw_up *u);
void gw_up_cancel(struct gw_up *u, const char *why); /* and frees it */
void gw_up_failed(struct gw_up *u, const struct err *e);
void gw_up_deliver(struct gw_up *u,
                   const struct mcp_reply *r); /* to the request it has; frees it */
void gw_up_attach(struct gw_up *u, struct gw_request *q);

/* ---- park.c ---- */

void gw_park_question(struct gw_up *u, struct mcp_ask *a);
void gw_park_question_gone(struct gw_up *u, struct mcp_ask *a);
void gw_park_keep(struct gw_up *u, const struct mcp_reply *r); /* until the client is back */
void gw_park_done(struct gw_up *u);
/* The answer to a server that wants an address opened first (-32042). */
void gw_park_addresses(struct gw_request *q, const struct json *elicitations);
