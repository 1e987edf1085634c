/* conversations.h - what the conversations__* tools share. */
#pragma once

#include "builtin/internal.h"

#define CONV_TOOL_CHARS 30000 /* what one call may answer */

/* Finds the conversation that `id` in the arguments names, or the one the call comes from when
 * there is none, and goes on with `then` if the caller has the right; fails as "there is no
 * such conversation" otherwise, whether it is absent or denied. */
void conv_tool_find(struct builtin_call *c,
                    void (*then)(struct builtin_call *c, const struct conv *conv));

/* A store_conv_fn with the call: answers with what the conversation is now. */
void conv_tool_reply(void *call, const struct err *err, const struct conv *conv);
void conv_tool_fail(struct builtin_call *c, const struct err *err);

struct json *conv_tool_summary(struct arena *a, const struct conv *conv);
/* "conv_...  2026-03-25T10:30:00.000Z  12 messages  Title" */
void conv_tool_add_line(struct buf *b, const struct conv *conv);

struct store *conv_tool_store(const struct builtin_call *c);
