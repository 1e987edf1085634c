/* message.h - our requests as text for the wire.
 *
 * Params are the caller's params with additions: metadata of the modern era, a progress token,
 * members of later rounds. Members of the caller's `_meta` are kept. Pure; any thread. */
#pragma once

#include "base/json/json.h"
#include "mcp/protocol.h"

struct message_request {
    int64_t id;
    str method;
    const struct json *params; /* object or NULL */
    /* members that are added to params or replace members of it, or NULL */
    const struct json *more;
    enum mcp_era era;
    str capabilities;    /* modern: JSON text of ClientCapabilities */
    str log_level;       /* modern; empty = none */
    bool wants_progress; /* the token is the id */
};

void message_write_request(struct buf *out, const struct message_request *r);

/* Writes the capabilities in the form of the modern era, which has neither `tasks` nor
 * `roots.listChanged`; with_tasks adds its extension for tasks. `declared` may be NULL. */
void message_write_capabilities(struct buf *out, const struct json *declared, bool with_tasks);
