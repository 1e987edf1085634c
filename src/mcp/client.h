/* client.h - one connection to one MCP server, of any protocol era and over any transport.
 *
 * Opening detects the protocol: first the stateless revision, then the handshake of the older
 * revisions, over HTTP finally the oldest transport with its two endpoints. After that a caller
 * sees requests, answers and questions of the server, and does not see which era carried them. When
 * a stateless server needs input ("input_required"), the client asks the host and repeats the
 * request, unless the caller wants the result as it is (is_raw).
 *
 * Every request is answered exactly once, unless it is cancelled, and never before mcp_request has
 * returned. JSON is passed through unchanged: unknown fields survive. Loop thread only. */
#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "loop/loop.h"
#include "mcp/protocol.h"
#include "net/child.h"
#include "net/fetch.h"

struct mcp_client;
struct mcp_call; /* a request in progress; freed after its answer or its cancellation */

/* ---- how to reach the server ---- */

enum mcp_wire {
    MCP_WIRE_STDIO,
    MCP_WIRE_HTTP, /* Streamable HTTP; falls back to the oldest transport automatically */
    MCP_WIRE_SSE,  /* only the oldest transport: GET a stream, POST to the URL that it names */
};

struct mcp_dial { /* copied by mcp_open */
    enum mcp_wire wire;
    struct child_spec child; /* stdio: the command line that is executed, sandbox included */
    str url;                 /* HTTP; credentials belong in headers */
    const struct fetch_header *headers;
    size_t nheaders;
    unsigned fetch_flags;        /* FETCH_PUBLIC_ONLY ... for every request, redirects included */
    enum mcp_era era;            /* known from an earlier connection; UNKNOWN: detect it */
    uint64_t connect_timeout_ms; /* until ready; 0 = 30 s stdio, 15 s HTTP */
    struct mcp_reconnect {       /* for a broken stream; 0 = 1 s, 30 s, 5 times, growth 1.5 */
        uint64_t initial_ms, max_ms;
        unsigned max_tries;
    } reconnect;
};

/* ---- requests of the server ---- */

enum mcp_ask_kind { MCP_ASK_SAMPLING, MCP_ASK_ELICITATION, MCP_ASK_ROOTS };

struct mcp_ask { /* owned by the client; valid until answered, or until ask_gone */
    enum mcp_ask_kind kind;
    const struct json *params;
    struct mcp_call *call; /* that the question belongs to, or NULL when that is not known */
    void *user;            /* for the host's use */
};

str mcp_ask_method(enum mcp_ask_kind kind); /* "elicitation/create" */
/* True when these ClientCapabilities declare that such a question can be answered; params decide
 * between the modes of an elicitation. */
bool mcp_ask_is_declared(const struct json *capabilities, enum mcp_ask_kind kind,
                         const struct json *params);
void mcp_ask_answer(struct mcp_ask *a, const struct json *result); /* copied */
void mcp_ask_refuse(struct mcp_ask *a, int code, const char *message);

struct mcp_host {                    /* all optional; lives as long as the client */
    const struct json *capabilities; /* ClientCapabilities to declare; NULL = {} */
    void (*ask)(void *ctx, struct mcp_ask *a);
    /* The server has withdrawn the question, or the call or the connection has ended. Not called
     * for questions that were put to a call itself and that end with its cancellation. */
    void (*ask_gone)(void *ctx, struct mcp_ask *a);
    /* Every notification that does not belong to a call: list_changed, resources/updated,
     * elicitation/complete, tasks/status, and log messages. */
    void (*notified)(void *ctx, str method, const struct json *params);
    void (*on_stderr)(void *ctx, str bytes); /* stderr of a child, and the client's own warnings */
    void *ctx;
};

/* ---- the connection ---- */

struct mcp_client_events {
    void (*ready)(void *ctx);
    /* The last callback: the connection could not be opened, was lost, or was closed. Requests in
     * progress have been answered. The client is freed after this callback. err->code is 0 after
     * mcp_close. Over HTTP the connection is lost when its notification stream breaks and cannot be
     * reopened; a server without such a stream is found to be lost only by a request. */
    void (*closed)(void *ctx, const struct err *err);
};

/* The fetcher may be NULL for stdio. mcp_open never calls back before it returns. */
struct mcp_client *mcp_open(struct loop *l, struct fetcher *f, const struct mcp_dial *dial,
                            const struct mcp_host *host, const struct mcp_client_events *ev,
                            void *ctx);
/* Closes in order: closes stdin, then sends signals; deletes the session. `closed` follows
 * later. */
void mcp_close(struct mcp_client *c);
/* Closes immediately and without any callback; kills a child. */
void mcp_abort(struct mcp_client *c);

/* These facts do not change, unless the server begins a new session with different ones: then
 * `notified` reports that its lists have changed. */
enum mcp_era mcp_era(const struct mcp_client *c);
str mcp_version(const struct mcp_client *c);                            /* "2025-11-25" */
const struct json *mcp_server_capabilities(const struct mcp_client *c); /* never NULL once ready */
const struct json *mcp_server_info(const struct mcp_client *c);         /* or NULL */
str mcp_instructions(const struct mcp_client *c);
int mcp_pid(const struct mcp_client *c); /* 0 when the server is not a child process */
/* True when the server has sent a request on a stream that several calls share. From then on the
 * connection should carry one call at a time, because such a request does not name its call. A
 * request for the roots makes this true only during a call that can cause it. Never true in the
 * stateless era. */
bool mcp_has_asked(const struct mcp_client *c);

/* ---- requests ---- */

struct mcp_request {
    str method;
    const struct json *params; /* object or NULL; _meta is added to, never replaced */
    uint64_t timeout_ms; /* without any sign of life from the server (progress is one); 0 = 60 s */
    uint64_t max_ms;     /* in total; 0 = 15 min */
    /* Return input_required and task results unchanged, as a bridge needs them. */
    bool is_raw;
    /* Run the tool as a task and wait for its result. A connection that has listed the tools knows
     * which ones need it (protocol_needs_task). */
    bool is_task;
    const struct json *capabilities; /* of the party it is made for; NULL = the host's */
    str log_level; /* minimum level of the log messages to receive; empty = none */
    /* Request progress. The client chooses the token; the params given to `progress` have none. */
    bool wants_progress;
    /* params and capabilities live until the answer or the cancellation: they are not copied, even
     * if the request has to wait or to be sent again. */
    bool is_kept;
};

struct mcp_reply { /* exactly one of result, error and err is set; valid during the callback */
    const struct json *result;
    const struct json *error; /* a JSON-RPC error object */
    /* The connection failed: -ETIMEDOUT, -ECONNRESET, -EMSGSIZE, -EPROTO ... -EKEYREJECTED: the
     * server requires credentials, or different ones. */
    const struct err *err;
    str challenge; /* with err: WWW-Authenticate of a 401 or 403; or empty */
};

struct mcp_call_events {
    void (*done)(void *ctx, const struct mcp_reply *r);
    void (*progress)(void *ctx, const struct json *params); /* or NULL */
    void (*logged)(void *ctx, const struct json *params);   /* notifications/message; or NULL */
    /* A question of the server during this call; NULL = ask the host. */
    void (*ask)(void *ctx, struct mcp_ask *a);
    void (*ask_gone)(void *ctx, struct mcp_ask *a);
};

struct mcp_call *mcp_request(struct mcp_client *c, const struct mcp_request *req,
                             const struct mcp_call_events *ev, void *ctx);
void mcp_cancel(struct mcp_call *call, const char *reason); /* no callback follows */
int mcp_notify(struct mcp_client *c, str method, const struct json *params);

/* Requests all pages of a list method ("tools/list", key "tools"), at most MCP_LIST_MAX items.
 * `done` receives {"<key>": [...]} as result. */
#define MCP_LIST_MAX 10000
struct mcp_call *mcp_list_all(struct mcp_client *c, str method, const char *key,
                              const struct mcp_call_events *ev, void *ctx);
