/* session.h - clients of the older revisions: identity, capabilities, and messages that wait for
 * them.
 *
 * A session belongs to one person, one workspace and one source. Over Streamable HTTP it keeps its
 * sent messages in logs, one per stream, so that a client whose connection broke can resume
 * (http/session_log.h). Over a pipe or the oldest transport there is only one output
 * (http/pipe.h).
 *
 *   gw_session_new --> initialized (version is set) --> gw_session_end: DELETE, expiry, the ceiling
 *        |                                                 of sessions, a lost right, a closed pipe
 *        +--- initialize fails: ended immediately (HTTP)
 *
 * gw_session_end frees the session. It cancels its requests and closes its streams first, and it
 * may close the pipe that the session belongs to. */
#pragma once

#include "gateway/request.h"

#define GW_SESSION_ID_LEN   32
#define GW_SESSION_REQUESTS 256 /* requests in progress in one session */
#define GW_TOO_MANY_SESSIONS                                                                       \
    "Too many of your sessions have requests in progress. End one (DELETE) and try again."

struct gw_session {
    struct list_node node; /* in gateway->lru */
    struct gateway *g;
    struct gw_space *space;
    char id[GW_SESSION_ID_LEN + 1];
    struct arena arena;
    struct actor *actor; /* actor of the request that opened it; held */
    int64_t expires_ms;  /* when its credential expires (it may be renewed); 0 = never */
    str source;
    str version; /* empty until initialized */
    const struct json *capabilities;
    str client;
    int log_level;
    bool is_http;              /* Streamable HTTP: has logs */
    struct gateway_pipe *pipe; /* otherwise: the one output to this client */

    struct list_node requests; /* struct gw_request.peer */
    size_t nrequests;
    struct list_node asks; /* struct gw_ask: unanswered questions (upstream/ask.c) */
    uint64_t next_ask;
    struct list_node connections; /* struct session_connection: its own connections to bundles */
    struct list_node watches;     /* struct gw_session_watch (methods/listen.c) */
    size_t nwatches;
    struct list_node logs;  /* struct gw_log, oldest first (http/session_log.c) */
    struct gw_log *general; /* the stream that belongs to no request */
    uint32_t next_log;
    size_t nlogs, log_bytes;
    uint64_t used_ms;
};

struct gw_session *gw_session_new(struct gw_space *s, const struct gateway_caller *who, str source);
/* Ends idle sessions until one more fits: the caller's own first, then the least recently used one.
 * False: all sessions of the caller have requests in progress. */
bool gw_session_make_room(struct gateway *g, const struct gateway_caller *who);
void gw_session_end(struct gw_session *s);
/* Ends sessions and streams whose credential has expired. Runs every second while there is a
 * credential that can expire: gw_session_await_expiry starts it. */
void gw_session_expire(void *gateway);
void gw_session_await_expiry(struct gateway *g, int64_t expires_ms); /* 0 = never */
/* Whether the credential has expired; a login that was refreshed has not. */
bool gw_login_has_ended(struct gateway *g, const struct actor *a, int64_t *expires_ms,
                        int64_t now_ms);
struct gw_session *gw_session_find(struct gateway *g, str id, const struct gateway_caller *who,
                                   str source);
void gw_session_sweep(void *gateway);
bool gw_session_is(const struct gw_session *s,
                   const char *version); /* this revision or a later one */

/* Sends a message that belongs to no request. */
void gw_session_send(struct gw_session *s, str message);
void gw_session_notify(struct gw_session *s, const char *method, const struct json *params);

/* Handles `initialize` and replies to it. */
void gw_session_initialize(struct gw_session *s, struct gw_request *q);
/* Handles one message of the session; consumes q, which is NULL unless m is a request. */
void gw_session_message(struct gw_session *s, struct gw_request *q, const struct rpc_message *m);
