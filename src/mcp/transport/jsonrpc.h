/* jsonrpc.h - JSON-RPC 2.0 messages as MCP uses them: strict reading, plain writing.
 *
 * Ids are strings or integers and keep their JSON type: 1 is not "1". Params and results are
 * objects. What a message holds borrows from the parsed document. Pure; any thread. */
#pragma once

#include "base/json/json.h"

/* Bytes of one message, either way. The worst of that size needs hundreds of megabytes as a
 * document (json.h). */
#define RPC_MESSAGE_MAX (16u * 1024 * 1024)
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

/* Parses one message or an array of them; copies nothing: `text` must outlive the document.
 * 0, -EMSGSIZE, or -EINVAL with a message. */
int rpc_parse(struct arena *a, str text, struct json **ret, struct err *e);

/* One message of a parsed document. On -EINVAL the id is set where there is a valid one, so
 * that a malformed answer fails the request it was meant for. */
int rpc_classify(struct json *v, struct rpc_message *ret, struct err *e);

/* Each adds one message without a line end. params may be NULL. */
void rpc_write_notification(struct buf *out, str method, const struct json *params);
void rpc_write_result(struct buf *out, const struct json *id, const struct json *result);
void rpc_write_error(struct buf *out, const struct json *id, int64_t code, str message);
