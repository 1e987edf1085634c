/* live.h - an open event stream: of one conversation, or of the workspace with any number of
 * conversations in it.
 *
 * States of a conversation in a stream (struct live_conv in live.c):
 *
 *   live_watch --acl known--> following: watch + feed <------+
 *       |                        |                           | allowed (live_follow)
 *       +--acl NULL--> checking: a store_get is in progress -+
 *                                |
 *   deleted, revoked, refused, live_unwatch --> freed; a workspace stream sends watch.ended,
 *                                               a stream of one conversation is closed
 *
 * A stream ends when its client disconnects or is too slow, when its user's access ends, or with
 * the server. live_end stops sending immediately; on_live_closed frees the stream later, when the
 * connection is closed. The stream holds its workspace. Loop thread only. */
#pragma once

#include "api/live/hub.h"
#include "store/feed.h"

#define LIVE_WATCHES_MAX 50

struct live;

/* Replies to the request and takes ownership of it. A stream of the workspace receives news; a
 * stream of a conversation ends with the conversation. */
struct live *live_open(struct api *api, struct http_req *r, bool is_workspace);
struct watcher *live_watcher(struct live *s);
void live_send(struct live *s, str event, str id, str data);

/* Follows a conversation from this position on, or from STORE_FEED_TAIL. acl: the caller has just
 * checked that it may be seen; NULL: it is checked first, and if refused, a stream of the workspace
 * gets watch.ended. -ENOSPC: too many conversations. */
int live_watch(struct live *s, str conv_id, store_pos after, const struct conv_acl *acl);
void live_unwatch(struct live *s, str conv_id);

/* The caller's own stream with that number, or NULL. */
struct live *live_find(struct api *api, const struct http_req *r, str number);
uint64_t live_number(const struct live *s);
