/* trace_context.h - the header `traceparent` (W3C Trace Context): whose trace a request belongs to.
 * Strict: a malformed header is ignored, and a new trace begins. Pure. */
#pragma once

#include "base/str.h"

struct trace_context {
    uint8_t trace[16];
    uint8_t span[8];
    bool is_set;
    bool is_sampled; /* the caller records its own part */
};

#define TRACE_ID_LEN 32

/* The id of the trace in hexadecimal, for logs; empty when it is not set. */
str trace_context_id(const struct trace_context *c, char out[TRACE_ID_LEN + 1]);

/* is_set: false when the text is not valid. */
struct trace_context trace_context_parse(str text);
