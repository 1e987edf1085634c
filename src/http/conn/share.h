/* share.h - how the time of the loop is shared among parties (tally.h).
 *
 * A party pays for the time that its requests take on the loop thread. While others use the
 * server too, a party that has taken more than its part waits: what it sent stays unparsed, or
 * complete and unhandled, in the order in which it came, until time has paid for the rest. A party
 * that is alone never waits. Requests of a person that wait for nothing outside the server are
 * besides handled HTTP_UNDER_WAY_MAX at a time, so that nobody fills the queues of the pools
 * either. Connections over the Unix socket, and those of a trusted proxy until the client of the
 * request is known, belong to no party and never wait. Not for other floors. */
#pragma once

#include "http/conn/tally.h"

#define SHARE_OF           4u      /* a party has the fourth part of the time, */
#define SHARE_BURST_US     1000u   /* and this much more before it waits */
#define SHARE_DEBT_MAX_US  100000u /* what one request took beyond this is forgotten */
#define SHARE_OTHERS_MS    250u    /* others who asked within this time use the server too */
#define HTTP_UNDER_WAY_MAX 6u      /* as many connections as a browser opens */

/* From here to share_end the party of c pays, or the person for whom it is counted meanwhile. */
void share_begin(struct http_conn *c);
/* The same for an answer that comes out of a pool: it is paid for since its job was delivered.
 * False: somebody pays already, or it comes from elsewhere. */
bool share_begin_answer(struct http_conn *c);
void share_end(struct http_server *s);
void share_counted(struct http_conn *c); /* for a person now */

/* The party of c uses the server, by whatever way. */
void share_note(struct http_conn *c);

/* How long the party of c has to wait before more is done for it: 0 = not at all. */
uint64_t share_wait_ms(struct http_conn *c);
/* Whether the next request of c has to wait before its head is parsed. */
bool share_head_waits(struct http_conn *c);
/* Whether the complete request of c has to wait before it is handled. */
bool share_request_waits(struct http_conn *c);
static inline bool share_is_waiting(const struct http_conn *c)
{
    return !list_empty(&c->waits);
}

/* The request is handled from here, until it is over. */
void share_enter(struct request *r);
void share_leave(struct request *r);

void share_init(struct tally *t);
void share_done(struct tally *t);
/* Whether the tally has to be kept although nothing is counted in it; it is then offered again. */
bool share_is_owing(struct tally *t);
