/* api.h - the HTTP API: authenticate, authorise, decode, call the runtime, encode.
 *
 * Each resource has one file with its handlers; routes.c has the table of routes. Every request
 * passes the guard (guard.h) first. The API's only state is its open streams, changes that are
 * being saved, sign-ins, and the latest import. Loop thread only. */
#pragma once

#include "auth/identity.h"
#include "http/router.h"
#include "http/server.h"
#include "runtime/runtime.h"
#include "workspace/audit.h"

struct api;

struct attach;
struct bundles;
struct bundle_changer;
struct media;
struct ui_pages;

/* One workspace, as requests see it. Code that keeps a pointer to it beyond a request must hold
 * it. */
struct api_space {
    str id;           /* followed by a NUL byte */
    const char *root; /* its directory */
    const struct config *config;
    struct store *store;
    struct attach *files;      /* what people have given; NULL = none can be given */
    struct media *media;       /* in other forms */
    struct notices *notices;   /* of its people; NULL = none are kept */
    struct texts *texts;       /* instructions and saved prompts; NULL = none can be written */
    struct projects *projects; /* likewise */
    struct budgets *budgets;   /* NULL = nothing is limited */
    struct runtime *runtime;
    struct registry *tools;
    struct bundles *bundles;        /* NULL = no bundles */
    struct ui_pages *pages;         /* interfaces of tools that were read; with `bundles` */
    struct bundle_changer *changer; /* NULL = bundles cannot be added or removed here */
    size_t users;                   /* requests and streams that hold it */
    bool is_closing; /* the workspace was deleted, or the server stops: no new holders */
};

/* The caller, where a request is handed to another floor. */
struct api_caller {
    struct api_space *space;
    struct actor *actor;
};

/* The MCP endpoint (gateway), a floor beside this one. handle NULL: there is none. */
struct api_mcp {
    void (*handle)(void *ctx, struct http_req *r, const struct api_caller *who, str source);
    void (*sse_open)(void *ctx, struct http_req *r, const struct api_caller *who);
    void (*sse_post)(void *ctx, struct http_req *r, const struct api_caller *who);
    void (*metrics)(void *ctx, struct buf *out); /* Prometheus text */
    /* Ends what this person has open in the workspace (empty = in all), immediately. */
    void (*drop_user)(void *ctx, str workspace_id, str user_id);
    /* Ends what was opened with this login or token, immediately; one of the two is empty. */
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
    struct pool *pool; /* for small files */
    struct directory *directory;
    struct auth *auth;
    struct audit *audit; /* NULL = no audit log */
    str org_name;
    str home_id; /* the workspace of a command that runs in this process; empty on a server */
    const char *examples_dir;  /* with the example apps; NULL = they are not here */
    uint64_t started_ms;       /* monotonic */
    struct database *database; /* for metrics; NULL = none */
    struct tracer *tracer;     /* the same */
    struct page_dir *page_dir; /* the page of a directory; NULL = the embedded one */

    /* Opens the workspace on first use; NULL and *e when that fails. */
    struct api_space *(*open_space)(void *ctx, str id, struct err *e);
    void (*hold_space)(void *ctx, struct api_space *s);
    void (*release_space)(void *ctx, struct api_space *s);
    struct api_space *(*find_space)(void *ctx, str id); /* only if it is open, or NULL */
    /* Its links for people without an account, without opening it. NULL: it cannot be done. */
    struct links_peek *(*peek_links)(void *ctx, str id, store_links_fn fn, void *fn_ctx);
    void (*close_space)(void *ctx, str id); /* the workspace was deleted */
    void *space_ctx;
    struct api_mcp mcp;
    /* authorization server, for clients that get a 401; empty = this server issues the tokens */
    str issuer;
};

struct api *api_new(const struct api_deps *deps);
/* Ends work that continues without a client: imports. Call it after the HTTP server has stopped and
 * before the store is closed. */
void api_stop(struct api *a);
void api_free(struct api *a);

/* The user that the owner of nb's files acts for, over the Unix socket or in this process: the
 * first owner. */
str api_operator(const struct api *a);

/* The server listens on this TCP port; links contain it. */
void api_listens(struct api *a, uint16_t port);
/* Documents around interfaces of tools come from a listener with these handlers, at this port. */
struct http_handlers api_sandbox_handlers(struct api *a);
void api_sandbox_listens(struct api *a, uint16_t port);
/* The address of the page; in dev mode with the key that opens it, after '#', so that the key
 * appears neither in a server's log nor in a Referer. In the arena. */
str api_page_link(const struct api *a, struct arena *arena);
str api_page_url(const struct api *a, struct arena *arena); /* without the key */

/* For http_server_new. */
struct http_handlers api_handlers(struct api *a);
