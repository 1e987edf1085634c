/* private_connections.h - connections to servers of the older revisions, each for one call at a
 * time.
 *
 * A call of a stateless client that can answer questions has a connection to itself: every question
 * of the server on it belongs to this call, also while the call is suspended. A pool per bundle
 * keeps idle connections for GW_PRIVATE_IDLE_MS. The states are drawn in the .c file. */
#pragma once

#include "gateway/space.h"

#define GW_PRIVATE_QUEUE_MAX 256 /* requests that wait for a private connection */
#define GW_PRIVATE_IDLE_MS   60000

struct gw_pool;
struct private_connection;

typedef void (*private_connection_fn)(void *ctx, struct private_connection *c, const struct err *e);

struct private_wait { /* embedded by the caller; list_init(&w->node) before the first use */
    struct list_node node;
    struct gw_pool *pool;
    unsigned abilities;
    private_connection_fn fn;
    void *ctx;
};

/* Calls fn, now or later, with a private connection for a client with these capabilities, or with
 * an error. */
void private_connection_take(struct gw_space *s, struct bundle *b, const struct json *capabilities,
                             struct private_wait *w, private_connection_fn fn, void *ctx);
void private_wait_stop(struct private_wait *w);
void private_connection_give_back(struct private_connection *c);
/* NULL when the server has closed it. */
struct connections *private_connection_of(struct private_connection *c);
bool private_connection_is_of(const struct private_connection *c, const struct gw_pool *pool);
void private_connection_bundle_gone(struct gw_space *s, struct bundle *b);
void private_connections_done(struct gw_space *s);
