/* request.h - one request of a client, independent of its transport and era.
 *
 * A transport makes it (gw_request_make, gw_request_set), gives it a reply sink, and hands it to
 * gw_method_run. Exactly one of these ends and frees it: a function that sends the response
 * (gw_request_result, _empty, _error, _fail..., _send), gw_request_cancel, or, when nothing can be
 * sent, gw_request_free. A file that waits for something on behalf of a request sets on_cancel and
 * work, and clears on_cancel before it replies. */
#pragma once

#include "gateway/space.h"
#include "mcp/protocol.h"
#include "tools/tool_selection.h"

struct gw_log;
struct gw_request;
struct gw_session;
struct gw_stream;

struct reply_sink {
    /* Sends a message before the response. False: impossible, because the client accepts only a
     * single response. */
    bool (*emit)(struct gw_request *q, str message);
    /* sends the response; the last call */
    void (*answer)(struct gw_request *q, int status, str message);
    void (*end)(struct gw_request *q); /* ends without a response */
    /* Opens the stream immediately, for requests whose response is always a stream. False: the
     * client accepts only a single response. */
    bool (*stream)(struct gw_request *q);
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
    struct http_req *http;     /* until the response is sent */
    struct gw_stream *stream;  /* of a client without a session */
    struct gw_log *log;        /* of a client with a session */
    struct gateway_pipe *pipe; /* of a client on a pipe */
    bool takes_json, takes_stream;
    struct timer quiet;

    void (*on_cancel)(struct gw_request *q); /* stops the work; NULL = nothing to stop */
    void *work;
    void *plan;     /* state of a method with several steps */
    void *route;    /* state of the search for the bundle of an address */
    size_t tried;   /* how many bundles were tried */
    str tool;       /* public name of the tool, from the start of its call until it is recorded */
    str asked_name; /* name in the client's request; set by suspended_prepare */
    uint64_t began_us;
};

struct gw_request *gw_request_make(struct gw_space *s, const struct gateway_caller *who,
                                   str source);
void gw_request_set(struct gw_request *q, const struct rpc_message *m, enum mcp_era era);
void gw_request_free(struct gw_request *q); /* nothing can be sent any more */
/* The client cancelled the request: stops the work and ends the request without a response. */
void gw_request_cancel(struct gw_request *q);
struct gw_request *gw_request_find(struct list_node *peers, const struct json *id);
/* The bundle of its source, or NULL. */
struct bundle *gw_request_bundle(const struct gw_request *q);
/* The next bundle that the request may see, from *at on; NULL after the last one. */
struct bundle *gw_request_next_bundle(const struct gw_request *q, size_t *at);
/* Records the call of q->tool in the call log and the metrics; does nothing without a tool. */
void gw_request_called(struct gw_request *q, const char *outcome);

/* ---- the response: each of these frees the request ----
 *
 * A message beyond GW_MESSAGE_MAX becomes an error. */

/* `from` is the era of the server that the result comes from. */
void gw_request_result(struct gw_request *q, const struct json *result, enum mcp_era from);
void gw_request_empty(struct gw_request *q); /* {} */
void gw_request_error(struct gw_request *q, const struct json *error, enum mcp_era from);
#define gw_request_fail(q, code, ...) gw_request_fail_data((q), (code), NULL, __VA_ARGS__)
void gw_request_fail_data(struct gw_request *q, int code, const struct json *data, const char *fmt,
                          ...) __attribute__((format(printf, 4, 5)));
/* The same with an HTTP status other than that of the code. */
void gw_request_fail_status(struct gw_request *q, int status, int code, const struct json *data,
                            const char *message);
/* Sends the message in the scratch buffer, which gw_write_begin began. */
void gw_request_send(struct gw_request *q);
/* The result of a tool; records the call. `outcome` NULL: "ok" or "tool_error". */
void gw_request_tool_result(struct gw_request *q, const struct tool_result *r, const char *outcome);

/* ---- messages before the response ---- */

/* Begins {"jsonrpc":"2.0","method":method,"params":{ ...; gw_request_notify_end closes it. */
void gw_request_notify_begin(struct gw_request *q, struct json_writer *w, const char *method);
bool gw_request_notify_end(struct gw_request *q, struct json_writer *w);
void gw_request_progress(struct gw_request *q, const struct json *params);
void gw_request_log(struct gw_request *q, const struct json *params);

/* True when servers may ask a client with these capabilities something. */
bool gw_client_is_interactive(const struct json *capabilities);
