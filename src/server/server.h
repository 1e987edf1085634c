/* server.h - the assembly: one struct that owns all parts and connects them, only here.
 *
 * `nb serve` creates one and listens; `nb -p` creates the same one without a listener. There are no
 * globals, so a test can run two side by side. Loop thread only. */
#pragma once

#include "config/config.h"
#include "gateway/gateway.h"
#include "http/server.h"
#include "loop/loop.h"
#include "runtime/runtime.h"
#include "server/service.h"

struct server;

struct server_options {
    /* For a command that works in one workspace: this one, or the only one. Without users there
     * always is one. */
    const char *workspace_id;
    bool needs_home;
    /* The server will listen: the home workspace and its bundles start in server_listen, after the
     * work directory and the port were locked. */
    bool is_serving;
    bool with_bundles;     /* start the MCP servers of the settings */
    bool with_local_probe; /* look for local model servers when nothing is configured */
    bool is_read_only;     /* conversations are only read: another process serves them */
    /* sockets that were passed to this process; borrowed until server_listen returns, or NULL */
    const struct service *service;
    /* directories of a terminal: skills of .agents/ and .claude/ are read there */
    const char *home_dir, *project_dir;
    const char *page_dir; /* with the page, instead of the embedded one; or NULL */
};

/* `config` is borrowed and must outlive the server. */
int server_new(struct loop *l, struct logger *log, struct config *config,
               const struct server_options *opt, struct server **ret, struct err *e);

/* Locks the work directory (presence.h), binds the port (or uses the sockets of a service manager)
 * and the socket. -EBUSY and -EADDRINUSE are
 * returned before any bundle starts. Refuses to listen beyond the loopback without authentication
 * unless http.allowUnauthenticated is set. *ret_port is the port that was bound. */
int server_listen(struct server *s, uint16_t *ret_port, struct err *e);

/* A request to the API inside this process, handled as on the Unix socket: for commands that found
 * no running server. */
struct http_local *server_ask(struct server *s, const struct http_local_ask *q,
                              const struct http_local_events *ev, void *ctx);

/* Stops gracefully, in order: listeners, runs, store. done is called at the end. */
void server_stop(struct server *s, uint64_t grace_ms, loop_fn done, void *ctx);
void server_free(struct server *s); /* after server_stop */

/* Stops and frees, running the loop meanwhile: for the end of a command. */
void server_close(struct server *s, uint64_t grace_ms);

/* Runs the loop until no bundle is starting any more, or until the timeout. */
void server_await_bundles(struct server *s, uint64_t max_ms);
bool server_bundles_settled(const struct server *s);
struct bundles *server_bundles(const struct server *s); /* of the home workspace, or NULL */

/* The address of the page, with the key that opens it in dev mode. After server_listen. */
str server_page_link(const struct server *s, struct arena *a);
str server_page_url(const struct server *s, struct arena *a); /* without the key */
struct store *server_store(const struct server *s);
struct llm *server_llm(const struct server *s);
struct registry *server_tools(const struct server *s);
/* One MCP client of the owner, on a pipe (gateway.h). Close it before the server stops. */
struct gateway_pipe *server_open_pipe(struct server *s, str source,
                                      void (*send)(void *ctx, str message), void *ctx);
const char *server_socket_path(struct config *c, struct arena *a);
