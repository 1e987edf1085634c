/* listen.h - notifies clients of changes.
 *
 * Sessions are notified of every changed list; stateless clients open a stream and say which
 * changes they want. A resource is subscribed to once at its server, for any number of clients. */
#pragma once

#include "gateway/session.h"

#define GW_SESSION_WATCHES 256
#define GW_LISTENS_MAX     1000 /* of one workspace */
#define GW_LISTEN_URIS     256

void gw_subscriptions_listen(struct gw_request *q);
void gw_resources_subscribe(struct gw_request *q);
void gw_resources_unsubscribe(struct gw_request *q);

void gw_listen_changed(struct gw_space *s, enum gw_list what);
void gw_listen_updated(struct gw_space *s, struct bundle *b, const struct json *params);
/* Ends the streams whose credential has expired. */
bool gw_listen_expire(struct gw_space *s, int64_t now_ms); /* true: others may expire later */

void gw_watch_drop_session(struct gw_session *s);
void gw_watch_bundle_running(struct gw_space *s, struct bundle *b); /* subscribe again */
void gw_watch_bundle_gone(struct gw_space *s, struct bundle *b);
