/* server.h - an HTTP/1.1 server on the loop.
 *
 * It turns bytes into a struct http_req, passes the request to one handler, and turns the response
 * into bytes; it does not know conversations. Keep-alive, pipelining, chunked bodies,
 * Expect: 100-continue and HEAD are handled here; everything that request smuggling could use is
 * refused (parse.h). All calls on the loop thread.
 *
 * A request lives from on_head until it has been answered (http_reply*, sse_open) or its client
 * has disconnected (on_gone). Requests of one connection are handled one at a time, in order: a
 * handler never has two requests of the same connection.
 *
 * Files: server.h (this), router.h (tables of routes), static.h and assets.h (files of the web
 * page), sse.h (event streams), stream.h (long responses). tls/ is TLS between memory and memory.
 * conn/ is the machine below: listener, conn (states of a connection), parse and body (bytes of a
 * request), secure (bytes that are encrypted), request, receive (bodies in pieces), response, tally
 * (limits per client), share (time per client). */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"
#include "loop/loop.h"

struct http_server;
struct http_conn;

#define HTTP_PARAMS_MAX  4
#define HTTP_HEADERS_MAX 100

struct http_header {
    str name, value; /* as received; compare names without case */
};

struct http_req {
    struct http_server *server;
    struct http_conn *conn; /* NULL once the client has disconnected */
    struct arena arena;     /* freed after the answer */

    str method; /* "GET" */
    str target; /* as received */
    str path;   /* percent-decoded, starts with '/', no "." or ".." segments, no NUL */
    str query;  /* raw, without '?' */
    struct http_header *headers;
    size_t nheaders;
    str body;        /* complete in on_request; empty in on_head */
    size_t body_max; /* on_head may raise or lower it */

    str params[HTTP_PARAMS_MAX]; /* filled by the router */
    const void *route;           /* the router's match, for the caller's own use */
    char id[24];                 /* request id, sent back as X-Request-Id */

    bool is_local_socket; /* came over the Unix socket */
    uint32_t peer_uid;    /* of the client, when is_local_socket */
    char peer_addr[48];   /* "127.0.0.1", "::1", "" for the Unix socket */
    uint64_t started_us;
    /* Set by on_head when the handler waits for something outside of the server, such as a model or
     * an event: the request does not use one of the HTTP_UNDER_WAY_MAX places of its person. */
    bool is_long;

    void *caller; /* who sent the request: set by on_head, not changed by handlers */
    /* Set by on_head for clients that expect errors in another form than that of http_reply_error:
     * writes the body, one JSON object. NULL = that form. */
    void (*write_error)(struct json_writer *w, int status, const char *code, str message);
    void *user; /* the handler's own */
    /* The client disconnected before the answer; the request must not be answered and is freed
     * after this call. Without on_gone a request lives until it is answered, client or not. */
    void (*on_gone)(struct http_req *);
};

struct http_limits {
    size_t head_bytes;           /* request line and headers: 431, 414 */
    size_t body_bytes;           /* default for req->body_max: 413 */
    unsigned headers;            /* 431 */
    unsigned conns;              /* beyond it the oldest unfinished head, else the longest idle
                                    connection is closed; all busy: 503 */
    unsigned conns_reserved;     /* part of conns, for the Unix socket and authenticated persons */
    unsigned conns_per_address;  /* connections that are not a person's yet: tally.h */
    unsigned conns_per_person;   /* beyond it http_count_for fails */
    unsigned streams_per_person; /* of sse_open_watch */
    size_t queue_per_person;     /* response bytes that one person has not read: 503 */
    size_t queue_total;          /* the same for all persons together */
    uint64_t head_timeout_ms;    /* 408 */
    uint64_t body_stall_ms;      /* 408: longest time without a byte of the body */
    uint64_t idle_ms;            /* kept-alive and silent: closed */
    size_t drain_bytes;          /* how much of a refused body is read to keep the connection */
};

struct http_handlers {
    /* Optional. The head is complete. May answer immediately (the body is then drained or the
     * connection closed), or change body_max. Returns true to continue and read the body; false
     * after an answer, or when the answer will come later and does not need the body. */
    bool (*on_head)(void *ctx, struct http_req *req);
    /* The body is complete. Must answer now or later. */
    void (*on_request)(void *ctx, struct http_req *req);
    /* Optional: the answer is about to be sent, refusals of our own (whose method and path
     * may be empty) included. For access logs and metrics. */
    void (*on_answered)(void *ctx, const struct http_req *req, int status);
    /* Optional: whether this address is a trusted proxy, which forwards requests of many clients.
     */
    bool (*is_proxy)(void *ctx, const char *peer_addr);
    /* Optional: the request is over, answered or not; its arena is freed after this call. */
    void (*on_released)(void *ctx, struct http_req *req);
    void *ctx;
};

extern const struct http_limits HTTP_LIMITS_DEFAULT;

struct http_server *http_server_new(struct loop *l, const struct http_limits *limits,
                                    const struct http_handlers *h);

/* All TCP listeners of the server speak https (tls/tls.h); the Unix socket does not. Call it before
 * listening on TCP; the keys outlive the server. */
struct tls_keys;
void http_server_use_tls(struct http_server *s, struct tls_keys *keys);

/* Port 0 picks a free one; *ret_port is set to it. A port in use is -EADDRINUSE. */
int http_listen_tcp(struct http_server *s, const char *host, uint16_t port, uint16_t *ret_port,
                    struct err *e);
/* A bound TCP socket that another process opened; the server owns it from now on, also after an
 * error. */
int http_listen_socket(struct http_server *s, int fd, uint16_t *ret_port, struct err *e);
/* Creates the socket with mode 0600. A stale socket file without a listener is replaced; a socket
 * with a listener is -EADDRINUSE. */
int http_listen_unix(struct http_server *s, const char *path, struct err *e);

/* Stops accepting, closes idle connections, lets requests in flight finish, closes SSE
 * streams; calls done when the last connection is gone or after grace_ms at the latest. */
void http_server_stop(struct http_server *s, uint64_t grace_ms, loop_fn done, void *ctx);
void http_server_free(struct http_server *s); /* after stop has finished */

struct http_stats {
    uint64_t requests, bytes_in, bytes_out, conns_total;
    size_t conns, streams;
    bool is_stopping;
};
void http_server_stats(const struct http_server *s, struct http_stats *ret);

/* ---- the request ---- */

str http_get_header(const struct http_req *r, const char *name); /* first, trimmed; STR_NONE */
bool http_has_header(const struct http_req *r, const char *name);
/* Percent-decoded query value in the request's arena; STR_NONE when absent or malformed, which
 * http_query_check finds. */
str http_query(struct http_req *r, const char *name);
/* False: some name or value of the query cannot be decoded, or is not text. *ret_name: which one,
 * empty when it is a name that cannot be read. */
bool http_query_check(struct http_req *r, str *ret_name);
str http_cookie(const struct http_req *r, const char *name);

/* From now on the request's connection is counted for this person (conns_per_person). False: the
 * person is at the limit, and all of their connections have a request in progress. */
bool http_count_for(struct http_req *r, str person);
/* Counts a request that a proxy forwards (http_handlers.is_proxy) for the address of its client,
 * until the answer is sent. Connections without a proxy are counted for their own address. */
bool http_count_for_address(struct http_req *r, str addr);

/* ---- a body that is not kept in memory ----
 *
 * For a request whose on_head has returned false: its handler receives the body in pieces, as they
 * come. req->body_max still holds. When the body cannot be completed (it is too large, malformed or
 * too slow), on_gone is called as for a client that disconnected, and the server itself answers. */

struct http_sink {
    /* The piece is borrowed for the call. May pause. False: the request was answered. */
    bool (*on_piece)(struct http_req *r, str piece);
    void (*on_end)(struct http_req *r); /* the body was complete; answer now or later */
};

/* Needs on_gone. May call any of its callbacks before it returns. */
void http_receive(struct http_req *r, const struct http_sink *sink);
/* No more pieces until http_receive_resume: the socket is not read. */
void http_receive_pause(struct http_req *r);
void http_receive_resume(struct http_req *r);

/* ---- the answer: exactly one of these per request ---- */

/* Adds a header to the answer to come. A default header of the same name (the security
 * headers, Cache-Control) is replaced; an empty value only takes the default away. A header
 * with control characters, or more headers than HTTP_HEADERS_OUT_MAX bytes, turn the answer into
 * a 500. */
void http_add_header(struct http_req *r, const char *name, str value);

/* body is copied. type may be NULL without a body (204, 304). */
void http_reply(struct http_req *r, int status, const char *type, str body);
/* body is static or otherwise outlives the connection (embedded assets): not copied. */
void http_reply_static(struct http_req *r, int status, const char *type, str body);
void http_reply_json(struct http_req *r, int status, const struct json *v);
/* {"error": code, "message": message, "details": details}; code NULL is the status' own. */
void http_reply_error(struct http_req *r, int status, const char *code, const char *message,
                      const struct json *details);

const char *http_status_text(int status);

/* ---- requests of this process ----
 *
 * For a process that has a server but no listener. Request and response are the same as over the
 * Unix socket, and the request is treated as if it came from there. */

struct http_local;

struct http_local_ask {
    const char *method;
    str target; /* "/v1/conversations?limit=5", percent-encoded as on the wire */
    str body;
    const char *header; /* one more, or NULL */
    str value;          /* its value, without line breaks */
};

struct http_local_events { /* all is borrowed for the time of the call */
    void (*on_head)(void *ctx, int status, const char *type); /* type may be NULL */
    void (*on_data)(void *ctx, str bytes);
    void (*on_end)(void *ctx); /* the last call, exactly once, unless it is cancelled */
};

/* Never calls back before it returns. The server must not be freed before the end. */
struct http_local *http_local(struct http_server *s, const struct http_local_ask *q,
                              const struct http_local_events *ev, void *ctx);
void http_local_cancel(struct http_local *l); /* the client disconnects; no callback */
