/* session_log.h - messages that were sent to a session, stream by stream, for clients that
 * reconnect.
 *
 * An event id is "<stream>-<number>". The bytes are bounded per session: the oldest events are
 * dropped first. A client that needed a dropped event has lost it, which the protocol allows. */
#pragma once

#include "gateway/session.h"

#define GW_LOG_BYTES_MAX  (1024u * 1024) /* per session: kept for clients that resume */
#define GW_LOG_EVENTS_MAX 4096
#define GW_LOGS_MAX       64
#define GW_RETRY_MS       1000 /* before a client reconnects to a broken stream */

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

struct gw_log *gw_log_new(struct gw_session *s);
void gw_log_free(struct gw_log *l);
void gw_log_add(struct gw_log *l, str message); /* empty text: an event that has only an id */
void gw_log_over(struct gw_log *l);             /* one of its requests was answered or ended */
/* Opens a stream for this client that starts after event `last_id` ("3-17", or empty). */
void gw_log_read(struct gw_session *s, struct http_req *r, str last_id);
void gw_log_attach(struct gw_log *l, struct http_req *r);
