/* wire.h - one HTTP request whose response is a body or a stream of events.
 *
 * A body that is not an event stream is collected and passed to on_end as a whole. The request ends
 * exactly once with on_end, unless it is stopped first; stopping is allowed in every callback. Loop
 * thread only. */
#pragma once

#include "net/fetch.h"
#include "net/sse_parse.h"

struct wire;

struct wire_events {
    /* May be NULL. is_stream: events follow. */
    void (*on_head)(void *ctx, int status, bool is_stream, const struct fetch_header *headers,
                    size_t n);
    void (*on_event)(void *ctx, const struct sse_event *ev); /* or NULL */
    /* The last callback. err.code 0: the response is complete. status 0: there was no response. */
    void (*on_end)(void *ctx, int status, str body, const struct err *err);
};

/* The spec is copied. Its time limits and ceilings are not used, because a stream may be silent. */
struct wire *wire_start(struct fetcher *f, const struct fetch_spec *spec,
                        const struct wire_events *ev, void *ctx);
void wire_stop(struct wire *w); /* closes the connection; no callback follows */

/* Limits for the retry delay that a server names. */
#define WIRE_RETRY_MIN_MS 20
#define WIRE_RETRY_MAX_MS 60000
uint64_t wire_retry_ms(const struct sse_event *ev);

/* Copies the headers that the user wants in every request, at most `max`, except those that the
 * protocol sets. Returns their number. */
size_t wire_add_headers(struct fetch_header *out, size_t max, const struct fetch_header *headers,
                        size_t n);

/* The value of a header, or STR_NONE. */
str wire_header(const struct fetch_header *headers, size_t n, const char *name);
