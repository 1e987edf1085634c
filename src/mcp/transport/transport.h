/* transport.h - how messages get to a server and back; one of three.
 *
 * A transport carries texts and knows nothing of calls. `during` of an event is the id of our
 * request on whose own answer stream something came; 0 where messages share one stream. Its
 * owner must expect events to come until free, never from inside a call to the transport, and
 * may free it from inside any event. Loop thread only. */
#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "loop/loop.h"
#include "mcp/protocol.h"

struct transport;
struct mcp_dial;
struct fetcher;
struct param_headers;

struct transport_events {
    void (*message)(void *ctx, int64_t during, str text);
    void (*accepted)(void *ctx); /* OUTGOING_INITIALIZED has arrived; not of ordered ones */
    /* It was answered by an HTTP status other than success, and this body. challenge: the
     * WWW-Authenticate header of a 401 or 403; or empty. */
    void (*refused)(void *ctx, int64_t during, int status, str body, str challenge);
    /* It did not get there, or its answer will never come. */
    void (*lost)(void *ctx, int64_t during, const struct err *e);
    void (*alive)(void *ctx, int64_t during); /* not yet an answer, but a sign of life */
    void (*said)(void *ctx, str bytes);       /* stderr */
    /* A message beyond RPC_MESSAGE_MAX was dropped; nobody knows whose. */
    void (*overflowed)(void *ctx);
    /* The session is unknown to the server. Requests wait for `settle`. */
    void (*session_lost)(void *ctx);
    void (*gap)(void *ctx); /* notifications may have been missed */
    /* No more events; err.code 0 after close. Free it. */
    void (*closed)(void *ctx, const struct err *e);
};

/* The notification that ends the handshake: the only one whose receipt matters. */
#define OUTGOING_INITIALIZED (-1)

struct outgoing {
    str text;         /* one message, no line end */
    int64_t id;       /* of a request, or OUTGOING_INITIALIZED, or 0 */
    enum mcp_era era; /* which rules it follows */
    str method;       /* empty: an answer */
    const struct json *params;
    const struct param_headers *headers; /* of the tool that is called, or NULL */
};

struct transport_ops {
    bool is_ordered; /* what is sent arrives in that order: there are no receipts */
    bool is_http;
    int (*send)(struct transport *t, const struct outgoing *m, struct err *e); /* 0 or -errno */
    /* The request is over for us. Without its answer the server is disconnected. */
    void (*release)(struct transport *t, int64_t id, bool was_answered);
    void (*settle)(struct transport *t, enum mcp_era era, str revision); /* known from now on */
    void (*close)(struct transport *t); /* in order; `closed` follows */
    void (*free)(struct transport *t);  /* at once */
    int (*pid)(const struct transport *t);
};

struct transport {
    const struct transport_ops *ops;
    const struct transport_events *ev;
    void *ctx;
};

struct transport *transport_stdio_open(struct loop *l, const struct mcp_dial *dial,
                                       const struct transport_events *ev, void *ctx,
                                       struct err *e); /* NULL: see e */
struct transport *transport_http_open(struct loop *l, struct fetcher *f,
                                      const struct mcp_dial *dial,
                                      const struct transport_events *ev, void *ctx);
struct transport *transport_sse_open(struct loop *l, struct fetcher *f, const struct mcp_dial *dial,
                                     const struct transport_events *ev, void *ctx);
