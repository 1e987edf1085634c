/* transport.h - sends messages to a server and receives its messages; three implementations.
 *
 * A transport carries texts and does not know about calls. `during` of an event is the id of our
 * request on whose own response stream the event arrived; 0 where all messages share one stream.
 * The owner may receive events until it calls free, but never from inside a call to the transport,
 * and may free the transport from inside any event. Loop thread only. */
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
    void (*accepted)(
        void *ctx); /* OUTGOING_INITIALIZED has arrived; never called by ordered transports */
    /* The server answered with an HTTP status other than success, and this body. challenge: the
     * WWW-Authenticate header of a 401 or 403; or empty. */
    void (*refused)(void *ctx, int64_t during, int status, str body, str challenge);
    /* The message was not delivered, or its answer will never arrive. */
    void (*lost)(void *ctx, int64_t during, const struct err *e);
    void (*alive)(void *ctx,
                  int64_t during); /* the server shows activity, but has not answered yet */
    void (*on_stderr)(void *ctx, str bytes); /* stderr */
    /* A message beyond RPC_MESSAGE_MAX was dropped; its id is not known. */
    void (*overflowed)(void *ctx);
    /* The server does not know the session. Requests wait for `settle`. */
    void (*session_lost)(void *ctx);
    void (*gap)(void *ctx); /* notifications may have been missed */
    /* No more events follow; err.code is 0 after close. The owner frees the transport. */
    void (*closed)(void *ctx, const struct err *e);
};

/* The notification that ends the handshake: the only one whose delivery is reported. */
#define OUTGOING_INITIALIZED (-1)

struct outgoing {
    str text;         /* one message, without a newline */
    int64_t id;       /* of a request, or OUTGOING_INITIALIZED, or 0 */
    enum mcp_era era; /* the era whose rules the message follows */
    str method;       /* empty: the message is an answer */
    const struct json *params;
    const struct param_headers *headers; /* of the tool that is called, or NULL */
};

struct transport_ops {
    bool is_ordered; /* messages arrive in the order in which they are sent: `accepted` is not
                        called */
    bool is_http;
    int (*send)(struct transport *t, const struct outgoing *m, struct err *e); /* 0 or -errno */
    /* The owner no longer waits for the request. Without an answer the server is disconnected.
     * NULL: nothing to do, as for settle and pid (0). */
    void (*release)(struct transport *t, int64_t id, bool was_answered);
    void (*settle)(struct transport *t, enum mcp_era era,
                   str revision);       /* the era and revision are known from now on */
    void (*close)(struct transport *t); /* closes in order; `closed` follows */
    void (*free)(struct transport *t);  /* immediately, without callbacks */
    int (*pid)(const struct transport *t);
};

struct transport {
    const struct transport_ops *ops;
    const struct transport_events *ev;
    void *ctx;
};

struct transport *transport_stdio_open(struct loop *l, const struct mcp_dial *dial,
                                       const struct transport_events *ev, void *ctx,
                                       struct err *e); /* NULL on failure: see e */
struct transport *transport_http_open(struct loop *l, struct fetcher *f,
                                      const struct mcp_dial *dial,
                                      const struct transport_events *ev, void *ctx);

/* The URL to which the oldest transport posts messages (endpoint.c, pure): resolves the reference
 * from the stream's "endpoint" event against the URL of the stream: absolute, from the root, or
 * relative. Refuses another origin (-EACCES), because messages carry the user's headers. */
int endpoint_resolve(struct arena *a, str stream_url, str reference, str *ret, struct err *e);
struct transport *transport_sse_open(struct loop *l, struct fetcher *f, const struct mcp_dial *dial,
                                     const struct transport_events *ev, void *ctx);
