/* relay.h - a call made on behalf of another caller: the middle layer handles the end of the call,
 * everything else is passed to the original caller.
 *
 * The middle layer embeds this struct as the first member of the struct that it uses as context of
 * its own call. */
#pragma once

#include "mcp/client.h"

struct call_relay {
    struct mcp_call_events to; /* events of the original caller */
    void *ctx;
};

/* Events for the middle layer's call, whose context begins with the relay. An event that the
 * original caller does not listen to stays NULL, so that it is not requested. */
struct mcp_call_events call_relay_events(const struct call_relay *r,
                                         void (*done)(void *ctx, const struct mcp_reply *reply));
