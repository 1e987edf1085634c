/* stream.h - an open event stream.
 *
 * It belongs to a stateless request (owner), to a log of a session, or to a pipe of the oldest
 * transport; exactly one of the three is set until the stream is closed. When the client
 * disconnects, the owner is notified and the stream is freed. */
#pragma once

#include "gateway/request.h"
#include "http/sse.h"

struct gw_stream {
    struct gateway *g;
    struct sse *sse;           /* NULL: the client has disconnected */
    struct gw_request *owner;  /* or: */
    struct gw_log *log;        /* or: */
    struct gateway_pipe *pipe; /* the oldest transport */
};
/* is_lasting: until its client disconnects; the number of these per person is limited. */
struct gw_stream *gw_stream_open(struct gateway *g, struct http_req *r, bool is_lasting);
void gw_stream_send(struct gw_stream *s, str event, str id, str data);
void gw_stream_close(struct gw_stream *s); /* flushes; its owner is no longer notified */
