/* conn.h - shared by the files of http: connections, requests and the server itself. Not for
 * other floors.
 *
 * A connection is a state machine over its input. Each state has one owner of the next step:
 *
 *              +--------------------- keep-alive ----------------------------+
 *              v                                                             |
 *   accept -> HEAD --head--> BODY --body--> READY --turn--> WAIT --answer--> FLUSH
 *              |              |             (share.c)      (handler)          |
 *              |              |                               |               +--> DRAIN --> HEAD
 *              |              |                               +--> STREAM     |
 *              |              |                              (sse, stream)    +--> LINGER
 *              +--------------+-- error: answer, then FLUSH                          |
 *   any state -- conn_close, conn_reset --> CLOSED --> freed in on_conn_closed <-----+
 *
 * The client drives HEAD, BODY, DRAIN and LINGER (on_conn_read), share.c drives READY, the handler
 * drives WAIT and STREAM, the kernel drives FLUSH (on_conn_written). Every state but READY and WAIT
 * has a deadline (STREAM: if its owner sets one). Order of callbacks for a request: on_head,
 * on_request, on_answered, on_released; on_gone replaces on_answered when the client disconnects
 * first.
 *
 * Ownership: the server owns its connections (lists heads, idle and busy) and its requests (lists
 * live and spare); a connection is freed in libuv's close callback and nowhere else. A request
 * belongs to its connection until it is answered. When the client disconnects first and the
 * handler has not set on_gone, the request lives on without a connection until it is answered, and
 * the answer is dropped. Loop thread only. */
#pragma once

#include <uv.h>

#include "base/list.h"
#include "base/map.h"
#include "http/conn/body.h"
#include "http/server.h"
#include "loop/timer.h"

#define HTTP_READ_BYTES      (64u * 1024)  /* one buffer for all connections */
#define HTTP_BACKLOG_MAX     (128u * 1024) /* unread input kept: a head, or pipelined requests */
#define HTTP_REFUSALS_MAX    64u           /* connections beyond the ceiling that get a 503 */
#define HTTP_REFUSALS_ADDR   8u            /* the same, of one address */
#define HTTP_TURN_MAX        32u           /* pipelined requests handled before others get a turn */
#define HTTP_LISTENERS_MAX   8u
#define HTTP_SPARE_MAX       64u                 /* requests kept for reuse */
#define HTTP_SPARE_BYTES     (16u * 1024)        /* memory a spare request may hold */
#define HTTP_REPLY_MAX       (64u * 1024 * 1024) /* a JSON answer */
#define HTTP_HEADERS_OUT_MAX (16u * 1024)        /* headers added by a handler */
#define HTTP_LINGER_MS       1000u               /* between our last byte and the close */
#define HTTP_DRAIN_STALL_MS  2000u
#define HTTP_BODY_RATE_MIN   1024u /* bytes per second, averaged over a body */

enum conn_state {
    CONN_HEAD,   /* between requests, or inside a head */
    CONN_BODY,   /* inside the body of req */
    CONN_READY,  /* req is complete; requests of other parties go first (share.h) */
    CONN_WAIT,   /* req is being handled, or was refused a body and will be answered later */
    CONN_FLUSH,  /* answered; the kernel has not accepted all of it yet */
    CONN_DRAIN,  /* answered; the rest of a refused body is read and dropped */
    CONN_STREAM, /* owned by sse or stream */
    CONN_LINGER, /* answered for the last time; our side is shut down, the client's is not yet */
    CONN_CLOSED, /* uv_close was called */
};

struct sse;
struct http_stream;
struct request;
struct tally;
struct tls_keys;
struct tls_session;

union http_socket {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct http_conn {
    union http_socket uv;
    struct http_server *server;
    struct list_node node;    /* in server->heads, idle or busy */
    struct list_node *place;  /* which of them */
    struct tally *tally;      /* the party it is counted for, or NULL: tally.h */
    struct list_node counted; /* in tally->conns */
    size_t queued;            /* bytes that wait for a slow reader */
    struct list_node waits;   /* in tally->waiting or tally->ready: share.h */
    struct request *req;      /* CONN_BODY, CONN_READY, CONN_WAIT */
    struct sse *sse;          /* CONN_STREAM, or: */
    struct http_stream *stream;

    struct tls_session *tls; /* NULL = plain: secure.c */

    struct buf in;         /* input that was not parsed yet; not allocated when idle */
    size_t scanned;        /* see http_parse_head */
    struct http_body body; /* of the current request */
    uint64_t body_bytes;   /* received or drained */
    uint64_t body_began_ms;

    struct deferred again; /* continue with `in` on the next turn */
    struct timer timer;
    uint64_t deadline_ms; /* 0 = none */
    uint64_t armed_ms;    /* when the timer will look at the deadline */
    size_t flush_left;    /* unsent bytes at the last deadline, to detect a reader that stopped */

    uint8_t state;          /* enum conn_state */
    bool is_processing : 1; /* conn_process is on the stack: it calls conn_settle at its end */
    bool is_reading : 1;
    bool has_begun : 1;     /* part of the next head has arrived */
    bool is_keep_alive : 1; /* after the current answer */
    bool has_eof : 1;       /* the client will send nothing more */
    bool has_served : 1;    /* a request has been answered */
    bool is_local_socket : 1;
    bool is_proxy : 1;    /* of a trusted proxy, with requests of many clients */
    bool has_turn : 1;    /* share.c has let it pass once */
    bool is_greeting : 1; /* the handshake of TLS is not over */
    uint32_t peer_uid;
    char peer_addr[48];
};

struct request {
    struct http_req pub;
    struct list_node node; /* in server->live or server->spare */
    struct buf body;
    const struct http_sink *sink; /* gets the body instead: receive.c */
    struct buf headers;           /* of the answer, added by the handler, formatted */
    struct tally *payer;          /* the party for which it is in progress: share.h */
    unsigned replaced;            /* bit per default header that the handler has set itself */
    unsigned minor;               /* HTTP/1.x */
    bool is_head;                 /* answered without a body */
    bool is_keep_alive;           /* the client allows it */
    bool expects_continue;        /* 100 Continue was asked for and not sent */
    bool is_gone;                 /* inside on_gone */
    bool is_paused;               /* `sink` has no room */
    bool is_counted;              /* for a person: http_count_for */
    bool has_bad_header;          /* a header could not be added: the answer is 500 */
    struct http_local *local;     /* of a request without a connection: who gets the answer */
};

struct listener {
    union http_socket uv;
    struct http_server *server;
    struct list_node node;
    char *path; /* Unix socket, to be unlinked while it is still ours */
    uint64_t dev, ino;
};

/* A party that used the server, and when. */
struct http_user {
    const void *party;
    uint64_t ms;
};

struct http_server {
    struct loop *loop;
    struct http_limits limits;
    struct http_handlers handlers;
    struct http_stats stats;

    struct list_node listeners;
    size_t nlisteners; /* open or closing */

    /* Connections. heads: requests that are not complete, from clients that are not known as a
     * person, oldest first; idle: between requests, longest silent first; busy: the others. */
    struct list_node heads, idle, busy;
    struct map tallies; /* key -> struct tally */
    size_t nanonymous;  /* connections that are counted for an address */
    size_t queued;      /* bytes that wait for slow readers */

    struct tally *payer; /* the party that pays for the current callback: share.h */
    uint64_t paid_since_us;
    bool is_paying;
    struct http_user users[2]; /* the latest two */

    struct list_node live, spare;
    size_t nspare;

    struct list_node streams; /* struct sse, longest silent first */
    size_t nstreams;          /* on_close still to come */
    struct list_node unsent;  /* struct sse with frames of this turn */
    struct deferred send;     /* writes them */
    struct timer ping;
    uint64_t ping_ms; /* SSE_PING_MS; shorter in tests */
    struct sse_frame *ping_frame;

    char *read_buf;
    struct tls_keys *keys; /* NULL = plain HTTP */
    char *plain_buf;       /* what was decrypted of one read */
    struct http_head head; /* scratch of the parser */
    struct buf out_head, out_body;
    uint64_t id_seed, id_count;
    int64_t date_s;
    int64_t error_logged_s; /* when an error with a path was logged */
    char date[32];

    bool is_stopping, is_stopped;
    struct timer grace;
    struct deferred stopped;
    loop_fn stop_done;
    void *stop_ctx;
};

/* ---- server.c ---- */

void server_check_stopped(struct http_server *s);
uint64_t server_now_ms(const struct http_server *s); /* of this loop turn */

/* ---- conn_life.c ---- */

/* Takes over an accepted connection of the listener; the memory is the server's. */
void conn_accept(struct listener *l);
void conn_close(struct http_conn *c);          /* immediately; pending output is lost */
void conn_close_silent(struct http_server *s); /* those that have sent nothing yet */
void conn_reset(struct http_conn *c);          /* like conn_close, with an RST to the client */

/* ---- conn.c ---- */

/* Decides what the connection waits for; after every step that may have changed its state. */
void conn_settle(struct http_conn *c);
void conn_put_in(struct http_conn *c, struct list_node *place);
void conn_on_again(void *conn); /* callbacks of c->again and c->timer */
void conn_on_timer(void *conn);

/* Works on input that was received; the bytes are borrowed for the call. */
void conn_input(struct http_conn *c, str in);

/* Sends head and body. Bytes that the kernel does not accept now are copied and queued; a body
 * that is_static is not copied. False: the connection was closed. */
bool conn_write(struct http_conn *c, str head, str body, bool is_static);
bool conn_send(struct http_conn *c, str head, str body,
               bool is_static); /* the same, not encrypted */

/* The last byte of the answer was handed to conn_write. */
void conn_answered(struct http_conn *c);
void conn_set_deadline(struct http_conn *c, uint64_t delay_ms);
void conn_set_body_deadline(struct http_conn *c, uint64_t stall_ms);
/* The body of c->req is read from here on. has_input: part of it has come already. */
void conn_begin_body(struct http_conn *c, bool has_input);
/* Continues with the input or the request that had to wait (share.c). */
void conn_resume(struct http_conn *c);

/* ---- secure.c ---- */

void secure_accept(struct http_conn *c); /* begins the handshake, if the server has a certificate */
void secure_received(struct http_conn *c, str in);
bool secure_write(struct http_conn *c, str head, str body); /* as conn_write */
void secure_end(struct http_conn *c); /* nothing follows; does nothing for a plain connection */

/* ---- request.c ---- */

struct request *request_new(struct http_conn *c);
struct request *request_new_local(struct http_server *s); /* without a connection */
void request_release(struct request *r);
void request_drop_all(struct http_server *s); /* unanswered requests lose their server */
/* Copies the parsed head into the request; 0 or -EINVAL for a path that is not valid. */
int request_set_head(struct request *r, const struct http_head *h, str bytes);

static inline struct request *request_of(const struct http_req *r)
{
    return CONTAINER_OF(r, struct request, pub);
}

/* ---- local.c ---- */

struct http_local {
    struct deferred begin;
    struct request *request; /* until it is answered */
    struct sse *sse;         /* or: the stream that answers it */
    bool has_begun;
    const struct http_local_events *ev;
    void *ctx;
};

void local_answer(struct request *r, int status, const char *type, str body);
/* The request is answered with a stream, from now on with the two functions below. */
struct http_local *local_stream(struct request *r, struct sse *s);
void local_data(struct http_local *l, str bytes);
void local_end(struct http_local *l);

/* ---- response.c ---- */

/* Formats the head of a response that is sent in pieces into server->out_head. */
void response_begin_stream(struct request *r, const char *type, int status,
                           int64_t length);                               /* negative = unknown */
void response_fail(struct http_conn *c, int status, const char *message); /* no request yet */
/* Detaches the request from its connection, which is returned; the caller releases the request. */
struct http_conn *response_detach(struct request *r, int status);
/* Answers r with an error of the server itself. */
void response_refuse(struct request *r, int status, const char *message);

/* ---- receive.c ---- */

void receive_piece(struct request *r, str piece, bool is_last);
/* The body cannot be completed: answers, after the owner of a sink was told with on_gone. */
void receive_refuse(struct request *r, int status, const char *message);
const char *receive_limit_words(struct request *r); /* of a body above the limit; in its arena */

/* ---- stream.c ---- */

void stream_conn_gone(struct http_stream *s);
void stream_drained(struct http_stream *s);

/* ---- sse.c ---- */

void sse_conn_gone(struct sse *s); /* the connection is closing */
void sse_local_gone(struct sse *s);
void sse_stop_all(struct http_server *s);
void sse_ping_due(void *server);
void sse_send_unsent(void *server);

/* sockets that accept connections for a server. Not for other floors; the
 * functions that open them are in server.h. */

void listeners_close(struct http_server *s); /* ends with server_check_stopped */
