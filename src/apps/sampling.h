/* sampling.h - model calls on behalf of an MCP server or an interface (sampling/createMessage).
 *
 * sampling/createMessage becomes one model call for the person whose run called the server's tool,
 * or who has the interface open: its usage is recorded in the log of that conversation. The caller
 * of this module asks for consent, and limits the number of calls. Loop thread only. */
#pragma once

#include "runtime/runtime.h"

#define SAMPLING_MESSAGES_MAX 200
#define SAMPLING_CALLS_MAX    20 /* of one tool call */

struct sampling; /* a model call in progress; valid until fn or sampling_cancel */

/* result is a CreateMessageResult, or NULL with an error for the server. Borrowed. */
typedef void (*sampling_fn)(void *ctx, const struct json *result, const struct err *err);

/* params is borrowed for the call. -EINVAL (with a message) when the request is not supported: then
 * fn is not called. */
int sampling_start(struct runtime *rt, void *tool_host, str source, const struct json *params,
                   sampling_fn fn, void *ctx, struct sampling **ret, struct err *e);
struct sampling_place { /* of an interface */
    str conversation_id, user_id;
    str model; /* of the conversation; one that is empty or not available becomes the default */
    str source;
};

/* The same without a run, for an interface. -EDQUOT also when the person, or the workspace, may
 * spend nothing more (runtime/budget.h). */
int sampling_start_for_interface(struct runtime *rt, const struct sampling_place *at,
                                 const struct json *params, sampling_fn fn, void *ctx,
                                 struct sampling **ret, struct err *e);
void sampling_cancel(struct sampling *s); /* no callback follows */
