/* database.h - the connections of a process to its PostgreSQL, shared by the stores of all
 * workspaces.
 *
 *     loop thread                  thread nb-pg-write              threads nb-pg-read
 *     database_submit(op) ------>  batch: one transaction          database_read(fn)
 *     op_done for each    <------  for many conversations          one connection each
 *
 * One connection writes (group commit, pg_batch.c), a few read. Nothing is loaded or connected
 * before the first store of type postgres is opened. A connection that was lost is made again, with
 * growing delays; meanwhile reads fail immediately, and writes wait for up to
 * DATABASE_WRITE_WAIT_MS.
 *
 * Only one process may write, unless all that do are replicas (database_share): the connection of
 * the writer holds an advisory lock of the database for as long as it lives. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/map.h"
#include "loop/pool.h"
#include "store/database/pg_conn.h"
#include "store/postgres/pg_lease.h"
#include "store/postgres/pg_outbox.h"

#define DATABASE_READERS       4
#define DATABASE_WRITE_WAIT_MS 15000

struct pg_batch;
struct pg_relay;

struct database {
    struct loop *loop;
    struct logger *log;
    char *url;
    char application[64]; /* names this process among the sessions of the server */
    struct pg_secrets secrets;
    struct pq_api api;
    bool is_open;
    bool has_replicas;      /* other servers write too */
    atomic_bool is_writing; /* set by the loop thread, read by the readers */
    struct pool *write_pool, *readers;

    pthread_mutex_t lock; /* for the members up to the next comment */
    struct pg_conn *idle[DATABASE_READERS];
    size_t nidle;
    unsigned failures; /* attempts to connect, one after the other */
    uint64_t retry_ms; /* no attempt before */
    struct err why;    /* of the last one */
    unsigned connections;
    struct map counts; /* of long lists (pg_list.c): struct pg_count */

    /* the writer's thread */
    struct pg_conn *writer;
    struct map cached; /* "<workspace>/<id>" -> struct pg_cached */

    /* loop thread */
    struct list_node pending; /* struct store_op.wait */
    struct pg_batch *batch;   /* the one under way */
    struct replica *replica;  /* NULL: not has_replicas, or not open for writing */
    struct outbox outbox;
    struct pg_relay *relay; /* NULL: no store is open that others use too */
    struct database_check { /* the last one, or the one under way */
        struct job job;
        uint64_t began_ms;
        int code;
        bool is_running, is_failed;
    } check;

    atomic_bool has_notify;     /* else others find out by asking (pg_relay.h) */
    atomic_bool is_cache_stale; /* a conversation was deleted or restored */
    atomic_uint_fast64_t nappends, nbatches, nconnects, nfailures;
};

/* Cheap: nothing is loaded, nothing is connected. url: NULL = the PG* variables. */
struct database *database_new(struct loop *l, struct logger *log, const char *url);
/* Other servers may write at the same time. Before it is opened. */
void database_share(struct database *db);
void database_free(struct database *db); /* after all stores are closed; accepts NULL */

/* What other servers leave behind, and what they order. After database_open; nothing happens if
 * there are no other servers. address: of this one, for operators. */
void database_on_others(struct database *db, const struct replica_events *ev, void *ctx,
                        const char *address);

/* Loads libpq, connects, checks the tables. Blocking, at the first call only: a server that starts
 * must say why it cannot. is_writing: takes the lock too. Loop thread. */
int database_open(struct database *db, bool is_writing, struct err *e);
/* The same without the tables, for commands that make them; the caller closes the connection. */
int database_connect(struct database *db, struct pg_conn **ret, struct err *e);

/* Calls fn with a connection, on a thread that may block. fn may be called twice: the first
 * connection may have been lost long ago. */
typedef int (*database_fn)(struct pg_conn *c, void *ctx, struct err *e);
int database_read(struct database *db, database_fn fn, void *ctx, struct err *e);

/* Asks whether it is there; -EHOSTUNREACH. On a thread that may block. */
void database_check(struct database *db, struct err *e);

/* The connection of the writer, which is made if there is none. The writer's thread. */
int database_writer(struct database *db, uint64_t deadline_ms, struct pg_conn **ret, struct err *e);

/* For health checks: it did not answer the last time it was asked, or has not for 5 seconds. Asks
 * again, at most every 2 seconds. Loop thread; accepts NULL. */
bool database_is_unreachable(struct database *db);

/* Lines for Prometheus; nothing if no store uses the database. Loop thread; accepts NULL. */
void database_metrics(struct database *db, struct buf *out);
