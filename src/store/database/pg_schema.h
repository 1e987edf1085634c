/* pg_schema.h - the tables of nb in PostgreSQL: made and versioned by nb itself.
 *
 * A migration only adds tables, columns with defaults and indexes, so that an older nb can still
 * use them. Each row of nb_schema is a migration: `version`, and `needs`, the schema that an nb
 * must know at least to use the tables after it. An nb refuses a database that needs more than it
 * knows. Pool threads, or commands. */
#pragma once

#include "store/database/pg_conn.h"

#define PG_SCHEMA_VERSION 14 /* the newest that this nb knows */

struct pg_schema_state {
    int64_t version, needs; /* the highest; 0: there are no tables */
    uint64_t missing;       /* a bit for each migration of this nb that was not applied */
};

int pg_schema_read(struct pg_conn *c, struct pg_schema_state *ret, struct err *e);
/* Can this nb use the tables? -ENODATA: run nb store init; -EPROTO: they are too new. */
int pg_schema_check(struct pg_conn *c, struct err *e);
/* Applies the migrations that are missing, in one transaction. *ret_applied: how many. */
int pg_schema_migrate(struct pg_conn *c, int *ret_applied, struct err *e);
