/* pg_lock.h - one nb server for each database, or several that all say so (store.replicas).
 *
 * The lock is an advisory lock of PostgreSQL that belongs to the session of the writer, so it ends
 * when the process or its connection ends. The log itself does not depend on it: two writers cannot
 * both write a line at the same place (pg_batch.h). Engines whose advisory locks do nothing, such
 * as CockroachDB, do not refuse a second server. Pool threads. */
#pragma once

#include "store/database/pg_conn.h"

/* is_shared: with other servers that take it as shared too; never with one that wants it alone.
 * -EHOSTUNREACH: another process has it. A session of this process (the same application name) that
 * the server has not given up yet is ended first; another process gets a second to end, because
 * its session lasts a moment longer than itself. */
int pg_lock_take(struct pg_conn *c, const char *application, bool is_shared, struct err *e);
/* The servers that share the database (store.replicas), and what they work on. */
struct pg_servers {
    int64_t alive;  /* heard of in the last 10 seconds */
    int64_t leases; /* conversations that one of them works on */
    int64_t queued; /* messages that wait */
};
int pg_lock_servers(struct pg_conn *c, struct pg_servers *ret, struct err *e);
/* The application name and start of a session that has the lock; empty: none. */
int pg_lock_holder(struct pg_conn *c, struct arena *a, str *ret, struct err *e);
