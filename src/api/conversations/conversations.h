/* conversations.h - a conversation as the reply to a request. */
#pragma once

#include "api/exchange.h"

/* A store_conv_fn with a struct api_wait: replies with the conversation, or with the error. */
void api_write_mark(struct json_writer *w, const struct mark_state *s); /* members */
void api_reply_conv(void *wait, const struct err *err, const struct conv *c);
