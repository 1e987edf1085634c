/* gateway.h - the workspace as an MCP server.
 *
 * One address serves both eras of the protocol: sessions that open with a handshake, and requests
 * that carry everything themselves. Behind it are the built-in tools and every bundle of the
 * caller's workspace; whatever the eras of the two sides are, the gateway translates: questions
 * of a server travel to the client as requests or as results to be repeated, progress and log
 * messages keep their order before the answer, cancellation reaches the server. JSON of others is
 * passed on as it came.
 *
 * The gateway owns its sessions, streams and the connections that sessions have of their own;
 * workspaces are borrowed, and it must hear of their end (gateway_space_gone). Who the caller is
 * and what they may do has been found out before. Loop thread only. */
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

struct gateway_limits { /* 0 = the above */
    size_t sessions;    /* the caller's own, then the least recently used idle one makes room */
    size_t sessions_per_user; /* their own least recently used idle one makes room, else 429 */
    uint64_t session_ttl_ms;  /* of silence */
    uint64_t answer_ttl_ms;   /* for a stateless client to come back with answers */
    size_t
        connections; /* connections to one older server for stateless requests that may be asked */
};

struct gateway_deps { /* borrowed */
    struct loop *loop;
    struct logger *log;
    struct pool *pool;      /* writes the audit log */
    const char *audit_path; /* NULL = no audit log */
    str base_path;          /* "/nb" before every address that clients are told; or empty */
    struct gateway_limits limits;
    /* When this login ends (it may have been refreshed); 0 = it has ended. NULL = never asked. */
    int64_t (*login_until)(void *ctx, str session_id);
    void *login_ctx;
};

struct gateway *gateway_new(const struct gateway_deps *deps);
/* Ends all requests, sessions and connections. After the HTTP server, before the bundles. */
void gateway_stop(struct gateway *g);
void gateway_free(struct gateway *g);

/* ---- who asks ---- */

struct gateway_caller { /* borrowed for the call */
    struct registry *tools;
    struct bundles *bundles; /* NULL = there are none */
    struct runtime *runtime; /* NULL = no chat tool */
    str workspace_id;
    struct actor *actor;                        /* the gateway takes references */
    const struct permission_rules *permissions; /* or NULL; lives as long as the workspace */
};

/* The rows of the table of methods. All ask for the scope mcp and membership of the workspace. */
struct gateway_method {
    str name;
    bool is_legacy, is_modern; /* in which eras it exists */
    bool is_filtered;          /* the tool globs of a token hold for it */
};
bool gateway_method_at(size_t i, struct gateway_method *ret); /* false past the last */

/* The one tool that exists at /mcp only: a message to the agent. */
#define GATEWAY_CHAT_TOOL "nb__chat"
const struct access_rule *gateway_chat_rule(void);

/* ---- HTTP ---- */

/* POST, GET and DELETE of /mcp (source empty) and /mcp/<source>: one source, names without its
 * prefix. Answers or takes over r. */
void gateway_handle(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                    str source);
/* The oldest transport: GET /sse opens a stream, POST /sse/message?session=... talks. It is a pipe
 * in two halves and takes what a pipe takes, stateless requests too. ?source=NAME: of one source.
 */
void gateway_sse_open(struct gateway *g, struct http_req *r, const struct gateway_caller *who);
void gateway_sse_post(struct gateway *g, struct http_req *r, const struct gateway_caller *who);

/* ---- one client on a pipe: lines in, lines out, in either era ---- */

struct gateway_pipe;

/* `send` gets one message without its line end. */
struct gateway_pipe *gateway_pipe_open(struct gateway *g, const struct gateway_caller *who,
                                       str source, void (*send)(void *ctx, str message), void *ctx);
void gateway_pipe_line(struct gateway_pipe *p, str line);
bool gateway_pipe_is_idle(const struct gateway_pipe *p); /* nothing is under way */
void gateway_pipe_close(struct gateway_pipe *p);         /* what is under way is cancelled */

/* ---- news of workspaces ---- */

/* From bundle_host.changed and .notified of each workspace. */
void gateway_bundle_changed(struct gateway *g, struct registry *tools, struct bundle *b,
                            enum bundle_change what);
void gateway_bundle_notified(struct gateway *g, struct registry *tools, struct bundle *b,
                             str method, const struct json *params);
/* The workspace is about to be freed. */
void gateway_space_gone(struct gateway *g, const struct registry *tools);
/* What these people had open ends now: a member has left, a token is revoked. Empty = all users
 * of the workspace; an empty workspace = all of them. */
void gateway_drop_user(struct gateway *g, str workspace_id, str user_id);
/* The same for what was opened with this login or API token; one of them is empty. */
void gateway_drop_login(struct gateway *g, str session_id, str token_id);

/* ---- figures: Prometheus text ---- */

void gateway_write_metrics(const struct gateway *g, struct buf *out);
