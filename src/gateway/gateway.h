/* gateway.h - the workspace as an MCP server.
 *
 * One address serves both eras of the protocol: clients that open a session with a handshake, and
 * stateless clients whose requests contain everything. The gateway offers the built-in tools and
 * every bundle of the caller's workspace. It translates between the eras of client and server: a
 * question of a server reaches the client as a request, or as a result that the client answers by
 * repeating its request; progress and log messages arrive in order, before the response; a
 * cancellation is passed on to the server. JSON of clients and servers is passed on unchanged.
 *
 * Every message of a client becomes a struct gw_request, independent of its transport and era. A
 * method replies to it directly or sends it to a bundle. Replies go through the reply sink of the
 * request: one HTTP response, a stream, or a line.
 *
 *   http/      transports: http.c tells the eras apart, http_modern.c (with headers.c) is
 * stateless, http_legacy.c has sessions, pipe.c is `nb mcp serve`, sse_old.c the oldest transport;
 *              reply_sink_http.c, stream.c and session_log.c send the responses
 *   methods/   method.c is the table of methods; tools.c, chat.c, resources.c, prompts.c, tasks.c,
 *              listen.c are its rows; catalog.c collects the lists of bundles, page.c cuts them
 *   upstream/  requests to bundles: upstream.c, with session_connection.c and
 *              private_connections.c for servers that ask questions; ask.c and suspended_calls.c
 *              bring the questions to clients with and without a session; task_ids.c
 *   .          gateway_impl.h is the state; space.c a workspace, request.c a request, session.c a
 *              session; write.c, sign.c, call_log.c, metrics.c
 *
 * The gateway owns its sessions, its streams and the connections that belong to one session or one
 * request. Workspaces are borrowed: their owner must call gateway_space_gone before one is freed.
 * Callers are authenticated and authorised before they reach the gateway. Loop thread only. */
#pragma once

#include "bundle/bundle.h"
#include "engine/permission.h"
#include "http/server.h"
#include "runtime/runtime.h"

struct gateway;

#define GATEWAY_SESSIONS_MAX    1000
#define GATEWAY_SESSIONS_USER   32
#define GATEWAY_SESSION_TTL_MS  (8u * 3600 * 1000)
#define GATEWAY_ANSWER_TTL_MS   (5u * 60 * 1000)
#define GATEWAY_CONNECTIONS_MAX 8

struct gateway_limits { /* 0 = use the constant above */
    /* beyond it, an idle session is ended: the caller's own, else the least recently used */
    size_t sessions;
    /* per user: beyond it, the user's least recently used idle session is ended, else 429 */
    size_t sessions_per_user;
    uint64_t session_ttl_ms; /* without a message */
    /* how long a suspended call waits for its client to return with answers */
    uint64_t answer_ttl_ms;
    size_t connections; /* private connections to one server of an older revision */
};

struct gateway_deps { /* borrowed */
    struct loop *loop;
    struct logger *log;
    struct pool *pool;      /* writes the audit log */
    const char *audit_path; /* NULL = no audit log */
    str base_path; /* base path of every address that clients receive, such as "/nb"; or empty */
    struct gateway_limits limits;
    /* Returns when this login expires (it may have been refreshed); 0 = it has expired. NULL =
     * logins are not checked again. */
    int64_t (*login_until)(void *ctx, str session_id);
    void *login_ctx;
};

struct gateway *gateway_new(const struct gateway_deps *deps);
/* Ends all requests, sessions and connections. Call it after the HTTP server has stopped and before
 * the bundles stop. */
void gateway_stop(struct gateway *g);
void gateway_free(struct gateway *g);

/* ---- the caller ---- */

struct gateway_caller { /* borrowed for the call */
    struct registry *tools;
    struct bundles *bundles; /* NULL = no bundles */
    struct runtime *runtime; /* NULL = no chat tool */
    str workspace_id;
    struct actor *actor;                        /* the gateway takes references */
    const struct permission_rules *permissions; /* or NULL; lives as long as the workspace */
};

/* The rows of the table of methods. All require the scope mcp and membership of the workspace. */
struct gateway_method {
    str name;
    bool is_legacy, is_modern; /* in which eras it exists */
    bool is_filtered;          /* the tool globs of a token apply to it */
};
bool gateway_method_at(size_t i, struct gateway_method *ret); /* false after the last row */

/* The one tool that exists only at /mcp: it sends a message to the agent. */
#define GATEWAY_CHAT_TOOL "nb__chat"
const struct access_rule *gateway_chat_rule(void);

/* ---- HTTP ---- */

/* POST, GET and DELETE of /mcp (source empty) and of /mcp/<source>, which serves one source without
 * its prefix. Replies to r or takes ownership of it. */
void gateway_handle(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                    str source);
/* The oldest transport: GET /sse opens a stream, POST /sse/message?session=... sends a message. The
 * two form a pipe and accept what a pipe accepts, stateless requests included. ?source=NAME serves
 * one source. */
void gateway_sse_open(struct gateway *g, struct http_req *r, const struct gateway_caller *who);
void gateway_sse_post(struct gateway *g, struct http_req *r, const struct gateway_caller *who);

/* ---- one client on a pipe: lines in, lines out, in either era ---- */

struct gateway_pipe;

/* `send` receives one message without its line end. */
struct gateway_pipe *gateway_pipe_open(struct gateway *g, const struct gateway_caller *who,
                                       str source, void (*send)(void *ctx, str message), void *ctx);
void gateway_pipe_line(struct gateway_pipe *p, str line);
bool gateway_pipe_is_idle(const struct gateway_pipe *p); /* no request is in progress */
void gateway_pipe_close(struct gateway_pipe *p);         /* cancels requests in progress */

/* ---- changes of workspaces ---- */

/* From bundle_host.changed and .notified of each workspace. */
void gateway_bundle_changed(struct gateway *g, struct registry *tools, struct bundle *b,
                            enum bundle_change what);
void gateway_bundle_notified(struct gateway *g, struct registry *tools, struct bundle *b,
                             str method, const struct json *params);
/* Call this before the workspace is freed. */
void gateway_space_gone(struct gateway *g, const struct registry *tools);
/* Ends what these users have open, immediately: a member was removed, a token was revoked. An empty
 * user = all users of the workspace; an empty workspace = all workspaces. */
void gateway_drop_user(struct gateway *g, str workspace_id, str user_id);
/* The same for what was opened with this login or API token; one of the two is empty. */
void gateway_drop_login(struct gateway *g, str session_id, str token_id);

/* ---- metrics: Prometheus text ---- */

void gateway_write_metrics(const struct gateway *g, struct buf *out);
