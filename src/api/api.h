/* api.h - the HTTP API: authenticate, authorise, decode, call the runtime, encode.
 *
 * One file per resource, each with its handlers; api.c holds the table of routes. Every request
 * passes the guard (guard.h) first. The API owns no state but its open streams and the latest
 * import. Loop thread only. */
#pragma once

#include "auth/identity.h"
#include "http/router.h"
#include "http/server.h"
#include "runtime/runtime.h"
#include "workspace/audit.h"

struct api;

struct bundles;
struct bundle_changer;

/* One workspace as requests see it. Whoever keeps it beyond a request holds it. */
struct api_space {
    str id;           /* NUL-terminated behind */
    const char *root; /* its directory */
    const struct config *config;
    struct store *store;
    struct runtime *runtime;
    struct registry *tools;
    struct bundles *bundles;        /* NULL = there are none */
    struct bundle_changer *changer; /* NULL = bundles cannot be added or removed here */
    size_t users;                   /* requests and streams that hold it */
    bool is_closing;                /* its workspace is gone: no new holders */
};

/* Who asks, where a request is handed on. */
struct api_caller {
    struct api_space *space;
    struct actor *actor;
};

/* The MCP endpoint, a floor beside this one; without handle there is none. */
struct api_mcp {
    void (*handle)(void *ctx, struct http_req *r, const struct api_caller *who, str source);
    void (*sse_open)(void *ctx, struct http_req *r, const struct api_caller *who);
    void (*sse_post)(void *ctx, struct http_req *r, const struct api_caller *who);
    void (*metrics)(void *ctx, struct buf *out); /* Prometheus text */
    /* What this person has open in the workspace (empty = in all) ends now. */
    void (*drop_user)(void *ctx, str workspace_id, str user_id);
    /* What was opened with this login or token ends now; one of them is empty. */
    void (*drop_login)(void *ctx, str session_id, str token_id);
    void *ctx;
};

struct api_deps { /* borrowed */
    struct loop *loop;
    struct logger *log;
    const struct config *config;
    struct bus *bus;
    struct llm *llm;
    struct fetcher *fetcher;
    struct pool *pool; /* small files */
    struct directory *directory;
    struct auth *auth;
    struct audit *audit; /* NULL = nothing is recorded */
    str org_name;
    str home_id;         /* the workspace of a command that asks from inside; empty on a server */
    uint64_t started_ms; /* monotonic */

    /* Opened on first use; NULL and *e when that fails. */
    struct api_space *(*open_space)(void *ctx, str id, struct err *e);
    void (*hold_space)(void *ctx, struct api_space *s);
    void (*release_space)(void *ctx, struct api_space *s);
    struct api_space *(*find_space)(void *ctx, str id); /* in use, or NULL */
    void (*close_space)(void *ctx, str id);             /* its workspace is gone */
    void *space_ctx;
    struct api_mcp mcp;
    str issuer; /* who gives out tokens, for clients that are told 401; empty = we do */
};

struct api *api_new(const struct api_deps *deps);
/* Ends what goes on without a client: imports. After the HTTP server, before the store. */
void api_stop(struct api *a);
void api_free(struct api *a);

/* Whom the machine's own user acts for, over the Unix socket or inside: the first owner. */
str api_operator(const struct api *a);

/* The server listens on this TCP port; links name it. */
void api_listens(struct api *a, uint16_t port);
/* The address of the page; in dev mode with the key that opens it, behind '#', so that it reaches
 * neither a server's log nor a Referer. In the arena. */
str api_page_link(const struct api *a, struct arena *arena);
str api_page_url(const struct api *a, struct arena *arena); /* without the key */

/* For http_server_new. */
struct http_handlers api_handlers(struct api *a);
