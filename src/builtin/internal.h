/* internal.h - how a built-in tool is written. */
#pragma once

#include "auth/rule.h"
#include "base/json/json_decode.h"
#include "builtin/builtin.h"
#include "tools/result.h"

#define BUILTIN_FEATURE(member) (offsetof(struct config_features, member) + 1)

struct builtin_call;

/* One action of a tool. Its rule is enforced before `call`. */
struct builtin_action {
    const char *name;        /* value of the argument "action" */
    const char *scope;       /* and of "scope" (when left out: "workspace"); NULL = any */
    struct access_rule rule; /* `space` and `conv` in place of the tool's, unless 0 */
    const char *admins_only; /* error text for non-admins; NULL = a general one */
    bool is_read_only;       /* needs no consent */
    const char *audited;     /* as in struct builtin_tool */
    void (*call)(struct builtin_call *c); /* or: */
    void (*found)(struct builtin_call *c, const struct conv *conv);
    /* Called before anybody is asked for consent, with is_probe set: refuses what `call` would
     * refuse, or replies with an empty text. NULL = only the rule is checked. */
    void (*probe)(struct builtin_call *c);
};

struct builtin_tool {
    const char *name, *title, *description;
    const char *schema;      /* JSON Schema text of the arguments */
    struct access_rule rule; /* scope 0: read or write, by is_read_only */
    bool is_read_only;
    bool is_destructive;      /* needs consent unless a rule allows it */
    bool is_workspace_change; /* needs consent every time: it affects other people */
    /* The setting that disables it: offsetof in struct config_features, plus 1; 0 = none. */
    size_t feature;
    uint64_t timeout_ms; /* 0 = that of the registry, TOOL_NO_TIMEOUT = it limits itself */
    void (*call)(struct builtin_call *c); /* without actions; or: */
    /* With a rule for a conversation: conv_tool_find has found it. */
    void (*found)(struct builtin_call *c, const struct conv *conv);
    const struct builtin_action *actions; /* by the argument "action"; or NULL */
    size_t nactions;
    /* Action name in the audit log; NULL = it is not audited. The operation writes its own record
     * (builtin_doer); this is for calls that are refused before the operation. */
    const char *audited;
};

struct builtin_call { /* what a built-in tool adds to the record of the call */
    struct tool_call call;
    struct builtin *builtin;
    const struct builtin_tool *tool;
    const struct builtin_action *action;      /* or NULL */
    struct access_rule rule;                  /* of the tool and the action */
    bool is_recorded;                         /* its operation writes the audit record */
    bool is_refused;                          /* because of missing rights */
    void *state;                              /* the tool's own */
    void (*on_cancel)(struct builtin_call *); /* it is being cancelled; or NULL */
    struct store_op *op;                      /* in progress, cancelled with the call; or NULL */
    struct seen_files *files;                 /* of files__* tools; freed with the call; or NULL */
    struct tool_result result;
    struct deferred answer; /* delivers `result` */
};

#define BUILTIN_SOURCES_MAX 4

struct builtin_source { /* one of the namespaces: "nb", "conversations", "files" */
    struct builtin *builtin;
    const struct builtin_tool *const *table;
    struct tool *tools;
    size_t ntools;
    struct tool_source source;
};

struct builtin {
    struct builtin_deps deps;
    struct builtin_catalog *own; /* deps.catalog; NULL = that of the server */
    struct arena arena;
    struct registry *registry;      /* once registered */
    struct bundles *bundles;        /* or NULL */
    struct bundle_changer *changer; /* or NULL */
    struct builtin_source sources[BUILTIN_SOURCES_MAX];
};

/* Call exactly one of these per call. Text is copied; the answer is delivered in the next iteration
 * of the loop. */
void builtin_reply(struct builtin_call *c, str text);
void builtin_reply_json(struct builtin_call *c, str text, const struct json *structured);
void builtin_answer(struct builtin_call *c, struct tool_result result);
void builtin_fail(struct builtin_call *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a caller without the right; the audit log records it as denied. */
void builtin_refuse(struct builtin_call *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- audited.c ---- */
/* The doer for the operation of this call, which writes the audit record from here on. */
const struct doer *builtin_doer(struct builtin_call *c);
void builtin_record_refusal(struct builtin_call *c); /* when the call ends without an operation */

/* ---- bundle_status.c ---- */
/* Writes one or two lines for each bundle with `part` in its name; returns the number of bundles.
 */
size_t builtin_say_bundles(struct builtin_call *c, struct buf *b, str part);

extern const struct builtin_tool BUILTIN_STATUS, BUILTIN_TIME, BUILTIN_CALCULATE, BUILTIN_DELEGATE,
    BUILTIN_DISCOVER_TOOLS, BUILTIN_MANAGE_SKILL, BUILTIN_BUNDLE_STATUS, BUILTIN_MANAGE_BUNDLE,
    BUILTIN_DISCOVER_BUNDLES, BUILTIN_MANAGE_CONVERSATION;
extern const struct builtin_tool BUILTIN_CONV_LIST, BUILTIN_CONV_GET, BUILTIN_CONV_SEARCH,
    BUILTIN_CONV_STATS, BUILTIN_CONV_UPDATE, BUILTIN_CONV_DELETE, BUILTIN_CONV_FORK,
    BUILTIN_CONV_NOTE, BUILTIN_CONV_EXPORT;
extern const struct builtin_tool BUILTIN_FILES_LIST, BUILTIN_FILES_READ, BUILTIN_FILES_SEARCH,
    BUILTIN_FILES_WRITE;
