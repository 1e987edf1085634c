/* internal.h - how a built-in tool is written. */
#pragma once

#include "auth/rule.h"
#include "base/json/json_decode.h"
#include "builtin/builtin.h"
#include "tools/result.h"

#define BUILTIN_FEATURE(member) (offsetof(struct config_features, member) + 1)

struct builtin_call;

/* One of the things that a tool does. Rules are enforced before `call`. */
struct builtin_action {
    const char *name;        /* value of the argument "action" */
    const char *scope;       /* and of "scope" (when left out: "workspace"); NULL = any */
    struct access_rule rule; /* `space` and `conv` in place of the tool's, unless 0 */
    const char *admins_only; /* why, for others; NULL = a general sentence */
    bool is_read_only;       /* asks nobody for consent */
    const char *audited;     /* as in struct builtin_tool */
    void (*call)(struct builtin_call *c);
    /* Before anybody is asked for consent, with is_probe set: refuses what `call` would refuse, or
     * replies with nothing. NULL = the rule says it all. */
    void (*probe)(struct builtin_call *c);
};

struct builtin_tool {
    const char *name, *title, *description;
    const char *schema;      /* JSON Schema text of the arguments */
    struct access_rule rule; /* scope 0: read or write, by is_read_only */
    bool is_read_only;
    bool is_destructive;      /* asks for consent unless told otherwise */
    bool is_workspace_change; /* asks every time: it changes what others use */
    /* The switch that takes it away: offsetof in struct config_features, plus 1; 0 = none. */
    size_t feature;
    uint64_t timeout_ms; /* 0 = the registry's, TOOL_NO_TIMEOUT = it ends by itself */
    void (*call)(struct builtin_call *c); /* without actions */
    const struct builtin_action *actions; /* by the argument "action"; or NULL */
    size_t nactions;
    /* What a call is recorded as in the audit log; NULL = it is not audited. The operation records
     * itself (builtin_doer); this is for calls that are refused before. */
    const char *audited;
};

/* A call under way. */
struct builtin_call {
    struct list_node node;
    struct builtin *builtin;
    const struct builtin_tool *tool;
    const struct builtin_action *action; /* or NULL */
    struct access_rule rule;             /* of the tool and the action */
    bool is_probe;                       /* only whether it may be made */
    struct arena arena;
    const struct json *args;
    struct actor *actor; /* held */
    str conversation_id, run_id, call_id, via;
    bool is_recorded;         /* its operation records itself */
    bool is_refused;          /* for want of rights */
    int remaining_iterations; /* of the calling run */
    void *host;               /* tool_caller.host: the calling turn, or NULL */
    tool_done_fn done;
    tool_progress_fn progress;
    void *ctx;
    void *state;                              /* the tool's own */
    void (*on_cancel)(struct builtin_call *); /* it is being cancelled; or NULL */
    struct store_op *op;                      /* what it waits for, cancelled with it; or NULL */
    struct tool_result result;
    struct deferred answer;
};

#define BUILTIN_SOURCES_MAX 4

struct builtin_source { /* one of the namespaces: "nb", "conversations" */
    struct builtin *builtin;
    const struct builtin_tool *const *table;
    struct tool *tools;
    size_t ntools;
    struct tool_source source;
};

struct builtin {
    struct builtin_deps deps;
    struct arena arena;
    struct list_node calls;
    struct registry *registry;      /* once registered */
    struct bundles *bundles;        /* or NULL */
    struct bundle_changer *changer; /* or NULL */
    struct builtin_source sources[BUILTIN_SOURCES_MAX];
};

/* Exactly one of these per call. Text is copied; the answer goes out on the next turn. */
void builtin_reply(struct builtin_call *c, str text);
void builtin_reply_json(struct builtin_call *c, str text, const struct json *structured);
void builtin_fail(struct builtin_call *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for somebody who may not do this. */
void builtin_refuse(struct builtin_call *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- audited.c ---- */
/* For the operation that the call asks for: from here on the operation records itself. */
const struct doer *builtin_doer(struct builtin_call *c);
void builtin_record_refusal(struct builtin_call *c); /* when the call ends without an operation */

/* ---- bundle_status.c ---- */
/* A line or two for each bundle with `part` in its name; returns how many. */
size_t builtin_say_bundles(struct builtin_call *c, struct buf *b, str part);

extern const struct builtin_tool BUILTIN_STATUS, BUILTIN_TIME, BUILTIN_CALCULATE, BUILTIN_DELEGATE,
    BUILTIN_DISCOVER_TOOLS, BUILTIN_MANAGE_SKILL, BUILTIN_BUNDLE_STATUS, BUILTIN_MANAGE_BUNDLE,
    BUILTIN_DISCOVER_BUNDLES, BUILTIN_MANAGE_CONVERSATION;
extern const struct builtin_tool BUILTIN_CONV_LIST, BUILTIN_CONV_GET, BUILTIN_CONV_SEARCH,
    BUILTIN_CONV_STATS, BUILTIN_CONV_UPDATE, BUILTIN_CONV_DELETE, BUILTIN_CONV_FORK,
    BUILTIN_CONV_NOTE, BUILTIN_CONV_EXPORT;
