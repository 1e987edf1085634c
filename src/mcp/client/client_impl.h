/* client_impl.h - declarations that the files of the client share. No other file includes it.
 *
 *   client.c        opening, closing, events of the transport; the states
 *   incoming.c      dispatch of each message of the server
 *   connect.c       detection of era and transport; the handshake
 *   exchange.c      one request on the wire: id, time limits, answer
 *   call.c          a caller's request, made of one or several exchanges
 *   connections.c   several connections to one server: which of them sends a request
 *   input_rounds.c  questions of a modern server inside results
 *   task.c          results that arrive later
 *   pages.c         lists with several pages
 *   ask.c           questions of the server
 *   listen.c        the stream of a modern server's change notifications
 *   message.c       the text of our requests
 *   tools.c         facts from lists of tools that later calls need
 *
 * Everything that calls back runs between client_enter and client_leave. Objects that end meanwhile
 * are freed by the last client_leave, so that a callback may cancel, close or abort anything. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "loop/timer.h"
#include "mcp/client.h"
#include "mcp/client/message.h"
#include "mcp/transport/jsonrpc.h"
#include "mcp/transport/param_headers.h"
#include "mcp/transport/transport.h"

#define MCP_CALLS_MAX     4096 /* requests in progress on one connection */
#define MCP_ASKS_MAX      64   /* unanswered requests of the server */
#define MCP_ROUNDS_MAX    32   /* results with input_required for one request */
#define MCP_PAGES_MAX     1000
#define MCP_BAD_LINES_MAX 1000 /* lines in a row that are not JSON-RPC messages */

#define MCP_TIMEOUT_MS (60 * 1000u)
#define MCP_MAX_MS     (15 * 60 * 1000u)

/* ---- one request on the wire ---- */

struct mcp_exchange {
    struct mcp_client *client;
    struct mcp_exchange *next; /* in its bucket of the table */
    int64_t id;                /* 0: not in progress */
    struct mcp_call *call;     /* or NULL: a request of the client itself */
    uint64_t timeout_ms;       /* time without any sign of life */
    uint64_t deadline_ms;      /* monotonic */
    struct timer timer;
    struct err *failure; /* sending failed; reported in the next turn of the loop */
    int http_status;     /* HTTP status of a refusal; else 0 */
    /* The exchange is no longer in progress and may be used again. */
    void (*done)(struct mcp_exchange *x, const struct mcp_reply *r);
};

struct exchange_spec {
    struct message_request message; /* its id is set when it is sent; no capabilities: ours */
    uint64_t timeout_ms, deadline_ms;
    const struct param_headers *headers;
};

struct exchange_table {
    struct mcp_exchange **buckets;
    size_t mask; /* number of buckets - 1 */
    size_t n;
};

void exchange_init(struct mcp_exchange *x, struct mcp_client *c,
                   void (*done)(struct mcp_exchange *x, const struct mcp_reply *r));
void exchange_send(struct mcp_exchange *x, const struct exchange_spec *s);
/* Ends the exchange without an answer and notifies the server, if the era has a notification for
 * it. */
void exchange_cancel(struct mcp_exchange *x, const char *reason);
void exchange_drop(struct mcp_exchange *x); /* ends it without notifying anybody */
void exchange_answer(struct mcp_exchange *x, const struct mcp_reply *r);
void exchange_fail(struct mcp_exchange *x, const struct err *e);
void exchange_refuse(struct mcp_exchange *x, const struct err *e, str challenge);
void exchange_touch(struct mcp_exchange *x); /* restarts the timeout: the server shows activity */
/* Sends a request and ignores its answer. */
void exchange_send_forgotten(struct mcp_client *c, str method, const struct json *params);
struct mcp_exchange *exchange_find(const struct mcp_client *c, int64_t id);

/* ---- a call ---- */

struct task;
struct pages;

struct rounds { /* questions inside results */
    unsigned n;
    size_t waiting;
    struct json *responses; /* so far */
    struct json *refusal;
    void (*then)(struct mcp_call *call, struct json *responses);
    struct buf state; /* requestState, to be returned unchanged */
    bool has_state;
};

struct connection;
struct connections;

struct mcp_call {
    struct mcp_exchange x;
    struct list_node node;     /* in the client's calls, or in those that wait for a connection */
    struct mcp_client *client; /* NULL: the call waits for a connection */
    struct arena mem;
    struct connections *connections; /* of connections_request; else NULL */
    struct connection *connection;   /* the one that carries the call */
    struct mcp_request *waiting;     /* what to send when there is a connection */
    struct err *refusal;             /* it never gets a connection; reported by `later` */
    str method;
    const struct json *params; /* kept if the request may be sent again, else NULL */
    struct mcp_call_events ev;
    void *ctx;
    uint64_t timeout_ms, deadline_ms;
    str capabilities; /* JSON text */
    const struct json *declared;
    str log_level;
    bool is_raw, is_task, wants_progress, is_dead;
    bool begins_task;   /* the caller began a task (2025-11-25), which continues after the answer */
    bool has_refreshed; /* tools were listed again after a header mismatch */
    struct param_headers headers;
    struct timer later; /* call_later, or the limit of waiting for a connection */
    void (*then)(struct mcp_call *call);
    struct rounds rounds;
    struct arena round_mem; /* the answers of one round */
    struct task *task;
    struct pages *pages;
};

struct mcp_call *call_new(struct loop *l, const struct mcp_call_events *ev, void *ctx);
void call_free(struct mcp_call *call);
/* Gives a call to its client and sends the request. Everything is borrowed for the duration of this
 * call, unless req->is_kept. */
void call_begin(struct mcp_call *call, struct mcp_client *c, const struct mcp_request *req);
/* Sends the call's request again, with additional members. */
void call_send(struct mcp_call *call, const struct json *more);
/* Sends another request that leads to the call's answer. */
void call_send_other(struct mcp_call *call, str method, const struct json *params,
                     void (*done)(struct mcp_exchange *x, const struct mcp_reply *r));
void call_answer_empty(struct mcp_call *call); /* in the next turn of the loop */
/* Continues with `then` later, instead of what was to be done later before. */
void call_later(struct mcp_call *call, uint64_t ms, void (*then)(struct mcp_call *call));
/* Each of these ends the call: it is dead afterwards, and client_leave frees it. */
void call_answer(struct mcp_call *call, const struct mcp_reply *r);
void call_result(struct mcp_call *call, const struct json *result);
void call_error(struct mcp_call *call, const struct json *error);
void call_fail(struct mcp_call *call, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void call_fail_with(struct mcp_call *call, const struct err *e);

/* the result was input_required */
void rounds_take(struct mcp_call *call, const struct json *result);
/* Asks the call's owner or the host; `then` receives {key: answer}. */
void rounds_ask(struct mcp_call *call, const struct json *requests,
                void (*then)(struct mcp_call *call, struct json *responses));
void rounds_answered(struct mcp_call *call, str key, const struct json *result);
void rounds_refused(struct mcp_call *call, int code, const char *message);

void task_take_modern(struct mcp_call *call, const struct json *result);
void task_take_legacy(struct mcp_call *call, const struct json *result);
void task_cancel(struct mcp_call *call);

void pages_start(struct mcp_call *call, const char *key);
/* Lists the tools again, then sends the call with the tool's current headers; if the headers have
 * not changed, the call is answered with the error. */
void pages_refresh_tool(struct mcp_call *call, const struct json *error);

/* ---- several connections ---- */

/* A callback of a call may end the connections: they are freed by the last leave. Accepts NULL. */
void connections_enter(struct connections *p);
/* The call ends: its connection can carry the next call. */
void connections_release(struct mcp_call *call);
/* After the call's last callback: sends what waits, or closes what waits for the last call, and
 * leaves. Accepts NULL. */
void connections_proceed(struct connections *p);

/* ---- questions of the server ---- */

struct ask {
    struct mcp_ask pub;
    struct list_node node; /* in the client's asks */
    struct mcp_client *client;
    struct arena mem;
    const struct json *id; /* id of the server's request; NULL: the question is part of a result */
    str key;               /* key of the question in that result */
    bool is_calls;         /* the call was asked, not the host */
};

void ask_take_request(struct mcp_client *c, int64_t during, const struct rpc_message *m);
void ask_take_cancelled(struct mcp_client *c, const struct json *params);
/* A question inside a result. -EPROTO when the client has not declared the capability. */
int ask_start_input(struct mcp_call *call, str key, const struct json *request, struct err *e);
/* The call ends, and its questions with it. is_cancelled: do not call the call's own callbacks. */
void ask_drop_of(struct mcp_call *call, bool is_cancelled);
void ask_drop_all(struct mcp_client *c, bool is_quiet);

/* ---- tools ---- */

struct known_tools {
    struct arena mem;
    struct map by_name; /* struct known_tool; only tools with such facts */
};

struct known_tool {
    struct param_headers headers;
    bool needs_task;
};

/* Records facts that later calls need, and removes tools that cannot be called over HTTP. Reports
 * each removed tool to `on_stderr` of the host. */
void tools_take_list(struct mcp_client *c, struct json *result, bool is_first);
const struct known_tool *tools_find(const struct mcp_client *c, str name);

/* ---- change notifications of the modern era ---- */

struct listen;

void listen_start(struct mcp_client *c);
void listen_stop(struct mcp_client *c);
/* The server ends the stream; false when the id is not that of the stream. */
bool listen_cancelled(struct mcp_client *c, int64_t id);
void listen_acknowledged(struct mcp_client *c, const struct json *params);
/* Handles resources/subscribe and unsubscribe, which the modern era does not have. Returns true
 * when the request was handled. */
bool listen_serve(struct mcp_call *call, const struct mcp_request *req);

/* ---- the connection ---- */

enum client_state { CLIENT_CONNECTING, CLIENT_READY, CLIENT_CLOSING, CLIENT_DEAD };

struct mcp_client {
    struct loop *loop;
    struct fetcher *fetcher;
    struct arena mem; /* owns the dial */
    struct mcp_dial dial;
    struct mcp_host host;
    struct mcp_client_events ev;
    void *ctx;

    struct transport *transport;
    enum client_state state;
    unsigned depth; /* nested client_enter calls */
    struct list_node calls, asks, dead_calls;
    size_t ncalls, nasks;
    struct exchange_table table;
    int64_t last_id;
    struct buf out;   /* the message being written */
    struct arena in;  /* the message being read */
    str capabilities; /* our capabilities as JSON text for the modern era */

    struct connect {
        struct mcp_exchange discover, initialize;
        struct timer deadline, patience;
        struct deferred start;
        unsigned versions_tried;
        bool is_discovered;           /* server/discover succeeded after the handshake had begun */
        const struct json *handshake; /* its result, while server/discover is asked again */
        bool has_probed, has_respawned, is_renewing, is_sse;
        struct err before_sse;
    } connect;

    enum mcp_era era;
    str version;
    struct arena facts; /* owns what the server reports about itself */
    const struct json *server_capabilities, *server_info;
    str instructions;
    bool has_asked;
    int log_level;         /* as set on a legacy server; -1 = none */
    str default_log_level; /* from logging/setLevel in the modern era */
    unsigned bad_lines_in_row;
    struct known_tools tools;
    struct listen *listen;
};

void client_enter(struct mcp_client *c);
void client_leave(struct mcp_client *c);
/* Answers every call with the error, then ends the connection; `closed` is not called. */
void client_drop(struct mcp_client *c, const struct err *e);
/* Ends the connection permanently. */
void client_fail(struct mcp_client *c, const struct err *e);
void client_ready(struct mcp_client *c);
int client_send(struct mcp_client *c, const struct outgoing *m, struct err *e);
void client_warn(struct mcp_client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void client_notify_host(struct mcp_client *c, str method, const struct json *params);
extern const struct transport_events CLIENT_TRANSPORT_EVENTS;

/* Handles one message, or a batch where the revision has batches. */
void incoming_take(struct mcp_client *c, int64_t during, str text);
/* The call on whose stream a message arrived; on a shared stream the only call in progress, or
 * NULL. */
struct mcp_call *incoming_call(struct mcp_client *c, int64_t during);

void connect_init(struct mcp_client *c);
void connect_stop(struct mcp_client *c);
void connect_accepted(struct mcp_client *c);
void connect_renew(struct mcp_client *c);
/* The transport ended while connecting: true when another attempt has begun, or the failure has
 * been reported. */
bool connect_again(struct mcp_client *c, const struct err *e);
