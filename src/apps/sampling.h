/* sampling.h - an MCP server asks for an answer of the workspace's model.
 *
 * sampling/createMessage becomes one model call, made for the person whose run called the
 * server's tool: its usage goes into that conversation's log, and what one tool call may spend
 * is bounded. Consent is the caller's business. Loop thread only. */
#pragma once

#include "runtime/runtime.h"

#define SAMPLING_MESSAGES_MAX 200
#define SAMPLING_CALLS_MAX    20 /* of one tool call */

struct sampling; /* a model call under way; valid until fn or sampling_cancel */

/* result is a CreateMessageResult, or NULL with an error for the server. Borrowed. */
typedef void (*sampling_fn)(void *ctx, const struct json *result, const struct err *err);

/* params is borrowed for the call. -EINVAL (with a message) when it asks for what cannot be
 * done: then there is no call and fn is not called. */
int sampling_start(struct runtime *rt, void *tool_host, str source, const struct json *params,
                   sampling_fn fn, void *ctx, struct sampling **ret, struct err *e);
void sampling_cancel(struct sampling *s); /* no callback any more */
