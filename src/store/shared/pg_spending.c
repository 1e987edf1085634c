/* pg_spending.c - what the servers of a database have spent together, in the table nb_spending.
 *
 * The statement that stores lines adds what they have cost (APPEND in pg_sql.c), so that a line is
 * counted exactly once, whichever server writes it and whatever happens to that server. */
#include <stdlib.h>

#include "store/postgres/pg_store.h"

static void take_spent(struct pg_conn *c, const struct pg_query *q, struct store_op *op)
{
    size_t n = (size_t)pg_rows(c, q);
    struct store_spend *rows = arena_array(&op->arena, n + 1, sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct store_spend){
            arena_str(&op->arena, pg_get_text(c, q, (int)i, 0)),
            strtod(arena_cstr(&op->arena, pg_get_text(c, q, (int)i, 1)), NULL)};
    op->out.spending.rows = rows;
    op->out.spending.n = n;
}

static int read_month(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char SINCE[] =
        "SELECT (extract(epoch FROM coalesce((SELECT since FROM nb_spending_since"
        " WHERE workspace = $1), (SELECT applied_at FROM nb_schema WHERE version = 13)))"
        " * 1000)::bigint";
    static const char ROWS[] = "SELECT user_id, usd::text FROM nb_spending"
                               " WHERE workspace = $1 AND month = $2 ORDER BY user_id";
    struct store_op *op = ctx;
    struct pg_params since, rows;
    pg_params_init(&since, &op->arena);
    pg_text(&since, pg_workspace(op->store));
    pg_params_init(&rows, &op->arena);
    pg_text(&rows, pg_workspace(op->store));
    pg_text(&rows, op->in.text.text);
    struct pg_query q[] = {{.sql = SINCE, .params = &since}, {.sql = ROWS, .params = &rows}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    if (r == 0) {
        op->out.spending.since_ms = pg_get_int(c, &q[0], 0, 0);
        take_spent(c, &q[1], op);
    }
    pg_clear(c, q, ARRAY_LEN(q));
    return r;
}

void pg_read_spending(struct store_op *op)
{
    (void)database_read(pg_database(op->store), read_month, op, &op->err);
}

static int recount(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char SINCE[] =
        "INSERT INTO nb_spending_since (workspace, since) VALUES ($1, now())"
        " ON CONFLICT (workspace) DO UPDATE SET since = excluded.since";
    const struct store *s = ctx;
    struct arena a;
    struct pg_params p;
    arena_init(&a);
    pg_params_init(&p, &a);
    pg_text(&p, pg_workspace(s));
    struct pg_query q[] = {
        {.sql = "BEGIN"},
        {.sql = "DELETE FROM nb_spending WHERE workspace = $1", .params = &p},
        {.sql = SINCE, .params = &p},
        {.sql = "COMMIT"},
    };
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    pg_clear(c, q, ARRAY_LEN(q));
    arena_done(&a);
    return r;
}

int pg_recount_spending(struct store *s, struct err *e)
{
    return database_read(pg_database(s), recount, s, e);
}
