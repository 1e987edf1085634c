/* pg_batch.h - group commit: the writes of many conversations in one transaction.
 *
 * While a batch is under way on the writer's thread, calls wait; the next batch takes all of them,
 * up to its limits. A call is answered after COMMIT.
 *
 * The fence. A conversation has its lines under (key, seq), and `last` in its row. A batch appends
 * at the end that this process knows: `UPDATE ... WHERE last = expected` finds no row if another
 * process has written, and then no line of that conversation is inserted. The other conversations
 * of the batch are not affected. A server that is alone fails then (-EBUSY). One that knows of
 * others (pg_lease.h) reads the row again and appends at the new end, since a rename elsewhere must
 * not end a run here; what keeps a server out that was stopped for a minute is then the epoch of
 * the lease that its appends name.
 *
 * In doubt. If the connection is lost before the answer to COMMIT, nobody knows whether it took
 * effect. The batch then reads the lines at its places: if they are its own, it was committed; if
 * there are none, it is sent again at the same places, where it cannot be written twice, because a
 * late COMMIT of the first attempt holds the row until it has ended. If other lines are there, the
 * conversation belongs to another process now, and the call fails with -EBUSY. */
#pragma once

#include "loop/pool.h"
#include "store/postgres/pg_outbox.h"
#include "store/postgres/pg_summary.h"
#include "store/postgres/pg_text.h"

struct database;
struct pg_conn;
struct store;
struct store_op;

#define BATCH_OPS_MAX   256
#define BATCH_BYTES_MAX (8u * 1024 * 1024) /* a larger call is a batch alone */
#define BATCH_BLOBS_MAX 4096

struct pg_cached { /* a conversation as this process has written it last; the writer's thread */
    int64_t key, last;
    struct pg_derive derived;
};

/* NULL: not cached. */
struct pg_cached *pg_cache_get(struct database *db, const struct store *s, str id);
struct pg_cached *pg_cache_add(struct database *db, const struct store *s, str id);
void pg_cache_drop(struct database *db, const struct store *s, str id); /* absent is fine */
void pg_cache_clear(struct database *db);
void pg_cache_trim(struct database *db); /* between two batches: bounds its size */

struct pg_group { /* what a batch does to one conversation */
    struct store *store;
    str id;
    struct pg_cached *conv; /* NULL: it does not exist */
    bool is_fresh_id;       /* is_new: the trash cannot have it */
    bool is_new, is_won, is_settled, is_derived;
    unsigned tries;        /* ends that other servers have moved */
    int64_t epoch;         /* of the lease that the lines are written under; 0 = none */
    int64_t at_end;        /* the only end at which they may be written; -1 = any */
    int64_t key, expected; /* is_new: expected is -1 */
    str *lines;            /* without line feeds */
    size_t nlines;
    struct pg_text *texts; /* one for each line; at_ms of lines without text is not set */
    bool *has_text;
    struct store_op **ops;
    size_t nops;
    str summary;
};

struct pg_blob {
    struct store *store;
    str id, sha256, bytes;
};

struct pg_batch {
    struct database *db;
    struct job job;
    struct arena arena;
    struct store_op *ops[BATCH_OPS_MAX];
    size_t nops;
    struct pg_group groups[BATCH_OPS_MAX];
    size_t ngroups;
    bool has_doubt;        /* an attempt has ended without an answer */
    struct pg_blob *blobs; /* in the arena */
    size_t nblobs, blobs_cap;
    struct outbox_load outbox; /* goes with the first attempt that is committed */
};

/* Loop thread: op->lines or op->in.blob are written, then op_done is called. op->task.kind says
 * which: LOG_CREATE, LOG_APPEND, or LOG_RUN for a blob. */
void pg_batch_submit(struct store_op *op);

/* ---- pg_sql.c: all of them blocking, on the writer's thread; 0 or an error of pg_conn_run ---- */

/* Finds the conversations of the groups that are not cached. */
int pg_sql_load(struct pg_conn *c, struct pg_batch *b, struct err *e);
/* One transaction for all groups that are not settled. Sets is_won of those that were written. */
int pg_sql_commit(struct pg_conn *c, struct pg_batch *b, struct err *e);
/* Only the rows of the new conversations, in the transaction that is open. */
int pg_sql_create(struct pg_conn *c, struct pg_batch *b, struct err *e);
struct pg_found {
    bool exists;     /* the conversation */
    bool is_written; /* the lines of the group, at their places */
    bool is_leased;  /* its epoch is valid, or it has none */
};
int pg_sql_find(struct pg_conn *c, struct arena *a, struct pg_group *g, struct pg_found *ret,
                struct err *e);
