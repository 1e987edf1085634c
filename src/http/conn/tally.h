/* tally.h - the limits of a client: which party connections, streams and unread bytes count for.
 *
 * A party is an address (an IPv6 /64 is one address) or a person. Each has one struct tally, which
 * exists while something is counted in it, or while it owes time (share.h).
 *
 *   accept                      request from a known person
 *     |                              |
 *     v                              v
 *   TCP connection --> address --> person          (http_count_for)
 *   proxy connection -> nobody --> client address --> person --> nobody
 *                                  (http_count_for_address)     (before the next head)
 *   Unix socket -----> nobody
 *
 * At its own ceiling a party loses one of its own connections: an unfinished head first, then an
 * idle one, and so on (eviction_order in tally.c). A request that is being handled is never cut;
 * a new connection is refused only when all connections of the party have one. At the ceiling of
 * the server (http_limits.conns) the oldest unfinished head or the longest idle connection of any
 * party is closed.
 *
 * Invariants: c->tally is NULL or c is in c->tally->conns; t->queued is the sum of c->queued over
 * its connections. A tally is freed only by tally_free_unused, so a function that may close the
 * last connection of a tally it still uses raises nconns (or nheld) around the call. Loop thread
 * only; not for other floors. */
#pragma once

#include "http/conn/conn.h"

struct tally {
    struct http_server *server;
    char *key;                /* "a" and the address, or "p" and the person */
    struct list_node conns;   /* http_conn.counted, oldest first */
    struct list_node watches; /* sse.counted, oldest first */
    size_t nconns, nwatches;
    size_t queued; /* bytes that wait for slow readers, of all connections */
    bool is_person;

    /* Fields of share.c. */
    struct list_node waiting; /* http_conn.waits: for the debt to be paid */
    struct list_node ready;   /* http_conn.waits: for one of the requests in progress to end */
    struct timer turn;        /* when waiting connections continue */
    uint64_t debt_us;         /* time used on the loop and not paid yet */
    uint64_t paid_us;         /* clock up to which the debt was paid */
    size_t nunder_way;        /* requests in progress, without long ones */
    size_t nheld;             /* users of this tally on the stack: it is not freed */
};

/* Ends the counting of the connection; may free the tally. */
void tally_leave(struct http_conn *c);
/* Frees the tally if nothing is counted in it any more. */
void tally_free_unused(struct tally *t);
void tallies_free(struct http_server *s);

/* Counts a new connection for its address and makes room for it. *ret_refuse: answer it with an
 * error and nothing else; false: not even that answer has room. */
bool tally_admit(struct http_conn *c, bool *ret_refuse);

/* Closes the connection of the party that is the least loss, never `keep`. False: all of them have
 * a request in progress. */
bool tally_evict(struct tally *t, const struct http_conn *keep);

/* The connection holds n more unsent bytes, or fewer. */
void tally_queued(struct http_conn *c, ptrdiff_t n);
/* Whether n more bytes may be queued for c. A party without unread bytes always gets one response,
 * whatever its size. */
bool tally_has_room(const struct http_conn *c, size_t n);

struct tally *tally_add_watch(struct http_conn *c, struct list_node *counted);
void tally_drop_watch(struct http_server *s, struct tally *t, struct list_node *counted);
