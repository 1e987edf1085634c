/* jsonrpc.h - JSON-RPC 2.0 messages as MCP uses them: a strict reader and a plain writer.
 *
 * Ids are strings or integers and keep their JSON type: 1 is not "1". Params and results are
 * objects. The members of a message borrow from the parsed document. Pure; any thread. */
#pragma once

#include "base/json/json.h"

/* Limit for one message in each direction. The worst message of that size needs hundreds of
 * megabytes as a document (json.h). */
#define RPC_MESSAGE_MAX (16u * 1024 * 1024)
#define RPC_SPARE_BYTES (64u * 1024) /* that a buffer for messages keeps for the next one */
#define RPC_BATCH_MAX   1000

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR };

struct rpc_message {
    enum rpc_kind kind;
    /* NULL: a notification, or an error about a request that could not be read. */
    const struct json *id;
    str method;          /* requests and notifications */
    struct json *params; /* object or NULL */
    struct json *result; /* object */
    struct json *error;  /* {code: integer, message: string, ...} */
};

/* Parses one message or an array of messages; copies nothing: `text` must outlive the document.
 * Returns 0, -EMSGSIZE, or -EINVAL with a reason. */
int rpc_parse(struct arena *a, str text, struct json **ret, struct err *e);

/* Reads one message of a parsed document. On -EINVAL the id is set if it is valid, so that a
 * malformed answer fails the request that it belongs to. */
int rpc_classify(struct json *v, struct rpc_message *ret, struct err *e);

/* Each function appends one message without a newline. params may be NULL. */
void rpc_write_notification(struct buf *out, str method, const struct json *params);
void rpc_write_result(struct buf *out, const struct json *id, const struct json *result);
void rpc_write_error(struct buf *out, const struct json *id, int64_t code, str message);
