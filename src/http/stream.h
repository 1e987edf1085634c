/* stream.h - a response that is produced piece by piece, as fast as its reader takes it.
 *
 * The producer is asked for the next piece after the kernel has accepted all earlier ones: an
 * unread response costs one piece of memory, whatever its length. A reader that takes nothing for
 * http_limits.body_stall_ms is disconnected. Loop thread only. */
#pragma once

#include "http/server.h"

struct http_stream;

struct http_stream_maker {
    /* The reader has room: answer with http_stream_write, _end or _fail, now or later. */
    void (*produce)(void *ctx);
    /* Called exactly once, after the last byte was handed over or the client has disconnected,
     * never from inside a call of these functions; the stream is freed after it. */
    void (*on_close)(void *ctx);
    void *ctx;
    int status;      /* 0 = 200 */
    bool has_length; /* the pieces have `length` bytes together: Content-Length is sent */
    uint64_t length;
};

/* Answers the request with the status and the headers that were added; frees the request. */
struct http_stream *http_stream_open(struct http_req *r, const char *type,
                                     const struct http_stream_maker *m);
void http_stream_write(struct http_stream *s, str piece); /* copied if it has to wait */
void http_stream_end(struct http_stream *s);
/* The rest cannot be produced: the connection is cut, so that the reader detects the loss. */
void http_stream_fail(struct http_stream *s);
