/* mcp_serve_relay.h - `nb mcp serve` beside a running server: the client is served by that one.
 *
 * The server is reached over its Unix socket with the oldest transport of MCP: what it says comes
 * as events of one stream; what the client says is posted, one message after the other, so that
 * they keep their order. Messages are passed on as they are. Loop thread only. */
#pragma once

#include "base/err.h"
#include "loop/loop.h"

#define RELAY_QUEUE_MAX (64u * 1024 * 1024) /* bytes of messages that were not taken yet */

struct relay;

struct relay_events {
    void (*message)(void *ctx, str message);
    /* The server has gone, or does not want us. Free it. */
    void (*closed)(void *ctx, const struct err *e);
};

struct relay_conf { /* copied */
    struct loop *loop;
    const char *socket_path;
    const char *workspace; /* NULL = the only one */
    str source;            /* empty = all */
};

/* No event comes before it has returned. */
struct relay *relay_new(const struct relay_conf *conf, const struct relay_events *ev, void *ctx);
void relay_send(struct relay *r, str message);
bool relay_is_idle(const struct relay *r); /* everything was taken and answered */
void relay_free(struct relay *r);
