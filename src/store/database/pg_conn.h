/* pg_conn.h - one connection to PostgreSQL, used by one thread at a time.
 *
 * A call sends its statements as one pipeline and waits for all results, never longer than its time
 * limit: a network that swallows packets must not stop a thread for minutes. After -EHOSTUNREACH
 * the connection is lost (is_lost) and can only be closed. Whether the statements took effect is
 * then unknown, and only reading the tables can tell.
 *
 * All values travel in binary form. Pool threads. */
#pragma once

#include "base/arena.h"
#include "store/database/pg_error.h"
#include "store/database/pq_api.h"

#define PG_PARAMS_MAX    24
#define PG_STATEMENTS    128   /* different ones on a connection */
#define PG_STATEMENT_MS  20000 /* statement_timeout of the server */
#define PG_CONNECT_MS    5000
#define PG_RUN_MS        (PG_STATEMENT_MS + 5000) /* one call here, of a server that is alive */
#define PG_IDLE_TRANS_MS 15000 /* a stopped process must not hold locks for longer */

struct pg_params {
    struct arena *arena; /* of the values */
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX], formats[PG_PARAMS_MAX];
    int n;
};

void pg_params_init(struct pg_params *p, struct arena *a);
/* Texts and bytes are borrowed until the call has ended; the arrays are copied. */
void pg_text(struct pg_params *p, str s);
void pg_int(struct pg_params *p, int64_t v);
void pg_bool(struct pg_params *p, bool v);
void pg_texts(struct pg_params *p, const str *items, size_t n);  /* text[] */
void pg_byteas(struct pg_params *p, const str *items, size_t n); /* bytea[] */
void pg_ints(struct pg_params *p, const int64_t *items, size_t n);
void pg_bools(struct pg_params *p, const bool *items, size_t n);

struct pg_query {
    const char *sql;                /* a constant: it is prepared once for each connection */
    const struct pg_params *params; /* NULL = none */
    bool is_once;                   /* not prepared: it changes the schema, or runs once */
    PGresult *result;               /* of pg_conn_run; freed by pg_clear */
};

struct pg_conn {
    const struct pq_api *api;
    const struct pg_secrets *secrets;
    PGconn *pq;
    const char *prepared[PG_STATEMENTS]; /* sql; the place is in the name of the statement */
    size_t nprepared;
    bool is_lost;
};

struct pg_address {
    const struct pq_api *api;
    const struct pg_secrets *secrets;
    const char *url; /* NULL or "": the PG* variables of the environment */
    const char *application;
    bool is_read_only; /* a standby will do */
};

/* -EHOSTUNREACH, -EACCES, -EINVAL. */
int pg_conn_open(const struct pg_address *to, struct pg_conn **ret, struct err *e);
void pg_conn_close(struct pg_conn *c); /* accepts NULL */

/* Runs the statements in order. The first that fails ends the run: its error is returned, and a
 * transaction that was open is rolled back. */
int pg_conn_run(struct pg_conn *c, struct pg_query *q, size_t n, struct err *e);
void pg_clear(const struct pg_conn *c, struct pg_query *q, size_t n);

/* ---- results ---- */
int pg_rows(const struct pg_conn *c, const struct pg_query *q);
str pg_get_text(const struct pg_conn *c, const struct pg_query *q, int row,
                int column); /* borrowed */
int64_t pg_get_int(const struct pg_conn *c, const struct pg_query *q, int row, int column);
bool pg_get_bool(const struct pg_conn *c, const struct pg_query *q, int row, int column);
bool pg_is_null(const struct pg_conn *c, const struct pg_query *q, int row, int column);
/* "COMMIT", "UPDATE 1": COMMIT of a failed transaction succeeds and answers ROLLBACK. */
str pg_command_tag(const struct pg_conn *c, const struct pg_query *q);
