/* sse_parse.h - an incremental reader of text/event-stream.
 *
 * Accepts any chunking: inside a line, inside a CRLF pair, inside a UTF-8 character. CR, LF
 * and CRLF end lines, a BOM at the start is skipped, comments are skipped, several data
 * lines are joined by LF. An event that the stream's end cuts off is not delivered. Bytes
 * are passed on unchanged: a caller that needs UTF-8 checks it (the JSON reader does). Line and
 * data of one event are bounded. */
#pragma once

#include "base/buf.h"

#define SSE_NAME_MAX 1024 /* of an event's name, and of its id */

struct sse_event {
    str event; /* "message" when the stream does not name it */
    str data;
    str id;           /* last id seen, may be empty */
    int64_t retry_ms; /* -1 = not given since the last event */
};

/* The slices live for the call. The callback must not free or feed the parser. */
typedef void (*sse_event_fn)(void *ctx, const struct sse_event *ev);

struct sse_parser {
    struct buf line; /* the part of a line that came in earlier chunks */
    struct buf data, event, id;
    int64_t retry_ms;
    bool at_start, after_cr, has_data, failed;
    /* Set after init: blocks without data are events too when they hold an id or a retry. */
    bool wants_empty;
    bool has_field; /* this block has an id or a retry field */
    sse_event_fn on_event;
    void *ctx;
};

void sse_parser_init(struct sse_parser *p, size_t max_event_bytes, sse_event_fn fn, void *ctx);
void sse_parser_done(struct sse_parser *p);
int sse_parser_feed(struct sse_parser *p, str bytes); /* 0, or -EMSGSIZE from now on */
