/* bundle_impl.h - declarations that bundle_source.c and bundle_ask.c share. */
#pragma once

#include "apps/bundle_source.h"
#include "apps/ui_resource.h"
#include "base/map.h"

struct bundle_files;
struct bundle_source;

struct bundle_tool_call { /* what a bundle's tool adds to the record of the call */
    struct tool_call call;
    struct bundle_source *source;
    struct bundle_call *sent;         /* owned; NULL after its answer */
    struct bundle_files *files;       /* owned; NULL: the call exchanges none */
    struct bundle_pictures *pictures; /* of its result, while they are being prepared */
    struct tool_result res;           /* while its files are being kept, or its pictures prepared */
    str user_id;                      /* whose account it uses; empty = the workspace's */
    struct list_node asks;            /* struct pending_ask; dropped with the call */
    int samplings;                    /* begun so far */
};

struct bundle_source {
    struct bundle_sources *all;
    struct bundle *bundle;
    struct arena arena; /* name; */
    struct arena tools_arena;
    struct tool *tools;
    size_t ntools;
    struct tool_source source;
    char sampling_run[40]; /* the run in which a person has allowed sampling */
};

struct bundle_sources {
    struct runtime *rt;
    const char *project_dir;
    struct map by_bundle; /* server name -> struct bundle_source */
    struct ui_pages pages;
    void (*changed)(void *ctx, struct bundle *b, enum bundle_change what);
    void (*notified)(void *ctx, struct bundle *b, str method, const struct json *params);
    void *ctx;
};

/* ---- bundle_ask.c ---- */
void bundle_ask(struct bundle_tool_call *c, struct mcp_ask *a);
void bundle_ask_gone(struct bundle_tool_call *c, struct mcp_ask *a);
void bundle_asks_drop(struct bundle_tool_call *c); /* the call has ended */
/* A request of the server outside of any call: answers only what needs no person. */
void bundle_ask_alone(struct bundle_sources *all, const struct bundle *b, struct mcp_ask *a);
