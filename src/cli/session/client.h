/* client.h - requests to the API: of a server elsewhere, of a running one, or of one in this
 * process.
 *
 * With --server, requests go to that server over HTTP, with the token of the login. Otherwise, when
 * a server accepts connections on {workDir}/nb.sock, they are sent to it, so that a command sees
 * and changes what everybody else sees; else the same handlers run in this process, without a
 * listener. The caller cannot tell the difference. Every call runs the loop until the response has
 * arrived. Loop thread only. */
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
/* Of one kind only: the server that session_is_served has found; the one on a socket (workspace: an
 * id, or NULL); or one in this process, even when a different server runs. */
int client_open_served(struct loop *l, struct config *c, struct client **ret, struct err *e);
struct client *client_open_socket(struct loop *l, const char *socket_path, const char *workspace);
int client_open_own(struct loop *l, struct config *c, bool with_bundles, struct client **ret,
                    struct err *e);
void client_close(struct client *c); /* accepts NULL */

struct server *client_server(const struct client *c); /* in this process; NULL = another process */

struct client_ask {
    const char *method;  /* NULL = GET */
    str path;            /* with its query, percent-encoded (client_encode) */
    str body;            /* JSON, or empty */
    uint64_t timeout_ms; /* 0 = CLIENT_TIMEOUT_MS */
    const char *header;  /* one more, or NULL */
    str value;           /* of the header */
};

#define CLIENT_TIMEOUT_MS 75000 /* longer than a change of a bundle (BUNDLE_CHANGE_MS) */

/* 0 with the response in the arena, or the server's message: -ENOENT for 404, -EINVAL for 400,
 * -EBUSY for 409, -EACCES for 401, -EIO for the rest; -ETIMEDOUT, -ECONNREFUSED without a response.
 */
int client_ask(struct client *c, const struct client_ask *q, struct arena *a, struct json **ret,
               struct err *e);

/* The same for a response of bytes, at most `max`; -EFBIG. */
int client_get_bytes(struct client *c, str path, size_t max, struct arena *a, str *ret,
                     struct err *e);

struct client_call;

/* Starts a request, for the caller's events: on_head without headers; on_done unless it is
 * cancelled first. idle_ms: of a remote server; 0 = the default of fetch.h. */
struct client_call *client_start(struct client *c, const struct client_ask *q, uint64_t idle_ms,
                                 const struct fetch_events *ev, void *ctx);
void client_cancel(struct client_call *call);

/* The message of a response that is an error: the server's, or one about the status, because a
 * proxy may have answered. */
str client_message(const struct client *c, struct arena *a, int status, str body);

/* Encodes a segment of a path or a value of a query. */
str client_encode(struct arena *a, str s);
