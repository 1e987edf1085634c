/* bundle_impl.h - a tool call of a bundle, shared by bundle_source.c and bundle_ask.c only. */
#pragma once

#include "apps/bundle_source.h"
#include "base/map.h"

struct bundle_source;

struct bundle_tool_call {
    struct list_node node;
    struct bundle_source *source;
    struct bundle_call *call;
    str tool, call_id, run_id;
    str user_id; /* whose account it uses; empty = the workspace's */
    void *host;  /* tool_caller.host; NULL = no run, so nobody can be asked */
    struct list_node asks;
    int samplings; /* begun so far */
    tool_done_fn done;
    tool_progress_fn progress;
    void *ctx;
    struct arena arena;
};

struct bundle_source {
    struct bundle_sources *all;
    struct bundle *bundle;
    struct arena arena; /* name; */
    struct arena tools_arena;
    struct tool *tools;
    size_t ntools;
    struct list_node calls;
    struct tool_source source;
    char sampling_run[40]; /* the run in which a person has allowed sampling */
};

struct bundle_sources {
    struct runtime *rt;
    const char *project_dir;
    struct map by_bundle; /* server name -> struct bundle_source */
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
