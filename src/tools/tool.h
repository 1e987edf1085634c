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
#include "base/list.h"
#include "loop/timer.h"
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
    bool is_internal;                 /* neither shown to models nor called by them */
    str ui_uri;                       /* ui:// resource of its interface; empty = none */
    bool is_for_apps;                 /* interfaces of its source may call it */
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
    /* An open interface offers it, in its own words: asks before each call that may change
     * something, and is never allowed permanently. */
    bool is_of_view;
    str rule_name;       /* what rules and filters match; empty = the public name */
    uint64_t timeout_ms; /* 0 = that of its source; TOOL_NO_TIMEOUT = it limits itself */
};

/* The caller of a tool. */
struct tool_caller {
    const struct actor *actor;
    str conversation_id, run_id, call_id; /* may be empty */
    str via; /* entry point without a run: "api", "mcp", "cli", "app" */
    /* The source whose interface makes the call, and the view that shows it; empty = no interface.
     * Such a call reaches the tools of that source that are for apps, and no others. */
    str app, view_id;
    int remaining_iterations; /* of the calling run, for delegation */
    void *host;               /* the calling turn, for sources that need it; opaque to this floor */
};

/* An MCP CallToolResult. */
struct tool_result {
    const struct json *content;    /* array of content blocks; NULL = [] */
    const struct json *structured; /* structuredContent or NULL */
    const struct json *meta;       /* _meta or NULL */
    /* Files that the call has made, as parts (store/event/blobs.h); NULL = none. Only nb itself
     * sets it, because the conversation gets every file that is named here. */
    const struct json *files;
    /* Pictures of the content as models get them: [{part, mimeType, data, width, height}], or
     * {part, problem}; NULL = as they came. Only nb itself sets it. */
    const struct json *views;
    bool is_error;
    bool is_absent; /* the tool gave no result: content says why (refused, cancelled, timed out) */
};

/* True when a call with these arguments changes nothing. */
bool tool_call_reads(const struct tool *t, const struct json *args);

/* ---- a call ---- */

/* Called exactly once, never before registry_call returned, unless the call was cancelled. The
 * result is borrowed for the callback. */
struct tool_call_events {
    void (*done)(void *ctx, const struct tool_result *result);
    void (*progress)(void *ctx, double progress, double total, str message); /* or NULL */
};

/* One call of one tool, on its way between a caller and a source. A source that needs more memory
 * per call declares a struct that begins with this one, and sets tool_source.call_size. A source
 * uses the first part, and ends the call with tool_call_answer.
 *
 * A call of a bundle's tool has four records. Each is kept by one file, owns the next one, and is
 * the only one that cancels it:
 *
 *   record       file                            answered by                 cancelled by
 *   run_call     engine/run_tools.c              its tool, or a refusal      run_cancel_tools
 *   tool_call    tools/registry_call.c           its source; the registry:   registry_cancel
 *                                                time, size, source removed
 *   bundle_call  bundle/supervise/bundle_call.c  the server; a bundle that   bundle_cancel
 *                                                has stopped or is busy
 *   mcp_call     mcp/client/call.c               the server; time limits;    mcp_cancel
 *                                                the end of the connection
 *
 * Callers without a run (api/apps/tools.c, gateway/methods/tools.c) take the place of the first
 * record; a built-in tool ends at the second. The source's part of the second record holds what
 * must end with the call (apps/bundle_impl.h: questions to people; builtin/internal.h: operations
 * of the store).
 *
 * The caller keeps the arguments until the answer or the cancellation; no record copies them. */
struct tool_call {
    struct arena arena; /* for everything that lives as long as the call */
    str name, tool;     /* public, and within its source */
    const struct json *args;
    struct tool_caller who; /* a copy; holds the actor */
    bool is_probe;          /* tool_source.probe was called, not start */

    /* the rest belongs to the registry */
    struct list_node node; /* in source->running, source->waiting or registry->ending */
    struct registry *registry;
    struct registry_source *source; /* NULL while ending */
    const struct tool_call_events *ev;
    void *ctx;
    bool is_running; /* the source has it */
    uint64_t timeout_ms;
    struct timer timeout;
    struct deferred answer; /* delivers `result` */
    struct tool_result result;
};

/* For the source of the call. The call is freed before tool_call_answer returns. */
void tool_call_answer(struct tool_call *c, const struct tool_result *result);
void tool_call_progress(const struct tool_call *c, double progress, double total, str message);

/* ---- a source ---- */

/* The runs that may use a private source: those in this conversation that act for this person and
 * for nobody else, and with this token (empty: with none), so that neither a token nor what it may
 * not call learns anything from the other. */
struct tool_audience {
    str conversation_id, user_id, token_id;
};

/* The audience that a run of this actor belongs to; all empty when it acts for several. */
struct tool_audience tool_audience_of(const struct actor *a, str conversation_id);

struct tool_source {
    const char *name; /* "nb", "bash": the prefix before "__" */
    /* The current tools; valid until registry_changed. */
    const struct tool *(*list)(void *self, size_t *ret_n);
    /* Begins a call; its arguments are a validated object. Never answers before it returns. */
    void (*start)(void *self, struct tool_call *c);
    /* Ends what `start` or `probe` began. The call must not be answered any more. */
    void (*cancel)(void *self, struct tool_call *c);
    /* Checks the caller's rights for this call without making it: a result with is_error gives the
     * reason of a refusal. Answered and cancelled like `start`. NULL: only the call itself checks.
     */
    void (*probe)(void *self, struct tool_call *c);
    /* Why its tools are not available now, and what to do about it: for people and models. Empty:
     * they are available. *ret_is_coming: the source is starting. NULL: always available. */
    str (*absence)(void *self, struct arena *a, bool *ret_is_coming);
    void *self;
    /* NULL = everybody in the workspace. A private source is in no list but that of its audience;
     * its name has a dot, so that it is never the name of a bundle. */
    const struct tool_audience *only_for;
    size_t call_size; /* of the struct that begins with a struct tool_call; 0 = nothing follows */
    /* 0 = 6. A source whose calls wait for other calls of the same source (delegation) must set
     * UINT_MAX, to avoid a deadlock. */
    unsigned max_concurrent;
    uint64_t timeout_ms; /* 0 = 120 s */
    /* Texts and JSON of its tools outlive every toolset, so that they are not copied. */
    bool is_constant;
};
