/* relay.h - a call that is passed on: its end is looked at, everything else goes through.
 *
 * Whoever makes a call on behalf of somebody else embeds this as the first member of the struct
 * that is the context of the call it makes. */
#pragma once

#include "mcp/client.h"

struct call_relay {
    struct mcp_call_events to; /* of whom it is made for */
    void *ctx;
};

/* For the call that is made, with a struct that begins with the relay as its context. What is not
 * listened to is not asked for. */
struct mcp_call_events call_relay_events(const struct call_relay *r,
                                         void (*done)(void *ctx, const struct mcp_reply *reply));
