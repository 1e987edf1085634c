/* sse.h - server-sent events to many slow readers.
 *
 * A frame is formatted once and shared by reference count among all streams that get it. A
 * stream whose unsent bytes pass its ceiling is dropped, never waited for: the client comes
 * back with Last-Event-ID. Comments (": ping") keep proxies from closing silent streams.
 * Loop thread only. */
#pragma once

#include "http/server.h"

struct sse;
struct sse_frame;

#define SSE_QUEUE_MAX (1024u * 1024)
#define SSE_PING_MS   20000

/* event and id may be empty; data may have several lines. */
struct sse_frame *sse_frame_new(str event, str id, str data);
struct sse_frame *sse_frame_ref(struct sse_frame *f);
struct sse_frame *sse_frame_unref(struct sse_frame *f); /* takes NULL, returns NULL */

/* Answers the request with 200 text/event-stream and takes its connection over; the request
 * is gone afterwards (its arena too). on_close is called exactly once, when the client
 * leaves, is dropped, the server stops, or sse_close was called; the sse is gone after it. It
 * comes from the loop, never from inside a call of these functions. */
struct sse *sse_open(struct http_req *r, void (*on_close)(void *ctx), void *ctx);
/* The same for a stream that lasts until its client leaves. A person has at most
 * http_limits.streams_per_person of these: the oldest that is not busy (is_busy may be NULL) ends
 * when there are more, and if all of them are, the request is answered with 429. */
struct sse *sse_open_watch(struct http_req *r, void (*on_close)(void *ctx),
                           bool (*is_busy)(void *ctx), void *ctx);
bool sse_send(struct sse *s, struct sse_frame *f); /* false: dropped, on_close follows later */
void sse_send_now(struct sse *s, str event, str id, str data); /* one stream, one frame */
void sse_send_retry(struct sse *s, unsigned ms); /* how long a client waits to come back */
void sse_close(struct sse *s); /* flushes what is queued, then ends the response */
size_t sse_queued(const struct sse *s);
/* Another ceiling than SSE_QUEUE_MAX for this reader. */
void sse_set_queue_max(struct sse *s, size_t bytes);
