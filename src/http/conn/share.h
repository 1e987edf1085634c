/* share.h - a fair share of the loop thread for every party (tally.h).
 *
 * All requests run on one thread. The time that a request of a party takes there is added to the
 * debt of the party; the clock pays a quarter of the elapsed time (SHARE_OF) back. While another
 * party uses the server too, a party whose debt is above SHARE_BURST_US waits. A party that is
 * alone never waits.
 *
 *   input of c --> share_head_waits? --> parse --> body --> share_request_waits? --> on_request
 *                        | debt                          debt |      | too many in progress
 *                        v                                    v      v
 *                     waiting                              waiting  ready
 *                        |                                    |      |
 *                        +-------------- on_turn -------------+------+--> conn_resume
 *
 * A connection waits in at most one of the two lists, in the order of arrival. on_turn (a timer)
 * takes connections out while the debt allows it: `ready` first, because bodies hold memory. It
 * sets has_turn, which lets the connection pass the check once, and calls conn_resume.
 *
 * Requests of a person that are not long (is_long) are handled HTTP_UNDER_WAY_MAX at a time, so
 * that one person cannot fill the queues of the pools. share_enter and share_leave count them.
 * Connections over the Unix socket, and those of a trusted proxy until the client of the request is
 * known, belong to no party and never wait.
 *
 * Time is measured between share_begin and share_end; one party pays at a time (server->payer).
 * Loop thread only; not for other floors. */
#pragma once

#include "http/conn/tally.h"

#define SHARE_OF           4u      /* a party may use a quarter of the time, */
#define SHARE_BURST_US     1000u   /* and this much more before it waits */
#define SHARE_DEBT_MAX_US  100000u /* debt beyond this is dropped, so that no wait is endless */
#define SHARE_OTHERS_MS    250u    /* a party that was active within this time uses the server */
#define HTTP_UNDER_WAY_MAX 6u      /* as many connections as a browser opens */

/* Starts the time that the party of c pays for; share_end ends it. A request that becomes known as
 * a person's in between (share_counted) makes that person pay. */
void share_begin(struct http_conn *c);
/* The same for an answer that comes out of a pool: the time began with the `done` of its job.
 * False: time is being measured already, or this is not inside a `done`. */
bool share_begin_answer(struct http_conn *c);
void share_end(struct http_server *s);
void share_counted(struct http_conn *c); /* c is counted for another party now */

/* The party of c uses the server, in any way. */
void share_note(struct http_conn *c);

/* How long the party of c has to wait before more work is done for it; 0 = not at all. */
uint64_t share_wait_ms(struct http_conn *c);
/* Whether the next request of c has to wait before its head is parsed. True puts c in a list. */
bool share_head_waits(struct http_conn *c);
/* Whether the complete request of c has to wait before it is handled. True puts c in a list. */
bool share_request_waits(struct http_conn *c);
static inline bool share_is_waiting(const struct http_conn *c)
{
    return !list_empty(&c->waits);
}

/* The request is in progress from share_enter until share_leave. */
void share_enter(struct request *r);
void share_leave(struct request *r);

void share_init(struct tally *t);
void share_done(struct tally *t);
/* Whether the tally must be kept although nothing is counted in it: a party that closes all
 * connections and comes back still has its debt. tally_free_unused is then called again later. */
bool share_is_owing(struct tally *t);
