/* live.h - an open stream: of one conversation, or of the workspace with any number of
 * conversations in it.
 *
 * A stream ends when its client leaves or is too slow, when its owner's access ends, or with the
 * server. It holds its workspace. Loop thread only. */
#pragma once

#include "api/internal.h"
#include "api/live/hub.h"
#include "store/feed.h"

#define LIVE_WATCHES_MAX 50

struct live;

/* Answers the request and takes it over. A stream of the workspace gets its news; that of a
 * conversation ends with it. */
struct live *live_open(struct api *api, struct http_req *r, bool is_workspace);
struct watcher *live_watcher(struct live *s);
void live_send(struct live *s, str event, str id, str data);

/* From this position on, or STORE_FEED_TAIL. acl: the caller has just found that it may be
 * seen; NULL: that is looked up first, and if it may not, a stream of the workspace gets
 * watch.ended. -ENOSPC: too many. */
int live_watch(struct live *s, str conv_id, store_pos after, const struct conv_acl *acl);
void live_unwatch(struct live *s, str conv_id);

/* The caller's own stream of that number, or NULL. */
struct live *live_find(struct api *api, const struct http_req *r, str number);
uint64_t live_number(const struct live *s);
