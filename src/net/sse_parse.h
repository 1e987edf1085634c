/* sse_parse.h - an incremental reader of text/event-stream.
 *
 * Accepts any chunking: inside a line, inside a CRLF pair, inside a UTF-8 character. CR, LF
 * and CRLF end lines, a BOM at the start is skipped, comments are skipped, several data
 * lines are joined by LF. Data of one event is bounded. */
#pragma once

#include "base/buf.h"

struct sse_event {
    str event; /* "message" when the stream did not say */
    str data;
    str id;          /* last id seen, may be empty */
    int64_t retry_ms; /* -1 = not given in this event */
};

typedef void (*sse_event_fn)(void *ctx, const struct sse_event *ev);

struct sse_parser {
    struct buf line, data, event, id;
    int64_t retry_ms;
    bool at_start, after_cr, has_data;
    size_t bom_seen;
    sse_event_fn on_event;
    void *ctx;
};

void sse_parser_init(struct sse_parser *p, size_t max_event_bytes, sse_event_fn fn, void *ctx);
void sse_parser_done(struct sse_parser *p);
int sse_parser_feed(struct sse_parser *p, str bytes); /* 0, or -EMSGSIZE for good */
