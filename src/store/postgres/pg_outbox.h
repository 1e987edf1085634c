/* pg_outbox.h - what this server tells the others, and leases that it has ended.
 *
 * Both go with the writer's next transaction. If there is none they go alone: what is told in the
 * same turn of the loop, but not within OUTBOX_MS after the transaction before; ended leases after
 * OUTBOX_MS. So notifications keep the order in which things happened here, a transaction has as
 * few of them as possible, and no second connection of this server competes with the writer for the
 * lock that NOTIFY takes.
 *
 * A notification has less than 8,000 bytes. Its first line is "<server> <number> <kind>"; the
 * number makes it unique, because the database drops one that equals another of its transaction.
 *
 *   m  whole messages follow, one in each line (pg_relay.c)
 *   p  a part of one message that is too long, more parts follow; q: its last part
 *   a  "<workspace> <conversation> <last line>" follow, or "*": logs have grown (pg_sql.c)
 *
 * Loop thread, except outbox_statements. */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "loop/pool.h"
#include "loop/timer.h"
#include "store/database/pg_conn.h"

#define OUTBOX_MS         20
#define OUTBOX_LEASES_MAX 1024 /* ended in one transaction */
#define OUTBOX_PAYLOAD    7600
#define OUTBOX_PAYLOADS   512 /* more are dropped: none of them is in a log */
#define OUTBOX_MESSAGE    (1024u * 1024)
#define OUTBOX_WATCHES    4096

struct database;

struct outbox_load { /* taken out of the outbox for one transaction */
    int64_t *leases;
    size_t nleases, leases_cap;
    str *payloads; /* heap */
    size_t npayloads, payloads_cap;
    struct outbox_watch { /* streams of a conversation that began or ended here */
        char *workspace, *conversation;
        bool is_on;
    } * watches;
    size_t nwatches, watches_cap;
};

struct outbox {
    struct database *db;
    struct timer timer;
    struct outbox_load load;
    struct buf open; /* the payload that has room */
    uint64_t npayloads;
    uint64_t ntaken;            /* how often everything was taken out */
    uint64_t taken_ms;          /* the last time that something was taken out */
    atomic_bool has_lost;       /* a load may not have arrived: streams are registered again */
    struct outbox_flush *flush; /* a transaction without appends is under way, or NULL */
};

void outbox_init(struct outbox *o, struct database *db);
void outbox_done(struct outbox *o); /* after the pools are freed */

void pg_outbox_end_lease(struct database *db, int64_t epoch);
void pg_outbox_tell(struct database *db, str message); /* one line; copied */
void pg_outbox_watch(struct database *db, str workspace, str conversation, bool is_on);

/* Takes everything: the caller sends it, and frees it with outbox_load_done. */
void outbox_take(struct outbox *o, struct outbox_load *ret);
void outbox_load_done(struct outbox_load *l);
/* After an attempt: what is told is told once at most; the rest may be repeated until it succeeds.
 */
void outbox_load_sent(struct outbox *o, struct outbox_load *l, bool is_committed);
/* Adds its statements to q, which has room for OUTBOX_STATEMENTS; returns how many. The writer's
 * thread; the parameters live in the arena. */
#define OUTBOX_STATEMENTS 4
size_t outbox_statements(const struct database *db, const struct outbox_load *l, struct arena *a,
                         struct pg_query *q);
