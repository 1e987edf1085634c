/* hub.h - the live side of a workspace: its recent messages, and the streams that watch it.
 *
 * The hub subscribes to the workspace's topic on the bus and keeps the last HUB_RING messages with
 * their numbers, so that a stream of the workspace can continue where it broke off. Each open
 * stream is a watcher; each conversation that a watcher follows is a watch, in the list of all
 * watches of that conversation (conv_watchers). When a person loses access, the watchers and
 * watches of that person are revoked in the same turn of the loop.
 *
 *   bus topic of the workspace
 *         | on_msg
 *         v
 *       hub --- ring[HUB_RING] --- hub_replay: a stream that reconnects
 *         |
 *         +-- watchers: one per stream ------------ on_frame, on_role, on_shared,
 *         |                                         on_revoked(watcher, NULL)
 *         +-- convs: conversation -> conv_watchers
 *                       | acl: who may see it
 *                       +-- watches: one per stream that follows the conversation
 *                                                   on_revoked(watcher, watch)
 *
 * A watcher: hub_join -> (on_frame, on_role, on_shared)* -> on_revoked, which may be repeated ->
 * hub_leave. A watch: hub_watch_start -> hub_allows before each frame -> hub_watch_stop, called by
 * its owner or by the hub before on_revoked.
 *
 * Order within one message: the new rules of the conversation are enforced (watches revoked), then
 * on_shared, then on_frame. So no stream sends a frame that its user may no longer see.
 *
 * Watchers and watches are embedded in the streams that own them; the hub lives as long as the API.
 * A callback may leave the hub and free its own watcher or watch, but no other. Loop thread
 * only. */
#pragma once

#include "api/api.h"
#include "base/list.h"
#include "base/map.h"
#include "http/sse.h"

#define HUB_RING        500
#define HUB_HEARTBEAT_S 30 /* between two heartbeats of a stream */
/* joins and leaves are announced up to this many watchers of a conversation */
#define HUB_PRESENCE_MAX 50

struct api;
struct hub;
struct watcher;

/* A conversation that a watcher follows. hub_allows checks before each frame whether the watcher
 * may still see it; the answer is cached until the directory or the conversation's rules change. */
struct watch {
    struct list_node node;      /* in conv->watches */
    struct conv_watchers *conv; /* NULL = not watching */
    struct watcher *watcher;
    bool is_quiet; /* set by the owner: nobody is present because of it */
    /* 1 + generation of the directory in which it was allowed; 0 = must be checked */
    uint64_t allowed_in;
};

struct watcher_events {
    /* Nothing more may be sent about this conversation, or (watch NULL) at all. The watch is
     * already stopped. */
    void (*on_revoked)(struct watcher *w, struct watch *s);
    /* News of the workspace, or a heartbeat: every 30 s. */
    void (*on_frame)(struct watcher *w, struct sse_frame *f);
    /* The user's role in the workspace changed: end each watch that hub_allows refuses now. */
    void (*on_role)(struct watcher *w);
    /* The participants of some conversation changed: check the watches whose access depends on
     * another conversation (child runs). */
    void (*on_shared)(struct watcher *w);
};

struct watcher {
    struct list_node node;   /* in hub->watchers */
    struct hub *hub;         /* NULL = has not joined, or has left */
    struct api_space *space; /* held by the owner */
    const struct watcher_events *ev;
    bool wants_news, wants_heartbeat;
    struct actor *actor;     /* held; its rights are checked whenever something is sent */
    int64_t expires_ms;      /* when its credential expires, as of the last check; 0 = never */
    unsigned heartbeat_slot; /* the second (of 30) in which it gets its heartbeat */
    unsigned nwatches;
};

/* The hub of a workspace, created on first use. */
struct hub *hub_of(struct api *api, const struct api_space *space);
void hubs_free(struct api *api);

/* Joins the hub of the workspace. The owner has set ev and the wants_ members. */
void hub_join(struct api *api, struct api_space *space, struct watcher *w,
              const struct actor *actor);
void hub_leave(struct watcher *w); /* after all its watches have been stopped */

struct watcher *hub_next_watcher(struct hub *h,
                                 /* w NULL: the first watcher; returns NULL after the last */
                                 struct watcher *w);

/* acl: the rules of the conversation, just read; NULL when the caller knows that the actor may see
 * the conversation and only losing the membership can change that. */
void hub_watch_start(struct watcher *w, struct watch *s, str conv_id, const struct conv_acl *acl);
void hub_set_acl(struct watch *s, const struct conv_acl *acl); /* the conversation was read again */
bool hub_allows(struct watch *s);                              /* may the watcher see it now? */
bool hub_may(const struct watch *s, enum conv_right right);    /* any right, now */
void hub_watch_stop(struct watch *s);                          /* a no-op when not watching */
/* Writes {"users":[{userId, displayName}]}: the people who watch, each once, at most
 * HUB_PRESENCE_MAX. */
void hub_write_presence(struct api *api, const struct watch *s, struct json_writer *w);

/* Tells streams of other servers who watches the conversation here. */
void hub_forward_presence(struct api *api, str workspace_id, str conv_id);

/* Sends this to the streams of the workspace that the watcher's person has open, and to nobody
 * else. It has no number: a stream that is not open now does not get it later. */
void hub_tell_person(const struct watcher *w, str type, str data);
void hub_tell_user(const struct hub *h, str user_id, str type, str data); /* likewise */
/* Likewise, and to streams on other servers. */
void hub_tell_everywhere(struct api *api, const struct api_space *space, str user_id, str type,
                         str data);

/* Sends the messages after this id to the watcher. False: some of them are no longer in the ring
 * (or the id is not valid), and the client must load everything again. */
bool hub_replay(struct watcher *w, str last_id);
str hub_last_id(const struct hub *h, char out[48]);

/* ---- ending access ---- */

void hub_end_user(struct api *api, str workspace_id, str user_id); /* an empty workspace = all */
void hub_end_workspace(struct api *api, str workspace_id);         /* it was deleted */
void hub_end_login(struct api *api, str session_id, str token_id);
void hub_role_changed(struct api *api, str workspace_id, str user_id);
