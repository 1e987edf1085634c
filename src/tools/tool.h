/* tool.h - tools, their sources, and the values of a tool call.
 *
 * A source offers tools (the built-in ones, or those of one bundle). It is a table of functions,
 * so that upper floors can provide tools to lower ones. Calls are asynchronous; a call is answered
 * exactly once through its callback, unless it was cancelled. Loop thread only. */
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
    str name; /* within its source, without the prefix */
    str title, description;
    const struct json *input_schema;
    const struct json *output_schema; /* or NULL */
    const struct json *annotations;   /* readOnlyHint, destructiveHint ...; or NULL */
    const struct json *meta;          /* _meta: ui.resourceUri ...; or NULL */
    bool is_internal;                 /* never shown to models */
    bool is_admin_only;               /* absent for everybody but workspace admins */
    /* A token needs this scope (workspace/actor.h); 0 = no scope beyond that of the API used. */
    unsigned scope;
    bool is_workspace_change;         /* installs bundles, or edits parts of all prompts */
    struct json_strs reading_actions; /* values of the argument "action" that change nothing */
    bool is_shell;      /* runs commands; in a directory granted by the caller it is unconfined */
    bool is_unconfined; /* no sandbox confines it: asks before each call */
    /* Uses an account of the person it acts for: nobody else may allow the call or answer its
     * questions. */
    bool is_personal;
    uint64_t timeout_ms; /* 0 = that of its source; TOOL_NO_TIMEOUT = it limits itself */
};

/* The caller of a tool. Borrowed for the duration of tool_source.call. */
struct tool_caller {
    const struct actor *actor;
    str conversation_id, run_id, call_id; /* may be empty */
    str via;                              /* entry point without a run: "api", "mcp", "cli" */
    int remaining_iterations;             /* of the calling run, for delegation */
    void *host; /* the calling turn, for sources that need it; opaque to this floor */
};

/* An MCP CallToolResult. */
struct tool_result {
    const struct json *content;    /* array of content blocks; NULL = [] */
    const struct json *structured; /* structuredContent or NULL */
    const struct json *meta;       /* _meta or NULL */
    bool is_error;
};

/* True when a call with these arguments changes nothing. */
bool tool_call_reads(const struct tool *t, const struct json *args);

typedef void (*tool_done_fn)(void *ctx, const struct tool_result *r);
typedef void (*tool_progress_fn)(void *ctx, double progress, double total, str message);

struct tool_call; /* owned by the source; freed with its answer or its cancellation */

struct tool_source {
    const char *name; /* "nb", "bash": the prefix before "__" */
    /* The current tools; valid until registry_changed. */
    const struct tool *(*list)(void *self, size_t *ret_n);
    /* args is a validated object. Never calls back before it returns. */
    struct tool_call *(*call)(void *self, str tool, const struct json *args,
                              const struct tool_caller *who, tool_done_fn done,
                              tool_progress_fn progress, void *ctx);
    void (*cancel)(void *self, struct tool_call *c); /* no callback follows */
    /* Checks the caller's rights for this call without making it: a result with is_error gives the
     * reason of a refusal. Answered and cancelled like `call`. NULL: only the call itself checks.
     */
    struct tool_call *(*probe)(void *self, str tool, const struct json *args,
                               const struct tool_caller *who, tool_done_fn done, void *ctx);
    /* Why its tools are not available now, and what to do about it: for people and models. Empty:
     * they are available. *ret_is_coming: the source is starting. NULL: always available. */
    str (*absence)(void *self, struct arena *a, bool *ret_is_coming);
    void *self;
    /* 0 = 6. A source whose calls wait for other calls of the same source (delegation) must set
     * UINT_MAX, to avoid a deadlock. */
    unsigned max_concurrent;
    uint64_t timeout_ms; /* 0 = 120 s */
};
