/* view_rpc.h - one request of an interface (POST /v1/views/:view/rpc), until it is answered.
 *
 * The answer is JSON-RPC without its envelope: {result} or {error}. A client that accepts
 * text/event-stream gets it as the last event, `done`, after `progress` and `ask`; only such a
 * client can be asked. Closing the request cancels its work, and so does the end of the view. */
#pragma once

#include "api/views/views.h"
#include "mcp/client.h"
#include "mcp/protocol.h"

enum {
    VIEW_RPC_REFUSED = -32000,
    VIEW_RPC_NEEDS_PERSON = -32001, /* a person must allow it, and cannot be asked */
};

enum ask_decision { ASK_DENY, ASK_ALLOW, ASK_ALWAYS };

struct view_rpc {
    struct list_node node; /* in view->rpcs, until it is answered */
    struct app_view *view;
    struct arena arena;
    struct http_req *req; /* answered as JSON; NULL: */
    struct sse *sse;      /* answered as events */
    struct actor *actor;  /* held */
    str method;
    const struct json *params; /* or NULL */
    bool is_confirmed;         /* the person has seen what it does */

    /* The work in progress, for the file of its method. `cancel` ends it; no callback follows. */
    void (*cancel)(struct view_rpc *q);
    void *work;
    uint64_t started_ms;
    /* A forwarded request: its result, before it is the answer; or NULL. */
    void (*heard)(struct view_rpc *q, const struct json *result);
    bool is_change; /* tools/call: it may have changed something */

    /* An open question to the person; ask_id is empty without one. */
    char ask_id[32];
    bool can_remember;
    void (*decided)(struct view_rpc *q, enum ask_decision d);
};

/* ---- answering: each frees the request, or leaves it to its stream ---- */

void view_rpc_result(struct view_rpc *q, const struct json *result); /* NULL = {} */
void view_rpc_error(struct view_rpc *q, const struct json *error);   /* a JSON-RPC error object */
void view_rpc_fail(struct view_rpc *q, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void view_rpc_progress(struct view_rpc *q, double progress, double total, str message);

/* Asks the view's own server, in the person's name; its answer is the answer. */
void view_rpc_forward(struct view_rpc *q, const struct mcp_request *req);

struct view_ask {
    const char *kind;                  /* "tool", "sampling" */
    str tool, title;                   /* may be empty */
    const struct json *input, *detail; /* or NULL */
    bool can_remember;
};
/* Asks the person; `decided` follows. Nobody can be asked, or too many questions are open: the
 * request is answered with an error. */
void view_rpc_ask(struct view_rpc *q, const struct view_ask *ask,
                  void (*decided)(struct view_rpc *q, enum ask_decision d));

void view_rpcs_end(struct app_view *v); /* the view ends */

/* Calls and messages of interfaces count like those that the person sends. */
bool view_rpc_is_too_fast(struct view_rpc *q, enum rate_kind kind);

/* A record of the audit log about this view. An interface can have itself refused without end: only
 * its first VIEW_REFUSALS refusals are recorded. */
void view_audit(struct view_rpc *q, str tool, str detail);
void view_audit_refusal(struct view_rpc *q, str tool, str why);

/* ---- view_tasks.c: calls whose result is fetched later ---- */

/* The interface wants to have this call as a task, and its server can. */
bool view_task_is_wanted(const struct view_rpc *q);
void view_task_begin(struct view_rpc *q, const struct toolset_item *it);
bool view_has_tasks(const struct app_view *v); /* its server can */

/* ---- methods: each answers now or later ---- */

void view_tools_call(struct view_rpc *q); /* view_call.c */
void view_tools_list(struct view_rpc *q);
void view_task(struct view_rpc *q);    /* view_tasks.c */
void view_message(struct view_rpc *q); /* view_words.c */
void view_update_context(struct view_rpc *q);
void view_sample(struct view_rpc *q); /* view_sampling.c */
