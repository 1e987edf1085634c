/* tally.h - whom connections, streams and unread bytes are counted for.
 *
 * A TCP connection counts for its address until a request on it is known to come from a person
 * (http_count_for); from then on it counts for that person. A connection of a trusted proxy counts
 * for the client of the request that it carries (http_count_for_address), then for the person, and
 * for nobody between requests. Connections over the Unix socket count for nobody. At a ceiling the
 * counted party loses something of its own, the oldest unfinished head first, and never a request
 * that is being handled; only when it has nothing to lose is the newcomer refused. Not for other
 * floors. */
#pragma once

#include "http/conn/conn.h"

struct tally {
    struct http_server *server;
    char *key;                /* "a" and the address, or "p" and the person */
    struct list_node conns;   /* http_conn.counted, in the order in which they came */
    struct list_node watches; /* sse.counted, the same */
    size_t nconns, nwatches;
    size_t queued; /* bytes that wait for slow readers */
    bool is_person;

    /* Of share.c. */
    struct list_node waiting; /* http_conn.waits: for time */
    struct list_node ready;   /* http_conn.waits: for one of the requests under way to end */
    struct timer turn;        /* when those who wait go on */
    uint64_t debt_us, paid_us;
    size_t nunder_way, nheld;
};

void tally_leave(struct http_conn *c);
/* Frees a tally in which nothing is counted any more. */
void tally_free_unused(struct tally *t);
void tallies_free(struct http_server *s);

/* Counts a newcomer for its address and makes room for it. *ret_refuse: it gets an error and
 * nothing else; false: not even that. */
bool tally_admit(struct http_conn *c, bool *ret_refuse);

/* Closes the party's own connection that is missed least, never `keep`. False: all of them have
 * a request under way. */
bool tally_evict(struct tally *t, const struct http_conn *keep);

/* The connection holds n more bytes, or fewer. */
void tally_queued(struct http_conn *c, ptrdiff_t n);
/* Whether n more bytes may wait for the reader of c: one that has nothing unread may always be
 * sent one answer. */
bool tally_has_room(const struct http_conn *c, size_t n);

struct tally *tally_add_watch(struct http_conn *c, struct list_node *counted);
void tally_drop_watch(struct http_server *s, struct tally *t, struct list_node *counted);
