/* hub.h - the live side of a workspace: what happens in it, and who watches.
 *
 * The hub hears the workspace's topic on the bus and keeps the last HUB_RING news with their
 * numbers, so that a stream of the workspace can go on where it broke off. Everybody with an open
 * stream is a tap; each conversation a tap watches is a seat in the room of that conversation.
 * When somebody loses access, their taps and seats are revoked in the same turn of the loop.
 *
 * Taps and seats are embedded in the streams that own them; the hub lives as long as the API.
 * Loop thread only. */
#pragma once

#include "api/api.h"
#include "base/list.h"
#include "base/map.h"
#include "http/sse.h"

#define HUB_RING         500
#define HUB_PRESENCE_MAX 50 /* watchers of a conversation up to which coming and going is told */

struct api;
struct hub;
struct tap;

struct seat {
    struct list_node node; /* in the room */
    struct room *room;     /* NULL = not seated */
    struct tap *tap;
};

struct tap_events {
    /* Nothing more may be sent: of this conversation, or (seat NULL) at all. The seat has been
     * taken away already. */
    void (*on_revoked)(struct tap *t, struct seat *s);
    void (*on_news)(struct tap *t, struct sse_frame *f); /* NULL = wants no news */
    void (*on_beat)(struct tap *t, struct sse_frame *f); /* every 30 s; or NULL */
    /* The role in the workspace is another one: look whether each seat is still allowed. */
    void (*on_role)(struct tap *t);
    /* Who takes part in some conversation has changed: look at seats whose access is another
     * conversation's. */
    void (*on_shared)(struct tap *t);
};

struct tap {
    struct list_node node; /* in the hub */
    struct hub *hub;
    const struct tap_events *ev;
    struct viewer viewer; /* all strings are the stream's own */
    str session_id, token_id;
    int64_t expires_ms; /* of what they are known by; 0 = open end */
    bool is_operator;
    unsigned beat; /* when in the 30 s */
};

struct api_identity;
void tap_identify(struct tap *t, struct arena *a, const struct api_identity *id); /* copies */

/* The hub of a workspace, made when first needed. */
struct hub *hub_of(struct api *api, const struct api_space *space);
void hubs_free(struct api *api);

void hub_join(struct hub *h, struct tap *t);
void hub_leave(struct tap *t); /* its seats are given up before */

struct tap *hub_next_tap(struct hub *h, struct tap *t); /* NULL: the first; NULL at the end */

void hub_sit(struct tap *t, struct seat *s, str conv_id);
void hub_stand(struct seat *s); /* a no-op when not seated */
/* {"users":[{userId, displayName}]}: who watches, each once, at most HUB_PRESENCE_MAX. */
void hub_write_presence(struct api *api, const struct seat *s, struct json_writer *w);

/* Sends the news after this id to the tap. False: there is a gap (or nothing to go by), and the
 * client must load everything anew. */
bool hub_replay(struct tap *t, str last_id);
str hub_last_id(const struct hub *h, char out[48]);

/* ---- whose access ends ---- */

void hub_end_user(struct api *api, str workspace_id, str user_id); /* workspace empty = all */
void hub_end_workspace(struct api *api, str workspace_id);         /* it is gone, for everybody */
void hub_end_login(struct api *api, str session_id, str token_id);
void hub_role_changed(struct api *api, str workspace_id, str user_id, bool is_admin);
