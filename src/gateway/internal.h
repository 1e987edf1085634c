/* internal.h - declarations that the files of the gateway share.
 *
 * Every message of a client becomes a struct gw_request, independent of its transport and era. A
 * method (methods/method.c) replies to it directly or sends it to a bundle (upstream/upstream.c).
 * Replies go through the reply sink of the request: one HTTP response, a stream, or a line.
 *
 *   http/      transports: sessions over HTTP, stateless HTTP, pipes, the oldest transport
 *   methods/   one file per group of MCP methods; lists, subscriptions, tasks, questions
 *   upstream/  requests to bundles, their connections, and calls that wait for their client
 *   .          the gateway, requests, sessions, the call log, metrics */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "gateway/call_log.h"
#include "gateway/gateway.h"
#include "gateway/metrics.h"
#include "http/sse.h"
#include "loop/timer.h"
#include "mcp/protocol.h"
#include "mcp/transport/jsonrpc.h"
#include "tools/names.h"
#include "tools/tool_selection.h"

#define GW_MESSAGE_MAX RPC_MESSAGE_MAX
/* after this time without a message the response becomes a stream, with pings */
#define GW_QUIET_MS 5000
#define GW_RETRY_MS 1000 /* before a client reconnects to a broken stream */
/* how long a server that asked a question may take to answer a ping */
#define GW_SETTLE_MS 2000
/* a call waits this long for answers before its connection may be given to another request */
#define GW_SUSPEND_LEAST_MS   15000
#define GW_SUSPENDED_MAX      256
#define GW_SUSPENDED_USER_MAX 16
#define GW_PRIVATE_QUEUE_MAX  256 /* requests that wait for a private connection */
#define GW_PRIVATE_IDLE_MS    60000
#define GW_LIST_TIMEOUT_MS    10000 /* a server that does not send its list in time is left out */
#define GW_LIST_FRESH_MS      300000
#define GW_LIST_SHORT_MS      2000 /* cached lists of servers that do not announce changes */
#define GW_PAGE_ITEMS         1000
#define GW_INSTRUCTIONS_MAX   (256u * 1024)
#define GW_SPARE_MAX          128
#define GW_SPARE_BYTES        (16u * 1024)
#define GW_SESSION_REQUESTS   256 /* requests in progress in one session */
#define GW_SESSION_WATCHES    256
#define GW_LISTENS_MAX        1000 /* of one workspace */
#define GW_LISTEN_URIS        256
#define GW_TASKS_MAX          1000 /* per workspace: tasks whose owner is known */

#define MCP_ERA_BIT(era) (1u << (era))

struct gw_request;
struct gw_session;
struct gw_stream;
struct gw_log;
struct upstream_call;
struct private_connection;
struct gw_pool;

enum gw_list { GW_TOOLS, GW_RESOURCES, GW_TEMPLATES, GW_PROMPTS, GW_LISTS };

struct gateway {
    struct gateway_deps deps;
    struct list_node spaces;
    struct map sessions;  /* id -> struct gw_session */
    struct list_node lru; /* the same sessions, least recently used first */
    struct timer sweep;
    /* checks whether the credentials of open sessions and streams are still valid */
    struct timer expiry;
    uint8_t key[32]; /* key that signs what clients store for us */
    struct gw_metrics metrics;
    struct call_log *call_log; /* or NULL */
    struct buf scratch;        /* the message being written */
    struct list_node spare;    /* freed requests, to be reused */
    size_t nspare, nsuspended;
    bool is_stopping;
};

struct param_headers;

/* which arguments tools want repeated in headers; filled when a tool is called */
struct gw_headers {
    struct toolset *of;
    /* one for each item of the toolset; NULL = not computed yet */
    const struct param_headers **known;
    struct arena arena;
};

struct gw_space { /* a workspace that has been used */
    struct list_node node;
    struct gateway *g;
    struct registry *tools;
    struct bundles *bundles;
    struct runtime *runtime;
    char *id;
    struct registry_observer observer;
    struct list_node requests;  /* struct gw_request.node */
    struct list_node listens;   /* struct gw_listen.node */
    struct list_node ups;       /* struct upstream_call.all */
    struct list_node suspended; /* struct upstream_call.node */
    struct map catalogs;        /* bundle -> struct gw_catalog */
    struct map pools;           /* bundle -> struct gw_pool */
    struct map watches;         /* "bundle\nuri" -> struct gw_watch */
    struct list_node tasks;     /* struct gw_task, oldest first */
    size_t ntasks;
    struct gw_headers headers;
    struct deferred tell; /* notifies clients that lists have changed */
    unsigned changed;     /* bits of enum gw_list */
};

struct reply_sink {
    /* Sends a message before the response. False: impossible, because the client accepts only a
     * single response. */
    bool (*emit)(struct gw_request *q, str message);
    /* sends the response; the last call */
    void (*answer)(struct gw_request *q, int status, str message);
    void (*end)(struct gw_request *q); /* ends without a response */
};

struct gw_request {
    struct list_node node; /* in space->requests */
    struct list_node peer; /* in the list of its session or pipe */
    struct gateway *g;
    struct gw_space *space;
    struct gw_session *session;                 /* or NULL */
    struct arena arena;                         /* the message and everything made for it */
    struct actor *actor;                        /* held */
    int64_t expires_ms;                         /* when its credential expires; 0 = never */
    const struct permission_rules *permissions; /* or NULL */
    str source;                                 /* empty = all */
    enum mcp_era era;
    const struct json *id;
    str method;
    struct json *params; /* object or NULL */
    const struct json *progress_token;
    const struct json *capabilities; /* of the client; NULL = none */
    int log_level;                   /* -1 = the client wants no log messages */
    str client;                      /* name that a stateless client gives itself; may be empty */

    const struct reply_sink *out;
    struct http_req *http; /* until the response is sent */
    struct gw_stream *stream;
    struct gw_log *log;
    struct gateway_pipe *pipe;
    bool takes_json, takes_stream;
    struct timer quiet;

    void (*on_cancel)(struct gw_request *q); /* stops the work; NULL = nothing to stop */
    void *work;
    void *plan;     /* state of a method with several steps */
    void *route;    /* state of the search for the bundle of an address */
    size_t tried;   /* how many bundles were tried */
    str tool;       /* public name of the tool, once its call has started */
    str asked_name; /* name in the client's request; set by suspended_prepare */
    uint64_t began_us;
};

/* ---- gateway.c ---- */

struct gw_space *gw_space_of(struct gateway *g, const struct gateway_caller *who);
void gw_space_forget(struct gw_space *s);
/* sends the notification once, in a later turn of the loop */
void gw_space_tell(struct gw_space *s, enum gw_list what);
const char *gw_list_method(enum gw_list what); /* "tools/list" */
const char *gw_list_key(enum gw_list what);    /* "tools" */

bool gw_has_source(const struct gateway_caller *who, str source);
void gw_no_such_source(struct http_req *r); /* answers */

/* ---- request.c ---- */

struct gw_request *gw_request_make(struct gw_space *s, const struct gateway_caller *who,
                                   str source);
void gw_request_set(struct gw_request *q, const struct rpc_message *m, enum mcp_era era);
void gw_request_free(struct gw_request *q); /* nothing can be sent any more */
/* The client cancelled the request: stops the work and ends the request without a response. */
void gw_request_cancel(struct gw_request *q);
struct gw_request *gw_request_find(struct list_node *peers, const struct json *id);

/* Sends the response and frees the request. `from` is the era of the server that the result comes
 * from. */
void gw_request_result(struct gw_request *q, const struct json *result, enum mcp_era from);
void gw_request_empty(struct gw_request *q); /* {} */
void gw_request_error(struct gw_request *q, const struct json *error, enum mcp_era from);
void gw_request_fail(struct gw_request *q, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void gw_request_fail_data(struct gw_request *q, int code, const struct json *data, const char *fmt,
                          ...) __attribute__((format(printf, 4, 5)));
/* The same with an HTTP status other than that of the code. */
void gw_request_fail_status(struct gw_request *q, int status, int code, const struct json *data,
                            const char *message);
/* Sends a whole message as the response and releases the buffer. A message that was too large
 * becomes an error. */
void gw_request_send(struct gw_request *q, struct buf *message);

/* Begins {"jsonrpc":"2.0","method":method,"params":{ ...; gw_request_notify_end closes it. */
void gw_request_notify_begin(struct gw_request *q, struct json_writer *w, const char *method);
bool gw_request_notify_end(struct gw_request *q, struct json_writer *w);
void gw_request_progress(struct gw_request *q, const struct json *params);
void gw_request_log(struct gw_request *q, const struct json *params);

bool gw_client_can(const struct json *capabilities, enum mcp_ask_kind kind,
                   const struct json *params);
const char *gw_ask_method(enum mcp_ask_kind kind);
bool gw_client_is_interactive(const struct json *capabilities);

/* Whether the credential has expired; a login that was refreshed has not. */
bool gw_login_has_ended(struct gateway *g, const struct actor *a, int64_t *expires_ms,
                        int64_t now_ms);

/* ---- write.c: results between the eras ---- */

struct gw_result {
    enum mcp_era to, from;
    str method;
    str task_id; /* replacement for taskId; empty = unchanged */
};
void gw_write_result(struct json_writer *w, const struct gw_result *how, const struct json *result);
void gw_write_envelope(struct json_writer *w, const struct json *id); /* {"jsonrpc","id" - open */
void gw_write_server_info(struct json_writer *w);
/* {"jsonrpc","id","result":{ - open, in a new buffer; for gw_request_send. */
void gw_write_begin(struct json_writer *w, struct buf *b, const struct gw_request *q);
/* writes "_meta" of a result of the gateway itself */
void gw_write_own_meta(struct json_writer *w);
void gw_write_instructions(struct json_writer *w, const struct gw_request *q);
void gw_write_capabilities(struct json_writer *w, const struct gw_request *q);
/* Writes the members that a list result has besides its items, and ends the result. */
void gw_write_list_end(struct json_writer *w, const struct gw_request *q, uint64_t ttl_ms);
void gw_write_tool(struct json_writer *w, const struct gw_request *q, const struct json *raw,
                   str name);

/* ---- reply_sink_http.c ---- */

extern const struct reply_sink GW_OUT_HTTP;
void gw_http_outlet_init(struct gw_request *q, struct http_req *r);
/* Opens the stream immediately: for requests whose response is always a stream. */
bool gw_http_outlet_stream(struct gw_request *q);

/* ---- http_modern.c, http_legacy.c ---- */

void gw_modern_post(struct gw_request *q, struct http_req *r, const struct rpc_message *m);
void gw_legacy_post(struct gw_request *q, struct http_req *r, const struct gateway_caller *who,
                    struct json *doc);
void gw_legacy_get(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                   str source);
void gw_legacy_delete(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                      str source);
/* Checks Mcp-Name and Mcp-Param-*. False: *e says why. */
bool gw_headers_fit(struct gw_request *q, const struct http_req *r, struct err *e);
void gw_headers_done(struct gw_space *s);
/* Reads the metadata that every stateless request has. False: the request was answered with an
 * error. */
bool gw_modern_accept(struct gw_request *q);

/* ---- method.c ---- */

void gw_method_run(struct gw_request *q);
/* Handles a notification of the client; not used for stateless HTTP. */
void gw_session_noticed(struct gw_session *s, const struct rpc_message *m);

/* ---- tools.c ---- */

void gw_tools_list(struct gw_request *q);
void gw_tools_call(struct gw_request *q);
/* Finds the tool that a name means to this caller, or NULL; ret: the bundle that has it, or
 * NULL. */
const struct toolset_item *gw_tools_find(struct gw_request *q, str name,
                                         struct bundle **ret_bundle);
bool gw_tools_needs_task(struct bundle *b, str name); /* by the name that the tool's server uses */
/* records the call in the call log and the metrics */
void gw_tools_called(struct gw_request *q, const char *outcome);

/* ---- page.c ---- */

struct gw_items { /* a whole list; a request gets one page of it */
    const char *key;
    const void *items;
    size_t len;
    void (*write)(struct json_writer *w, struct gw_request *q, const void *items, size_t i);
    uint64_t ttl_ms;
};
void gw_page_reply(struct gw_request *q, const struct gw_items *all);

/* ---- chat.c: the workspace's own tools ---- */

#define CHAT_TOOL GATEWAY_CHAT_TOOL

const struct json *gw_chat_tool(struct arena *a);
bool gw_chat_is_offered(const struct gw_request *q);
void gw_chat_call(struct gw_request *q);

/* ---- catalog.c: lists of bundles other than tools ---- */

struct gw_entry {
    struct bundle *bundle;
    str source;
    const struct json *item;
};
struct gw_entries {
    const struct gw_entry *items; /* in q's arena; sources in their configured order */
    size_t len;
    uint64_t ttl_ms;
};
typedef void (*gw_entries_fn)(struct gw_request *q, const struct gw_entries *found);

/* Collects the lists of this kind from all bundles that the request may see. Sets q->on_cancel
 * until it is done. */
void gw_catalog_gather(struct gw_request *q, enum gw_list what, gw_entries_fn fn);
void gw_catalog_cancel(struct gw_request *q);
void gw_catalog_bundle_gone(struct gw_space *s, struct bundle *b);
void gw_catalog_stale(struct gw_space *s, struct bundle *b, enum gw_list what);
void gw_catalogs_done(struct gw_space *s);
bool gw_bundle_offers(const struct bundle *b, const char *capability);
struct bundle *gw_request_bundle(const struct gw_request *q); /* of its source, or NULL */

/* ---- resources.c, prompts.c ---- */

void gw_list_entries(struct gw_request *q);
void gw_resources_read(struct gw_request *q);
void gw_prompts_get(struct gw_request *q);
void gw_completion_complete(struct gw_request *q);
/* The bundle that a URI belongs to; NULL: unknown, the caller tries each bundle in turn. */
void gw_resources_route(struct gw_request *q, str uri,
                        void (*fn)(struct gw_request *q, str uri, struct bundle *b));

/* ---- upstream.c ---- */

/* Sends q->params in their current form, and replies to q with the bundle's response. */
void gw_upstream_forward(struct gw_request *q, struct bundle *b);
/* The same, but `done` handles the response; it gets exactly one of result and error, or neither
 * when the connection failed. */
typedef void (*upstream_fn)(struct gw_request *q, struct bundle *b, const struct mcp_reply *r);
void gw_upstream_ask(struct gw_request *q, struct bundle *b, upstream_fn done);
enum mcp_era gw_upstream_era(struct bundle *b);
/* Replies that the bundle could not be reached. */
/* The bundle is being removed. */
void gw_upstream_bundle_gone(struct gw_space *s, struct bundle *b);
void gw_upstream_unreachable(struct gw_request *q, struct bundle *b, const struct err *e);

/* ---- suspended_calls.c: calls that wait for their client ---- */

/* Stores the name that the client asked for, before the name in params is changed. The arguments
 * are never changed. */
void suspended_prepare(struct gw_request *q);
/* true: the request repeats a suspended call and was handled */
bool suspended_resume(struct gw_request *q);
/* Cancels the call that has been suspended longest on one of these connections. False: no call has
 * been suspended for GW_SUSPEND_LEAST_MS. */
bool suspended_evict(struct gw_space *s, const struct gw_pool *pool);
void suspended_drop_all(struct gw_space *s, str user_id); /* empty = all users */
/* Signed texts that clients store for us: "<body>.<mac over body and context>". */
str gw_sign_text(struct gateway *g, struct arena *a, str body, str context);
bool gw_sign_check(struct gateway *g, str text, str context, str *ret_body);

/* ---- private_connections.c ---- */

typedef void (*private_connection_fn)(void *ctx, struct private_connection *c, const struct err *e);
struct private_wait {
    struct list_node node;
    struct gw_pool *pool;
    unsigned abilities;
    private_connection_fn fn;
    void *ctx;
};
/* Calls fn, now or later, with a private connection for a client with these capabilities, or with
 * an error. */
void private_connection_take(struct gw_space *s, struct bundle *b, const struct json *capabilities,
                             struct private_wait *w, private_connection_fn fn, void *ctx);
void private_wait_stop(struct private_wait *w);
void private_connection_give_back(struct private_connection *c);
struct connections *private_connection_of(struct private_connection *c);
bool private_connection_is_of(const struct private_connection *c, const struct gw_pool *pool);
void private_connection_bundle_gone(struct gw_space *s, struct bundle *b);
void private_connections_done(struct gw_space *s);

/* ---- listen.c: clients that subscribed to changes ---- */

void gw_subscriptions_listen(struct gw_request *q);
void gw_resources_subscribe(struct gw_request *q);
void gw_resources_unsubscribe(struct gw_request *q);
void gw_listen_changed(struct gw_space *s, enum gw_list what);
void gw_listen_updated(struct gw_space *s, struct bundle *b, const struct json *params);
void gw_watch_drop_session(struct gw_session *s);
void gw_watch_bundle_running(struct gw_space *s, struct bundle *b); /* subscribe again */
void gw_watch_bundle_gone(struct gw_space *s, struct bundle *b);
void gw_watches_done(struct gw_space *s);

/* ends those whose credential has expired */
void gw_listen_expire(struct gw_space *s, int64_t now_ms);

/* ---- tasks.c ---- */

void gw_tasks_route(struct gw_request *q); /* get, update, cancel, result */
void gw_tasks_list(struct gw_request *q);
/* Replies to q with the bundle's result; task ids are replaced by ids of the gateway. */
void gw_tasks_answer(struct gw_request *q, struct bundle *b, const struct json *result);
/* Replaces the task ids in a bundle's message to this user, in every place where the eras put them:
 * flat, in `task`, in related-task. Returns the message itself, or a copy in the arena. */
const struct json *gw_tasks_rename(struct gw_space *s, struct arena *a, str user_id,
                                   struct bundle *b, const struct json *said);
/* The opposite direction, in place: restores the server's task id in related-task, or removes the
 * member when the task does not belong to this user. */
void gw_tasks_restore(struct gw_space *s, struct arena *a, str user_id, struct json *said);
void gw_tasks_done(struct gw_space *s);
