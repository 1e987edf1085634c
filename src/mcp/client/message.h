/* message.h - our requests as they go over the wire.
 *
 * Params are the caller's own with things added: metadata of the modern era, a progress token,
 * members of later rounds. What the caller's `_meta` holds stays. Pure; any thread. */
#pragma once

#include "base/json/json.h"
#include "mcp/protocol.h"

struct message_request {
    int64_t id;
    str method;
    const struct json *params; /* object or NULL */
    const struct json *more;   /* members that replace or join those of params, or NULL */
    enum mcp_era era;
    str capabilities;    /* modern: JSON text of ClientCapabilities */
    str log_level;       /* modern; empty = none */
    bool wants_progress; /* the token is the id */
};

void message_write_request(struct buf *out, const struct message_request *r);

/* What we declare, as the era spells it: the modern one knows neither `tasks` nor
 * `roots.listChanged`; with_tasks adds its extension for tasks. `declared` may be NULL. */
void message_write_capabilities(struct buf *out, const struct json *declared, enum mcp_era era,
                                bool with_tasks);
