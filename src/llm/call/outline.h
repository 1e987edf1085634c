/* outline.h - a summary of a request body, in a few hundred bytes.
 *
 * The SHA-256 of a body proves that another body is equal; it does not tell which part is
 * different. The outline does: each top-level field, short values as they are, long ones as
 * "#<checksum>/<bytes>", and of messages the newest OUTLINE_NEWEST one by one, the older ones
 * together. Every message is among the newest once, so the first request that differs identifies
 * it. Other arrays are treated in the same way, except tools: those do not change from call to
 * call. It grows with neither the length of a conversation nor that of a message. Pure. */
#pragma once

#include "base/arena.h"
#include "base/json/json.h"

#define OUTLINE_NEWEST      6
#define OUTLINE_FIELDS_MAX  32
#define OUTLINE_SHORT_BYTES 64 /* values up to here are kept as they are */

/* The expected value of the tools, as JSON text, and its checksum: an equal value is neither parsed
 * nor summed up again. */
struct outline_known {
    str tools; /* may be empty */
    uint64_t sum;
};
uint64_t outline_sum(str value);

/* The outline of a body (JSON text): {"max_tokens":16384,"messages":{"n":9,"older":"#..",
 * "newest":["#..",...]}}. Empty when the body is not a JSON object. */
str outline_of(struct arena *a, str body, struct outline_known known);

struct outline_difference {
    str part; /* "max_tokens", "messages[3]", "the first 12 of messages" */
    str was;  /* as outlined; empty = the part did not exist */
    str now;  /* JSON text; empty = the part does not exist now, or consists of several elements */
};

/* The parts in which a body differs from the outlined one, at most `max`. */
size_t outline_compare(struct arena *a, const struct json *outline, str body,
                       struct outline_difference *ret, size_t max);
