/* live.h - an open event stream: of one conversation, of the workspace with any number of
 * conversations in it, or the answer to one chat message. All live events reach clients through
 * it.
 *
 * States of a conversation in a stream (struct live_conv in live.c):
 *
 *   live_watch --acl known--> following: watch + feed <------+------------------+
 *       |                        |                           | allowed          | live_answer_begin
 *       +--acl NULL--> checking: a store_get is in progress -+                  |
 *                                |                                              |
 *   live_answer ----------> queued: only the watch -----------------------------+
 *                                |
 *   deleted, revoked, refused, live_unwatch --> freed; a workspace stream sends watch.ended,
 *                                               a stream of one conversation is closed
 *
 * A stream ends when its client disconnects or is too slow, when its user's access ends, or with
 * the server. live_end stops sending immediately; on_live_closed frees the stream later, when the
 * connection is closed. The stream holds its workspace. Loop thread only. */
#pragma once

#include "api/exchange.h"
#include "api/frames.h"
#include "api/live/hub.h"
#include "bus/vocabulary.h"
#include "store/feed.h"

#define LIVE_WATCHES_MAX 50

struct live;

/* How one kind of stream differs from the others. */
struct live_kind {
    enum frame_form form; /* FRAME_OWN: it has one conversation and ends with it */
    bool has_news;        /* it receives the news of the workspace */
    bool is_answer;       /* it ends with a turn: no heartbeats, and not counted as a watch */
    const enum event_type *hidden; /* not sent */
    size_t nhidden;
    /* Receives the messages of the conversation, instead of the client; or NULL */
    void (*on_message)(void *owner, const struct bus_msg *msg);
    void (*on_lost)(void *owner);   /* the conversation, or the access to it, is gone: the last
                                       event may be sent, then the stream ends; or NULL */
    void (*on_closed)(void *owner); /* the stream is freed after this; or NULL */
};

extern const struct live_kind LIVE_CONVERSATION, LIVE_WORKSPACE;

/* Replies to the request and takes ownership of it. */
struct live *live_open(struct api *api, struct http_req *r, const struct live_kind *kind,
                       void *owner);
struct watcher *live_watcher(struct live *s);
void live_send(struct live *s, str event, str id, str data);
void live_send_json(struct live *s, str event, struct api_json *j); /* frees j */
void live_end(struct live *s); /* sends what is queued, then closes the connection */

/* Follows a conversation from this position on, or from STORE_FEED_TAIL. acl: the caller has just
 * checked that it may be seen; NULL: it is checked first, and if refused, a stream of the workspace
 * gets watch.ended. -ENOSPC: too many conversations. */
int live_watch(struct live *s, str conv_id, store_pos after, const struct conv_acl *acl);
void live_unwatch(struct live *s, str conv_id);

/* The conversation of an answer, whose access the turn has checked. Nothing of it is sent before
 * live_answer_begin: a queued message does not see events of the current run. */
void live_answer(struct live *s, str conv_id);
void live_answer_begin(struct live *s);
str live_answer_id(const struct live *s); /* id of the conversation, until the stream ends */

/* The caller's own stream with that number, or NULL. */
struct live *live_find(struct api *api, const struct http_req *r, str number);
uint64_t live_number(const struct live *s);
