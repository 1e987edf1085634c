/* mcp_serve_relay.h - `nb mcp serve` with a running server: passes messages between client and
 * server.
 *
 * The relay connects to the server's Unix socket with the oldest transport of MCP: messages of the
 * server arrive as events of one stream; messages of the client are posted one after the other, so
 * that they keep their order. Messages are passed on unchanged. Loop thread only. */
#pragma once

#include "base/err.h"
#include "config/config.h"
#include "loop/loop.h"

/* bytes of messages that the server has not accepted yet */
#define RELAY_QUEUE_MAX (64u * 1024 * 1024)

struct relay;

struct relay_events {
    void (*message)(void *ctx, str message);
    /* The server closed the connection or refused it. Free the relay. */
    void (*closed)(void *ctx, const struct err *e);
};

/* source: of the tools; empty = all. Sends no event before it has returned. */
struct relay *relay_new(struct loop *l, struct config *c, str source, const struct relay_events *ev,
                        void *ctx);
void relay_send(struct relay *r, str message);
bool relay_is_idle(const struct relay *r); /* everything was accepted and answered */
void relay_free(struct relay *r);
