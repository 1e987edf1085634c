/* transport_http.h - declarations that the two files of the Streamable HTTP transport share.
 *
 *   transport_http.c  the connection: session, revision, the standing stream, closing
 *   http_post.c       one message in transit, and the answer that arrives on its stream */
#pragma once

#include "base/list.h"
#include "loop/timer.h"
#include "mcp/client.h"
#include "mcp/transport/transport.h"
#include "mcp/transport/wire.h"

#define HTTP_SESSION_MAX 1024 /* bytes of a session id */
#define HTTP_HEADERS_MAX 160  /* of one request */

struct http_transport {
    struct transport base;
    struct loop *loop;
    struct fetcher *fetcher;
    struct mcp_dial dial; /* borrowed from the client, which has set its times */
    enum mcp_era era;
    str revision;       /* as negotiated; empty before */
    struct buf session; /* empty: none */
    struct list_node posts;
    unsigned depth;
    bool is_freed;
    bool is_renewing; /* the session is lost: requests wait */
    struct wire *standing;
    struct timer standing_later;
    struct buf standing_id; /* id of the last event on the standing stream */
    uint64_t standing_wait_ms, standing_retry_ms;
    unsigned standing_tries;
    bool has_standing, was_standing, standing_had_event;
    struct wire *farewell; /* DELETE of the session */
    struct timer closing;
};

/* Call these around everything that calls the owner back, because the owner may free the transport
 * there. */
void http_enter(struct http_transport *t);
void http_leave(struct http_transport *t);

/* One message to the server. Lives until its response stream has ended. */
struct http_post;

void http_post_send(struct http_transport *t, const struct outgoing *m);
struct http_post *http_post_find(struct http_transport *t,
                                 int64_t id); /* a post that still waits for its answer */
void http_post_release(struct http_post *p, bool was_answered);
void http_post_resend_parked(struct http_transport *t);
void http_post_free_all(struct http_transport *t);

/* Writes the headers of every request of this connection to `h` and their number to *n. */
void http_common_headers(const struct http_transport *t, enum mcp_era era, bool is_handshake,
                         struct fetch_header h[HTTP_HEADERS_MAX], size_t *n);
/* GET of a stream of the legacy era, from the event after last_id, if that is not empty. */
struct wire *http_open_stream(struct http_transport *t, str last_id, const struct wire_events *ev,
                              void *ctx);
void http_take_session(struct http_transport *t, str id);
void http_session_gone(struct http_transport *t);
void http_initialized(struct http_transport *t); /* the handshake is over */
