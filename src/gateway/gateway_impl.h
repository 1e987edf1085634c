/* gateway_impl.h - the state of the gateway, for the files of this floor.
 *
 * Who may touch what, besides gateway.c, which builds and frees everything:
 *
 *   spaces                 space.c
 *   sessions, lru, sweep   session.c; other files only walk `lru`, and end sessions with
 *                          gw_session_end
 *   expiry                 session.c and space.c (started with the first workspace)
 *   key                    sign.c
 *   metrics, call_log      request.c (gw_request_called)
 *   spare, nspare          request.c
 *   nsuspended             upstream/suspended_calls.c
 *   scratch                one message at a time: write it, send it, and forget it before anything
 *                          else of the gateway is called */
#pragma once

#include "base/list.h"
#include "gateway/call_log.h"
#include "gateway/gateway.h"
#include "gateway/metrics.h"
#include "loop/timer.h"
#include "mcp/transport/jsonrpc.h"

#define GW_MESSAGE_MAX RPC_MESSAGE_MAX
#define GW_SPARE_BYTES RPC_SPARE_BYTES

struct gateway {
    struct gateway_deps deps; /* its limits are set, also where the owner gave 0 */
    struct list_node spaces;  /* struct gw_space.node */
    struct map sessions;      /* id -> struct gw_session */
    struct list_node lru;     /* the same sessions, least recently used first */
    struct timer sweep;       /* ends sessions that were not used for a long time */
    struct timer expiry;      /* ends sessions and streams whose credential has expired */
    uint8_t key[32];          /* signs the texts that clients store for us */
    struct gw_metrics metrics;
    struct call_log *call_log; /* or NULL */
    struct buf scratch;        /* the message being written */
    struct list_node spare;    /* freed requests, to be reused */
    size_t nspare, nsuspended;
};
