/* client.h - requests to the API: of a running server, or of one in this process.
 *
 * When a server accepts connections on {workDir}/nb.sock, requests are sent to it, so that a
 * command sees and changes what everybody else sees; otherwise the same handlers run in this
 * process, without a listener. The caller cannot tell the difference. Every call runs the loop
 * until the response has arrived. Loop thread only. */
#pragma once

#include "base/json/json.h"
#include "config/config.h"
#include "loop/loop.h"
#include "net/fetch.h"

struct client;

#define CLIENT_BODY_MAX (64u * 1024 * 1024)

int client_open(struct loop *l, struct config *c, struct client **ret, struct err *e);
/* The same for commands that use tools: a server in this process starts the bundles of the settings
 * and waits until they run or have failed. */
int client_open_bundles(struct loop *l, struct config *c, struct client **ret, struct err *e);
/* Of one kind only: a server that is known to run (workspace: an id, or NULL), or one in this
 * process, even when a different server runs. */
struct client *client_open_remote(struct loop *l, const char *socket_path, const char *workspace);
int client_open_own(struct loop *l, struct config *c, bool with_bundles, struct client **ret,
                    struct err *e);
void client_close(struct client *c); /* accepts NULL */

struct server *client_server(const struct client *c); /* in this process; NULL = another process */

struct client_ask {
    const char *method;  /* NULL = GET */
    str path;            /* with its query, percent-encoded (client_encode) */
    str body;            /* JSON, or empty */
    uint64_t timeout_ms; /* 0 = CLIENT_TIMEOUT_MS */
};

#define CLIENT_TIMEOUT_MS 75000 /* longer than a change of a bundle (BUNDLE_CHANGE_MS) */

/* 0 with the response in the arena, or the server's message: -ENOENT for 404, -EINVAL for 400,
 * -EBUSY for 409, -EIO for the rest; -ETIMEDOUT, -ECONNREFUSED without a response. */
int client_ask(struct client *c, const struct client_ask *q, struct arena *a, struct json **ret,
               struct err *e);

struct client_call;

/* Starts a request, for the caller's events: on_head without headers; on_done unless it is
 * cancelled first. idle_ms: of a remote server; 0 = the default of fetch.h. */
struct client_call *client_start(struct client *c, const struct client_ask *q, uint64_t idle_ms,
                                 const struct fetch_events *ev, void *ctx);
void client_cancel(struct client_call *call);

/* The message of a response that is an error; may be empty. */
str client_message(struct arena *a, str body);

/* Encodes a segment of a path or a value of a query. */
str client_encode(struct arena *a, str s);
