/* conversations.h - shared by the conversations__* tools. */
#pragma once

#include "builtin/internal.h"

#define CONV_TOOL_CHARS 30000 /* of one answer */

/* Finds the conversation that `id` in the arguments names (without `id`: the conversation of the
 * call), and calls `then` if the caller has the right; otherwise fails with the same text, whether
 * the conversation does not exist or access is denied. */
void conv_tool_find(struct builtin_call *c,
                    void (*then)(struct builtin_call *c, const struct conv *conv));

/* A store_conv_fn with the call as ctx: answers with the new state of the conversation. */
void conv_tool_reply(void *call, const struct err *err, const struct conv *conv);
void conv_tool_fail(struct builtin_call *c, const struct err *err);

struct json *conv_tool_summary(struct arena *a, const struct conv *conv);
/* "conv_...  2026-03-25T10:30:00.000Z  12 messages  Title" */
void conv_tool_add_line(struct buf *b, const struct conv *conv);

struct store *conv_tool_store(const struct builtin_call *c);
