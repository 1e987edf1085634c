/* session_connection.h - connections that belong to one session.
 *
 * A server of the older revisions does not say for which request it asks a question. A session
 * whose client can answer questions therefore uses a connection of its own to such a server: every
 * question on it is for this client. It opens with the first call and ends with the session, with
 * the bundle, or when the server closes it. */
#pragma once

#include "gateway/session.h"

struct session_connection {
    struct list_node node; /* in session->connections */
    struct gw_session *session;
    struct bundle *bundle;
    struct connections *connections;
    struct mcp_host host;
    struct arena arena;
    struct list_node ups; /* struct upstream_call.sibling: calls in progress on it */
};

/* Returns the connection of the session to this bundle, opened if necessary; NULL when the bundle
 * cannot be connected to now. */
struct session_connection *session_connection_of(struct gw_session *s, struct bundle *b);
void session_connection_drop_all(struct gw_session *s);
void session_connection_bundle_gone(struct gw_session *s, struct bundle *b);
void session_connection_notify_all(struct gw_session *s, str method, const struct json *params);
void session_connection_set_level(struct gw_session *s, str level);
