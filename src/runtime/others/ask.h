/* ask.h - changes of what another server has in its memory: a queued message, a question of a tool.
 *
 * The question goes to all servers (store/others.h). The one that has its subject makes the change,
 * with the same checks as for its own clients, and replies with a code and a message; the others
 * say nothing. Loop thread only. */
#pragma once

#include "runtime/runtime.h"

typedef void (*others_fn)(void *ctx, const struct err *err);

struct others_ask; /* pending; valid until fn is called */

/* Begins the object of a question; the caller adds members. `what` says what is to be done. */
void others_begin(struct json_writer *w, struct buf *b, const char *what);
/* Ends it and sends it. err of fn is that of the other server; -ETIMEDOUT: no server has it. Only
 * with store_has_leases. */
struct others_ask *others_ask(struct runtime *rt, str conversation_id, struct json_writer *w,
                              struct buf *b, others_fn fn, void *ctx);
void others_ask_cancel(struct others_ask *q); /* no callback; accepts NULL */

/* The reply to a question of another server; err NULL = done. */
void others_reply(struct runtime *rt, str ask_id, const struct err *err);
