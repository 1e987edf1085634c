/* session.h - clients of the older revisions: identity, capabilities, and messages that wait for
 * them.
 *
 * A session belongs to one person, one workspace and one source. Over Streamable HTTP it keeps its
 * sent messages in logs, one per stream, so that a client whose connection broke can resume
 * (log.c). Over a pipe or the oldest transport there is only one output (pipe.c). */
#pragma once

#include "gateway/internal.h"

#define GW_LOG_BYTES_MAX  (1024u * 1024) /* per session: kept for clients that resume */
#define GW_LOG_EVENTS_MAX 4096
#define GW_LOGS_MAX       64
#define GW_SESSION_ID_LEN 32
#define GW_RETRY_MS       1000
#define GW_TOO_MANY_SESSIONS                                                                       \
    "Too many of your sessions have requests in progress. End one (DELETE) and try again."

struct gw_event {
    struct list_node node;
    uint64_t seq;
    size_t n;
    char text[];
};

struct gw_log {
    struct list_node node; /* in session->logs, oldest first */
    struct gw_session *session;
    uint32_t number;
    uint64_t seq;      /* number of the newest event */
    uint64_t read_seq; /* number of the newest event that a reader was sent */
    struct list_node events;
    size_t nevents;
    unsigned pending; /* requests whose responses will still be sent here */
    struct gw_stream *reader;
};

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
    struct list_node asks; /* struct gw_ask: unanswered questions */
    uint64_t next_ask;
    struct list_node connections; /* struct session_connection: its own connections to bundles */
    struct list_node watches;     /* struct gw_session_watch */
    size_t nwatches;
    struct list_node logs;
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
/* Runs every second: ends sessions and streams whose credential has expired. */
void gw_session_expire(void *gateway);
struct gw_session *gw_session_find(struct gateway *g, str id, const struct gateway_caller *who,
                                   str source);
void gw_session_touch(struct gw_session *s);
void gw_session_sweep(void *gateway);
bool gw_session_is(const struct gw_session *s,
                   const char *version); /* this revision or a later one */

/* Sends a message that belongs to no request. */
void gw_session_send(struct gw_session *s, str message);
void gw_session_notify(struct gw_session *s, const char *method, const struct json *params);

/* Handles `initialize` and replies to it. */
void gw_session_initialize(struct gw_session *s, struct gw_request *q);
/* Adds q to the requests of the session. False: q was answered with an error. */
bool gw_session_adopt(struct gw_session *s, struct gw_request *q);
/* Handles one message of the session; consumes q, which is NULL unless m is a request. */
void gw_session_message(struct gw_session *s, struct gw_request *q, const struct rpc_message *m);

/* ---- log.c ---- */

struct gw_log *gw_log_new(struct gw_session *s);
void gw_log_free(struct gw_log *l);
void gw_log_add(struct gw_log *l, str message); /* empty text: an event that has only an id */
void gw_log_over(struct gw_log *l);             /* one of its requests was answered or ended */
/* Opens a stream for this client that starts after event `last_id` ("3-17", or empty). */
void gw_log_read(struct gw_session *s, struct http_req *r, str last_id);
void gw_log_attach(struct gw_log *l, struct http_req *r);

/* ---- stream.c: an open response ---- */

struct gw_stream {
    struct gateway *g;
    struct sse *sse;           /* NULL: the client has disconnected */
    struct gw_request *owner;  /* or: */
    struct gw_log *log;        /* or: */
    struct gateway_pipe *pipe; /* the oldest transport */
};
struct gw_stream *gw_stream_open(struct gateway *g, struct http_req *r);
/* The same for a stream that lasts until its client disconnects; their number per person is
 * limited. */
struct gw_stream *gw_stream_watch(struct gateway *g, struct http_req *r);
void gw_stream_send(struct gw_stream *s, str event, str id, str data);
void gw_stream_close(struct gw_stream *s); /* flushes; its owner is no longer notified */

/* ---- pipe.c ---- */

void gw_pipe_send(struct gateway_pipe *p, str message);
void gw_pipe_session_ended(struct gateway_pipe *p);
/* The output of the oldest transport: the pipe ends together with it. */
void gw_pipe_attach(struct gateway_pipe *p, struct gw_stream *s);
/* opens a session if there is none */
const struct gw_session *gw_pipe_session(struct gateway_pipe *p);
/* Handles one message whose caller was authenticated after the pipe was opened. */
void gw_pipe_take(struct gateway_pipe *p, const struct gateway_caller *who, str message);

/* ---- ask.c: questions of servers to clients with a session ---- */

/* Sends the question to the client: on the stream of q if there is one. */
void gw_ask_session(struct gw_session *s, struct gw_request *q, struct bundle *from,
                    struct mcp_ask *a, void *owner);
void gw_ask_withdraw(struct gw_session *s,
                     struct mcp_ask *a); /* the server withdrew the question */
void gw_ask_drop_owner(struct gw_session *s, const void *owner);
void gw_ask_answered(struct gw_session *s, const struct rpc_message *m);
void gw_ask_drop_all(struct gw_session *s);

/* ---- session_connection.c: a session's own connection to a bundle ---- */

struct session_connection {
    struct list_node node; /* in session->connections */
    struct gw_session *session;
    struct bundle *bundle;
    struct connections *connections;
    struct mcp_host host;
    struct arena arena;
    struct list_node ups; /* struct upstream_call.sibling: calls in progress on it */
};

/* Returns the connection of the session to this bundle, opened if necessary; NULL when the bundle
 * cannot be connected to now. */
struct session_connection *session_connection_of(struct gw_session *s, struct bundle *b);
void session_connection_drop_all(struct gw_session *s);
void session_connection_bundle_gone(struct gw_session *s, struct bundle *b);
void session_connection_notify_all(struct gw_session *s, str method, const struct json *params);
void session_connection_set_level(struct gw_session *s, str level);
