/* client.h - one connection to one MCP server, whatever its era and its transport.
 *
 * Opening finds out what the server speaks: the stateless revision first, then the handshake
 * of the older ones, over HTTP also the oldest transport with its two endpoints. From then on
 * callers see requests, answers and what the server asks back; which era carried them does
 * not show. A stateless server that needs input ("input_required") has its questions put to
 * the host and its request repeated, unless the caller wants the bare answer.
 *
 * Every request is answered exactly once, never before mcp_request returned, unless it is
 * cancelled. JSON is passed on as it came: unknown fields survive. Loop thread only. */
#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "loop/loop.h"
#include "mcp/protocol.h"
#include "net/child.h"
#include "net/fetch.h"

struct mcp_client;
struct mcp_call; /* a request under way; dies with its answer or its cancellation */

/* ---- how to reach it ---- */

enum mcp_wire {
    MCP_WIRE_STDIO,
    MCP_WIRE_HTTP, /* Streamable HTTP; falls back to the oldest transport by itself */
    MCP_WIRE_SSE,  /* the oldest transport at once: GET a stream, POST to where it says */
};

struct mcp_dial { /* copied by mcp_open */
    enum mcp_wire wire;
    struct child_spec child; /* stdio: the command as it is run, sandbox included */
    str url;                 /* HTTP; credentials belong in headers */
    const struct fetch_header *headers;
    size_t nheaders;
    unsigned fetch_flags;        /* FETCH_PUBLIC_ONLY ... for every request, redirects included */
    enum mcp_era era;            /* known from an earlier connection; UNKNOWN probes */
    uint64_t connect_timeout_ms; /* until ready; 0 = 30 s stdio, 15 s HTTP */
    struct mcp_reconnect {       /* of a broken stream; 0 = 1 s, 30 s, 5 times, growth 1.5 */
        uint64_t initial_ms, max_ms;
        unsigned max_tries;
    } reconnect;
};

/* ---- what the server may want of us ---- */

enum mcp_ask_kind { MCP_ASK_SAMPLING, MCP_ASK_ELICITATION, MCP_ASK_ROOTS };

struct mcp_ask { /* owned by the client; valid until answered, or until ask_gone */
    enum mcp_ask_kind kind;
    const struct json *params;
    struct mcp_call *call; /* during which it came, or NULL when that cannot be told */
    void *user;            /* the host's own */
};

void mcp_ask_answer(struct mcp_ask *a, const struct json *result); /* copied */
void mcp_ask_refuse(struct mcp_ask *a, int code, const char *message);

struct mcp_host {                    /* all optional; lives as long as the client */
    const struct json *capabilities; /* ClientCapabilities that we declare; NULL = {} */
    void (*ask)(void *ctx, struct mcp_ask *a);
    /* The server no longer wants to know, or the call or the connection has ended. Not for
     * questions that a call was asked itself and that go with its cancellation. */
    void (*ask_gone)(void *ctx, struct mcp_ask *a);
    /* Everything else that belongs to no call: list_changed, resources/updated,
     * elicitation/complete, tasks/status, and log messages. */
    void (*notified)(void *ctx, str method, const struct json *params);
    void (*said)(void *ctx, str bytes); /* stderr of a child */
    void *ctx;
};

/* ---- the connection ---- */

struct mcp_client_events {
    void (*ready)(void *ctx);
    /* The last call: it could not be opened, or was lost, or closed. Calls under way have been
     * answered. The client is freed after this. code of err: 0 after mcp_close. Over HTTP a
     * server is lost when its stream of notifications is and cannot be opened again; without
     * such a stream only requests show it. */
    void (*closed)(void *ctx, const struct err *err);
};

/* The fetcher may be NULL for stdio. Never calls back before it returns. */
struct mcp_client *mcp_open(struct loop *l, struct fetcher *f, const struct mcp_dial *dial,
                            const struct mcp_host *host, const struct mcp_client_events *ev,
                            void *ctx);
/* In order: stdin is closed, then signals follow; sessions are deleted. `closed` comes later. */
void mcp_close(struct mcp_client *c);
/* At once, without any callback; a child is killed. */
void mcp_abort(struct mcp_client *c);

/* What the server says of itself stays as it is, unless it begins a new session and says
 * something else: then `notified` reports that its lists have changed. */
enum mcp_era mcp_era(const struct mcp_client *c);
str mcp_version(const struct mcp_client *c);                            /* "2025-11-25" */
const struct json *mcp_server_capabilities(const struct mcp_client *c); /* never NULL once ready */
const struct json *mcp_server_info(const struct mcp_client *c);         /* or NULL */
str mcp_instructions(const struct mcp_client *c);
int mcp_pid(const struct mcp_client *c); /* 0 when it is not a child of ours */
/* It has sent a request of its own on a stream that calls share: from now on it should carry one
 * call at a time, because nothing says to which call such a request belongs. A question for the
 * roots counts only during a call that may lead to it. Never true of the stateless era. */
bool mcp_has_asked(const struct mcp_client *c);

/* Lines that were no messages, since it was opened. */
uint64_t mcp_noise(const struct mcp_client *c);
/* The tool says that it only runs as a task (execution.taskSupport); known once listed. */
bool mcp_tool_needs_task(const struct mcp_client *c, str name);

/* ---- requests ---- */

struct mcp_request {
    str method;
    const struct json *params; /* object or NULL; _meta is added to, never replaced */
    uint64_t timeout_ms;       /* without a sign of life (progress counts); 0 = 60 s */
    uint64_t max_ms;           /* in all; 0 = 15 min */
    /* input_required and task results are answers like any other: for a bridge. */
    bool is_raw;
    /* The tool's execution.taskSupport is "required": it is run as a task and waited for. The
     * connection also knows this by itself once it has listed the tools. */
    bool is_task;
    const struct json *capabilities; /* of the one it is made for; NULL = the host's */
    str log_level;                   /* which log messages are wanted; empty = none */
    /* Progress is wanted. Its token is ours; the params given to `progress` have no token. */
    bool wants_progress;
    /* Names and values that the stateless HTTP transport repeats in headers (x-mcp-header):
     * the tool's inputSchema, or NULL. */
    const struct json *input_schema;
};

struct mcp_reply { /* exactly one of the three; borrowed for the callback */
    const struct json *result;
    const struct json *error; /* a JSON-RPC error object */
    /* The connection failed: -ETIMEDOUT, -ECONNRESET, -EMSGSIZE, -EPROTO ... -EKEYREJECTED: it
     * wants credentials, or others. */
    const struct err *err;
    str challenge; /* with err: WWW-Authenticate of a 401 or 403; or empty */
};

struct mcp_call_events {
    void (*done)(void *ctx, const struct mcp_reply *r);
    void (*progress)(void *ctx, const struct json *params); /* or NULL */
    void (*logged)(void *ctx, const struct json *params);   /* notifications/message; or NULL */
    /* What the server asks during this call; NULL = the host is asked. */
    void (*ask)(void *ctx, struct mcp_ask *a);
    void (*ask_gone)(void *ctx, struct mcp_ask *a);
};

struct mcp_call *mcp_request(struct mcp_client *c, const struct mcp_request *req,
                             const struct mcp_call_events *ev, void *ctx);
void mcp_cancel(struct mcp_call *call, const char *reason); /* no callback any more */
int mcp_notify(struct mcp_client *c, str method, const struct json *params);

/* All pages of a list method ("tools/list", key "tools"), at most MCP_LIST_MAX items. `done`
 * gets {"<key>": [...]} as result. */
#define MCP_LIST_MAX 10000
struct mcp_call *mcp_list_all(struct mcp_client *c, str method, const char *key,
                              const struct mcp_call_events *ev, void *ctx);
