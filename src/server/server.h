/* server.h - the assembly: one struct that holds everything, connected here and only here.
 *
 * `nb serve` makes one and listens; `nb -p` makes the same one without a listener. Nothing is
 * global, so a test can run two side by side. Loop thread only. */
#pragma once

#include "config/config.h"
#include "gateway/gateway.h"
#include "http/local.h"
#include "loop/loop.h"
#include "runtime/runtime.h"

struct server;

struct server_options {
    /* A command that works in one workspace: this one, or the only one there is. Without users
     * there always is one. */
    const char *workspace_id;
    bool needs_home;
    /* It will listen: the home and its bundles begin in server_listen, once the work directory and
     * the port are taken. */
    bool is_serving;
    bool with_bundles;     /* start the MCP servers of the settings */
    bool with_local_probe; /* look for local model servers when nothing is configured */
    const char *home_dir, *project_dir; /* a terminal: skills of .agents/ and .claude/ there */
};

/* `config` is borrowed and outlives the server. */
int server_new(struct loop *l, struct logger *log, struct config *config,
               const struct server_options *opt, struct server **ret, struct err *e);

/* Takes the work directory (presence.h), the port and the socket. -EBUSY and -EADDRINUSE are known
 * before any bundle starts. Refuses to leave the loopback without authentication unless
 * http.allowUnauthenticated is set. *ret_port is the port that was really bound. */
int server_listen(struct server *s, uint16_t *ret_port, struct err *e);

/* A request to the API from inside, answered as on the Unix socket: for commands that found
 * no running server. Not for streams. */
void server_ask(struct server *s, const struct http_local_ask *q, http_local_fn fn, void *ctx);

/* Graceful, in order: listeners, runs, store. done is called when nothing is left. */
void server_stop(struct server *s, uint64_t grace_ms, loop_fn done, void *ctx);
void server_free(struct server *s); /* after stop */

/* Stops and frees, running the loop meanwhile: for commands that are done with it. */
void server_close(struct server *s, uint64_t grace_ms);

/* Runs the loop until no bundle is starting any more, at most so long. */
void server_await_bundles(struct server *s, uint64_t max_ms);
bool server_bundles_settled(const struct server *s);
struct bundles *server_bundles(const struct server *s); /* of the home workspace, or NULL */

/* The address of the page, with the key that opens it in dev mode. After server_listen. */
str server_page_link(const struct server *s, struct arena *a);
str server_page_url(const struct server *s, struct arena *a); /* without the key */
/* The owner of nb's files in the home workspace; the caller holds the reference. */
struct actor *server_actor(const struct server *s);
str server_operator(const struct server *s); /* the user that commands act for; for this turn */
struct runtime *server_runtime(const struct server *s);
struct store *server_store(const struct server *s);
struct bus *server_bus(const struct server *s);
struct llm *server_llm(const struct server *s);
struct audit *server_audit(const struct server *s);
struct registry *server_tools(const struct server *s);
/* One MCP client of the owner's, on a pipe (gateway.h). Close it before the server stops. */
struct gateway_pipe *server_open_pipe(struct server *s, str source,
                                      void (*send)(void *ctx, str message), void *ctx);
const char *server_socket_path(struct config *c, struct arena *a);
