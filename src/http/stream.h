/* stream.h - an answer that is made piece by piece, as fast as its reader takes it.
 *
 * Its maker is asked for a piece when all of those before are with the kernel; what an unread
 * answer costs is one piece, whatever its length. A reader that takes nothing for
 * http_limits.body_stall_ms is cut off. Loop thread only. */
#pragma once

#include "http/server.h"

struct http_stream;

struct http_stream_maker {
    /* The reader has room: answer with http_stream_write, _end or _fail, now or later. */
    void (*produce)(void *ctx);
    /* Called exactly once, after the last byte was handed over or the reader has left, never from
     * inside a call of these functions; the stream is gone after it. */
    void (*on_close)(void *ctx);
    void *ctx;
};

/* Answers the request, which is gone after this call, with 200 and the headers that were added. */
struct http_stream *http_stream_open(struct http_req *r, const char *type,
                                     const struct http_stream_maker *m);
void http_stream_write(struct http_stream *s, str piece); /* copied where it has to wait */
void http_stream_end(struct http_stream *s);
/* The rest cannot be made: the reader sees a broken answer, never a short one. */
void http_stream_fail(struct http_stream *s);
