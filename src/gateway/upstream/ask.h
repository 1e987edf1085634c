/* ask.h - questions of servers to clients with a session.
 *
 * A question is sent as a request with an id of the gateway. The response may arrive at any time,
 * or never: the question ends with its session, with the call or connection that owns it, or when
 * the server withdraws it. */
#pragma once

#include "gateway/session.h"

/* Sends the question to the client: on the stream of q if there is one. */
void gw_ask_session(struct gw_session *s, struct gw_request *q, struct bundle *from,
                    struct mcp_ask *a, void *owner);
/* The server withdrew the question. */
void gw_ask_withdraw(struct gw_session *s, struct mcp_ask *a);
/* Forgets the questions of a call or connection that ends; the server is told by its owner. */
void gw_ask_drop_owner(struct gw_session *s, const void *owner);
void gw_ask_answered(struct gw_session *s, const struct rpc_message *m);
void gw_ask_drop_all(struct gw_session *s);
