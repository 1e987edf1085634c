/* call_search.h - finds a tool call in the log of its conversation: name, arguments, result.
 *
 * It is searched from the position that the client names, then from the end of the log towards its
 * beginning, over a bounded number of events. A result that is kept as a blob is read whole. Loop
 * thread only. */
#pragma once

#include "store/store.h"

struct stored_call {
    str name; /* public name of the tool; empty = the call was not found */
    str uri;  /* resource of the interface when it was called; may be empty */
    const struct json *input;
    const struct json *result; /* CallToolResult; NULL = not answered */
    bool is_cancelled;         /* the tool gave no result; `result` says why */
    bool is_asking;            /* a question to a person about it is open */
    store_pos position;        /* in front of it */
};

struct call_search;

/* err: NULL, or why the log could not be read. `call` lives in the arena. */
typedef void (*call_search_fn)(void *ctx, const struct err *err, const struct stored_call *call);

/* Strings are borrowed, like the arena, until the callback or the cancellation. */
struct call_search *call_search_start(struct store *s, struct arena *a, str conv_id, str call_id,
                                      store_pos position, call_search_fn fn, void *ctx);
void call_search_cancel(struct call_search *c); /* accepts NULL */
