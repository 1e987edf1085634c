/* pg_lease.h - replicas: the servers on one database, and which of them works on a conversation.
 *
 *     loop thread                        a reader's thread
 *     pulse, every PULSE_MS  ------>     one pipeline: this server is alive; its leases are valid
 *     on_lost, on_abandoned  <------     for LEASE_MS from now; which leases have expired?
 *
 * A lease is a row with a number (epoch) that no other lease has or will have. It is valid for
 * LEASE_MS by the clock of the database, so clocks of servers do not matter. A server that was
 * stopped for longer loses its leases to those who ask for them. The lease alone protects nothing:
 * each append under it names its epoch, and a transaction whose epoch is gone writes no line of
 * that conversation (pg_sql.c). So a server that does not know yet that it has lost cannot write.
 *
 * Ending a lease is part of the next transaction of the writer (pg_outbox.h). Loop thread. */
#pragma once

#include "base/bytes/random.h"
#include "loop/timer.h"
#include "store/database/pg_conn.h"
#include "store/store.h"

#define PULSE_MS 3000
#define LEASE_MS 10000 /* with a pulse and its answer: noticed within 15 s */
#define PULSES_GOOD                                                                                \
    3                    /* before work of others is taken over: after an outage of the database   \
                          * all servers get the time to renew their leases */
#define ABANDONED_MAX 64 /* looked at in one pulse */

struct database;
struct json;
struct store_op;

struct store_lease {
    struct list_node node; /* in replica.leases */
    struct database *db;
    int64_t epoch;
    uint64_t since; /* number of the pulse that may be the first to renew it */
    bool is_lost;
    loop_fn on_lost; /* or NULL */
    void *ctx;
};

struct replica_events { /* any may be NULL */
    /* The server of this conversation has not been seen for LEASE_MS: the server that takes the
     * lease ends its run. */
    void (*on_abandoned)(void *ctx, str workspace_id, str conversation_id);
    /* Another server asks for something about a conversation that may run here: "cancel" it,
     * "progress" (a stream there needs the text so far), "removed" (it is being deleted). */
    void (*on_order)(void *ctx, str workspace_id, str conversation_id, str order);
    /* A question (store_ask_others). The server that has its subject answers with store_reply.
     * `question` is valid during the call. */
    void (*on_ask)(void *ctx, str workspace_id, str conversation_id, str ask_id,
                   const struct json *question);
    /* An event for the streams of a person; data: one line of JSON. */
    void (*on_person)(void *ctx, str workspace_id, str user_id, str type, str data);
    /* There are queued messages of servers that are gone, or rows of this one, which may be in the
     * memory of nobody: the answer to a change of them may have been lost. */
    void (*on_orphans)(void *ctx, str workspace_id);
};

struct pulse;

struct replica { /* this server among the others */
    char id[RANDOM_ID_MAX];
    char *address; /* where people and load balancers reach it; for `nb store status` */
    struct list_node leases;
    struct timer timer;
    struct pulse *pulse; /* under way, or NULL */
    uint64_t npulses;
    unsigned ngood; /* successful pulses, one after the other */
    struct replica_events ev;
    void *ctx;
};

void replica_start(struct database *db); /* the database is open for writing */
void replica_stop(struct database *db);  /* before the pools are freed */
void replica_done(struct database *db);  /* after that: gives everything back, blocking */

/* store_ops.take_lease: op->out.lease, or -EBUSY. */
void pg_take_lease(struct store_op *op);
