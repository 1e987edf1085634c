/* sse.h - server-sent events to many slow readers.
 *
 * A frame is formatted once and shared by reference count among all streams that get it. A
 * stream whose unsent bytes pass its ceiling is closed, never waited for: the client reconnects
 * with Last-Event-ID. Comments (": ping") keep proxies from closing silent streams.
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
 * and its arena are freed. on_close is called exactly once: when the client disconnects, the
 * stream is dropped, the server stops, or sse_close was called; the sse is freed after it. It
 * is called from the loop, never from inside a call of these functions. */
struct sse *sse_open(struct http_req *r, void (*on_close)(void *ctx), void *ctx);
/* The same for a stream that lasts until its client disconnects. A person has at most
 * http_limits.streams_per_person of these: beyond that the oldest stream that is not busy (is_busy
 * may be NULL) ends; if all are busy, the request is answered with 429. */
struct sse *sse_open_watch(struct http_req *r, void (*on_close)(void *ctx),
                           bool (*is_busy)(void *ctx), void *ctx);
bool sse_send(struct sse *s, struct sse_frame *f); /* false: dropped, on_close follows later */
bool sse_is_late(const struct sse *s); /* the client has not taken what was sent before */
void sse_send_now(struct sse *s, str event, str id, str data); /* one stream, one frame */
void sse_send_retry(struct sse *s, unsigned ms); /* how long a client waits to reconnect */
void sse_close(struct sse *s); /* sends the queued frames, then ends the response */
/* Replaces the ceiling SSE_QUEUE_MAX for this stream. */
void sse_set_queue_max(struct sse *s, size_t bytes);
