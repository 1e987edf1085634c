/* hub.h - the live side of a workspace: what happens in it, and who watches.
 *
 * The hub subscribes to the workspace's topic on the bus and keeps the last HUB_RING messages with
 * their numbers, so that a stream of the workspace can continue where it broke off. Each open
 * stream is a watcher; each conversation that a watcher follows is a watch, in the list of all
 * watches of that conversation (conv_watchers). When a person loses access, the watchers and
 * watches of that person are revoked in the same turn of the loop.
 *
 * Watchers and watches are embedded in the streams that own them; the hub lives as long as the
 * API. Loop thread only. */
#pragma once

#include "api/api.h"
#include "base/list.h"
#include "base/map.h"
#include "http/sse.h"

#define HUB_RING         500
#define HUB_PRESENCE_MAX 50 /* watchers of a conversation up to which coming and going is told */

struct api;
struct hub;
struct watcher;

/* A conversation that a watcher follows. Whether the watcher may still see it is asked before each
 * frame (hub_allows); an answer is good until the directory or the conversation's rules change. */
struct watch {
    struct list_node node;      /* in conv->watches */
    struct conv_watchers *conv; /* NULL = not watching */
    struct watcher *watcher;
    uint64_t allowed_in; /* generation of the directory + 1 in which it was allowed; 0 = unknown */
};

struct watcher_events {
    /* Nothing more may be sent: of this conversation, or (watch NULL) at all. The watch has been
     * stopped already. */
    void (*on_revoked)(struct watcher *w, struct watch *s);
    void (*on_news)(struct watcher *w, struct sse_frame *f);      /* NULL = wants no news */
    void (*on_heartbeat)(struct watcher *w, struct sse_frame *f); /* every 30 s; or NULL */
    /* The role in the workspace has changed: end each watch that hub_allows refuses now. */
    void (*on_role)(struct watcher *w);
    /* The participants of some conversation have changed: check the watches whose access is that
     * of another conversation. */
    void (*on_shared)(struct watcher *w);
};

struct watcher {
    struct list_node node; /* in the hub */
    struct hub *hub;
    const struct watcher_events *ev;
    struct actor *actor;     /* held; asked for its rights whenever something is sent */
    int64_t expires_ms;      /* of its credential when it was last checked; 0 = never */
    unsigned heartbeat_slot; /* in which second of the 30 s it gets its heartbeat */
};

/* The hub of a workspace, made when first needed. */
struct hub *hub_of(struct api *api, const struct api_space *space);
void hubs_free(struct api *api);

void hub_join(struct hub *h, struct watcher *w, const struct actor *actor);
void hub_leave(struct watcher *w); /* after its watches have been stopped */

struct watcher *hub_next_watcher(struct hub *h,
                                 struct watcher *w); /* NULL: the first; NULL at the end */

/* acl: of the conversation as it was just read, or NULL when the caller knows that the actor may
 * see it and only losing the membership can change that. */
void hub_watch_start(struct watcher *w, struct watch *s, str conv_id, const struct conv_acl *acl);
void hub_set_acl(struct watch *s, const struct conv_acl *acl); /* it was read again */
bool hub_allows(struct watch *s);                              /* may it be shown now? */
void hub_watch_stop(struct watch *s);                          /* a no-op when not watching */
/* {"users":[{userId, displayName}]}: the people who watch, each once, at most HUB_PRESENCE_MAX. */
void hub_write_presence(struct api *api, const struct watch *s, struct json_writer *w);

/* Sends the messages after this id to the watcher. False: some of them are not known any more (or
 * the id is not valid), and the client must load everything again. */
bool hub_replay(struct watcher *w, str last_id);
str hub_last_id(const struct hub *h, char out[48]);

/* ---- whose access ends ---- */

void hub_end_user(struct api *api, str workspace_id, str user_id); /* workspace empty = all */
void hub_end_workspace(struct api *api, str workspace_id);         /* it is gone, for everybody */
void hub_end_login(struct api *api, str session_id, str token_id);
void hub_role_changed(struct api *api, str workspace_id, str user_id);
