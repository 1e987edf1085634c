/* suspended_calls.h - calls of stateless clients that wait for answers of their client.
 *
 * The states are drawn in upstream.h, the messages in suspended_calls.c. */
#pragma once

#include "gateway/upstream/upstream.h"

/* how long a server that asked a question may take to answer a ping */
#define GW_SETTLE_MS 2000
/* a call waits this long for answers before its connection may be given to another request */
#define GW_SUSPEND_LEAST_MS   15000
#define GW_SUSPENDED_MAX      256
#define GW_SUSPENDED_USER_MAX 16

/* Stores the name that the client asked for, before the name in params is changed. The arguments
 * are never changed. */
void suspended_prepare(struct gw_request *q);
/* true: the request repeats a suspended call and was handled */
bool suspended_resume(struct gw_request *q);
/* Cancels the call that has been suspended longest on one of these connections. False: no call has
 * been suspended for GW_SUSPEND_LEAST_MS. */
bool suspended_evict(struct gw_space *s, const struct gw_pool *pool);
void suspended_drop_all(struct gw_space *s, str user_id); /* empty = all users */

/* ---- for upstream.c ---- */

void suspended_question(struct upstream_call *u, struct mcp_ask *a);
void suspended_question_gone(struct upstream_call *u, struct mcp_ask *a);
/* Keeps the response until the client repeats its request. */
void suspended_keep(struct upstream_call *u, const struct mcp_reply *r);
void suspended_done(struct upstream_call *u);
/* Replies to a client whose server requires an address to be opened first (-32042). */
void suspended_addresses(struct gw_request *q, const struct json *elicitations);
