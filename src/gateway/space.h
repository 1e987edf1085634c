/* space.h - a workspace that clients of the gateway have used (struct gw_space).
 *
 * It is made for the first request and lives until gateway_space_gone or gateway_stop. It owns
 * everything that is in progress in the workspace. Each member belongs to the file that its comment
 * names; other files use the functions of that file. */
#pragma once

#include "gateway/gateway_impl.h"

enum gw_list { GW_TOOLS, GW_RESOURCES, GW_TEMPLATES, GW_PROMPTS, GW_LISTS };

struct param_headers;

/* http/headers.c: which arguments tools want repeated in headers; filled when a tool is called */
struct gw_headers {
    struct toolset *of;
    /* one for each item of the toolset; NULL = not computed yet */
    const struct param_headers **known;
    struct arena arena;
};

struct gw_space {
    struct list_node node; /* in gateway->spaces */
    struct gateway *g;
    struct registry *tools; /* identifies the workspace */
    struct bundles *bundles;
    struct runtime *runtime;
    char *id;
    struct registry_observer observer;
    struct list_node requests;  /* struct gw_request.node (request.c) */
    struct list_node listens;   /* struct gw_listen.node (methods/listen.c) */
    struct list_node ups;       /* struct upstream_call.all (upstream/upstream.c) */
    struct list_node suspended; /* struct upstream_call.node (upstream/suspended_calls.c) */
    struct map catalogs;        /* bundle -> struct gw_catalog (methods/catalog.c) */
    struct map pools;           /* bundle -> struct gw_pool (upstream/private_connections.c) */
    struct map watches;         /* "bundle\nuri" -> struct gw_watch (methods/listen.c) */
    struct list_node tasks;     /* struct gw_task, oldest first (upstream/task_ids.c) */
    size_t ntasks;
    struct gw_headers headers;
    struct deferred tell; /* notifies clients that lists have changed */
    unsigned changed;     /* bits of enum gw_list */
};

struct gw_space *gw_space_of(struct gateway *g, const struct gateway_caller *who);
/* Ends everything in it and frees it. */
void gw_space_forget(struct gw_space *s);
/* Sends the notification once, in a later turn of the loop. */
void gw_space_tell(struct gw_space *s, enum gw_list what);
