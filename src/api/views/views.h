/* views.h - views: interfaces of tools that people have open (MCP Apps).
 *
 * The page shows the interface of a tool in a frame and relays its messages; the view is what the
 * server knows about that frame: whose it is, which conversation, call and source it belongs to.
 * Requests of an interface act for the view that they name, for the person who opened it, and only
 * with tools of the view's own source. The names that the interface itself sends decide nothing.
 *
 * A view is a watcher of its workspace and its conversation (live/hub.h), so it ends in the same
 * turn of the loop in which its person loses access: its work is cancelled, and its id is unknown
 * from then on. It also ends with its conversation, when its bundle is removed or replaced, after
 * VIEW_IDLE_MS without a request, and when its person opens too many. Loop thread only.
 *
 *   layout.c        where the document around the interface comes from
 *   sandbox_page.c  that document
 *   views.c         the set, the life of a view
 *   view_open.c     POST and GET: the call, its arguments and result, the interface
 *   view_json.c     a view as the page gets it
 *   call_search.c   a call in the log
 *   shell.c         placements: interfaces without a tool call
 *   view_rpc.c      requests of the interface
 *   view_call.c     tools/call
 *   view_tasks.c    tasks/get, tasks/result, tasks/cancel
 *   view_tools.c    tools that the interface offers to the agent
 *   view_words.c    ui/message, ui/update-model-context
 *   view_sampling.c sampling/createMessage */
#pragma once

#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/live/hub.h"
#include "api/views/layout.h"
#include "apps/ui_meta.h"
#include "tools/registry.h"

#define VIEWS_PER_PERSON 64 /* beyond it the person's least recently used view ends */
#define VIEWS_MAX        4096
#define VIEW_ID_LEN      37 /* "view_" and 24 random bytes in base64url */
#define VIEW_IDLE_MS     (30u * 60 * 1000)
#define VIEW_CALLS_MAX   8  /* requests in progress in one view */
#define VIEW_ASKS_MAX    8  /* of these, those that wait for the person */
#define VIEW_RATE        20 /* requests per second in one view, */
#define VIEW_BURST       60 /* and in one burst */
#define VIEW_SAMPLINGS   20 /* model calls for one view */
#define VIEW_REFUSALS    50 /* of one view that are in the audit log */
#define VIEW_MESSAGES    10 /* of one view, in a minute, that the person has not confirmed */

struct app_view {
    struct api *api;
    struct list_node node;  /* in views.all */
    struct watcher watcher; /* has the workspace, which is held, and the actor */
    struct watch watch;
    struct bus_sub *deletion; /* of the conversation */
    struct registry_observer sources;
    unsigned generation;      /* of the bundle that was there when it was opened */
    struct view_tools *tools; /* view_tools.c: NULL = it offers none */
    struct store_op *look;    /* whether a child run may still be seen */
    bool is_child;
    struct arena arena;
    char id[VIEW_ID_LEN + 1];

    str conversation_id, call_id; /* empty: a placement */
    store_pos position;           /* where the call is in the log; a hint */
    str source, uri;
    str tool;  /* as the server names it; empty: a placement */
    str model; /* of the conversation when it was opened; may be empty */
    str host_origin;
    bool is_apart;
    struct ui_csp csp;
    unsigned permissions;

    bool is_open;              /* its id was sent to the page */
    struct list_node openings; /* view_open.c: requests that open it, or read its state */
    struct list_node rpcs;     /* view_rpc.c: struct view_rpc */
    size_t nrpcs;
    double tokens; /* requests that it may send now */
    uint64_t refilled_ms, used_ms;
    struct map called; /* view_call.c: tools whose first call was recorded */
    unsigned refusals; /* view_rpc.c: that were recorded */

    struct buf context; /* view_words.c: what the model is told with the next message */
    bool is_context_new;
    unsigned messages; /* that were not confirmed, in the minute from */
    uint64_t messages_ms;
    struct map tasks;   /* view_tasks.c: ids that its server gave to its calls */
    unsigned samplings; /* view_sampling.c: model calls so far */
};

struct views {
    struct list_node all; /* struct app_view, least recently used first */
    struct map by_id;     /* of the same */
    struct timer sweep;
};

struct views *views_new(struct api *api);
void views_end_all(struct views *s);
void views_free(struct views *s); /* after views_end_all */

/* For the caller of the request, who may use the workspace. */
struct app_view *view_new(struct api *api, struct http_req *r);
/* Watches the conversation, whose rules were just read; before that only losing the membership ends
 * the view. */
void view_enter(struct app_view *v, const struct conv *c);
/* Cancels its work and frees it. */
void view_end(struct app_view *v);

/* The view of the path, r->params[0], if the caller has opened it with the same login; it counts as
 * used. Otherwise NULL, and 404 was sent. */
struct app_view *view_of_request(struct api *api, struct http_req *r);
struct app_view *views_find(struct api *api, str id); /* of anybody */

struct bundle *view_bundle(const struct app_view *v); /* NULL: it is not installed any more */

/* False: it has sent too many requests. */
bool view_take_token(struct app_view *v);

/* What the person's views in this conversation tell the model, as far as it was not told before; at
 * most TURN_CONTEXTS_MAX, the most recently used ones. They count as told until the message that
 * takes them is refused. */
size_t views_contexts(struct api *api, const struct actor *who, struct arena *a, str conv_id,
                      const struct view_context **ret);
void views_untold(struct api *api, const struct actor *who, str conv_id);

/* The layout for this request. */
struct view_layout view_layout(const struct api *api, struct http_req *r, bool is_single_wanted);
