/* tool.h - what a tool is, and how a call travels: source, registry, caller.
 *
 * A source offers tools (the built-in ones, or one bundle). It is a table of functions, so
 * that upper floors can provide tools to lower ones. Calls are asynchronous; a call is
 * answered exactly once through its callback unless it was cancelled. Loop thread only. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/json/json_decode.h"
#include "loop/loop.h"
#include "workspace/actor.h"

#define TOOL_NAME_MAX   64
#define TOOL_NO_TIMEOUT UINT64_MAX

struct tool {
    str name; /* within its source, as the source calls it */
    str title, description;
    const struct json *input_schema;
    const struct json *output_schema; /* or NULL */
    const struct json *annotations;   /* readOnlyHint, destructiveHint ...; or NULL */
    const struct json *meta;          /* _meta: ui.resourceUri ...; or NULL */
    bool is_internal;                 /* never shown to models */
    bool is_admin_only;               /* absent for everybody but workspace admins */
    /* A token needs this scope (workspace/actor.h); 0 = no more than its way here asks for. */
    unsigned scope;
    bool is_workspace_change;         /* installs, or edits what everybody's prompts contain */
    struct json_strs reading_actions; /* values of the argument "action" that change nothing */
    bool is_shell; /* runs commands where its caller is granted a directory: unconfined there */
    bool is_unconfined; /* can touch more than its own: asks before each call */
    /* Acts with an account of the person who asks: nobody else allows the call or answers what it
     * asks. */
    bool is_personal;
    uint64_t timeout_ms; /* 0 = its source's; TOOL_NO_TIMEOUT = ends by itself */
};

/* Who a call acts for. Borrowed for the duration of tool_source.call. */
struct tool_caller {
    const struct actor *actor;
    str conversation_id, run_id, call_id; /* may be empty */
    str via;                              /* how it came when not from a run: "api", "mcp", "cli" */
    int remaining_iterations;             /* of the calling run, for delegation */
    void *host; /* the runtime, for sources that need it; opaque to this floor */
};

/* An MCP CallToolResult. */
struct tool_result {
    const struct json *content;    /* array of content blocks; NULL = [] */
    const struct json *structured; /* structuredContent or NULL */
    const struct json *meta;       /* _meta or NULL */
    bool is_error;
};

/* Does a call with these arguments change nothing? */
bool tool_call_reads(const struct tool *t, const struct json *args);

typedef void (*tool_done_fn)(void *ctx, const struct tool_result *r);
typedef void (*tool_progress_fn)(void *ctx, double progress, double total, str message);

struct tool_call; /* owned by the source; dies with its answer or its cancellation */

struct tool_source {
    const char *name; /* "nb", "bash": the prefix before "__" */
    /* The tools now; stable until the source says it changed. */
    const struct tool *(*list)(void *self, size_t *ret_n);
    /* args is a validated object. Never calls back before it returns. */
    struct tool_call *(*call)(void *self, str tool, const struct json *args,
                              const struct tool_caller *who, tool_done_fn done,
                              tool_progress_fn progress, void *ctx);
    void (*cancel)(void *self, struct tool_call *c); /* no callback any more */
    /* Whether the caller has the rights for this call, without making it: a result with is_error
     * says why not. Answered and cancelled as `call` is. NULL: only calling tells. */
    struct tool_call *(*probe)(void *self, str tool, const struct json *args,
                               const struct tool_caller *who, tool_done_fn done, void *ctx);
    /* Why it has none of its tools now, and what to do about it: for people and models. Empty:
     * it has them. *ret_is_coming: they are on their way. NULL: it always has them. */
    str (*absence)(void *self, struct arena *a, bool *ret_is_coming);
    void *self;
    /* 0 = 6. A source whose calls wait for other calls of its own (delegation) must say
     * UINT_MAX, or they would wait for each other. */
    unsigned max_concurrent;
    uint64_t timeout_ms; /* 0 = 120 s */
};
