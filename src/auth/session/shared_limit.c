#include "auth/session/shared_limit.h"

#include <limits.h>

#include "base/bytes/hash.h"
#include "store/postgres/database.h"

#define THIS_MINUTE "floor(extract(epoch FROM now()) / 60)::bigint"

struct shared_window {
    char hash[SHA256_HEX_LEN + 1];
    int64_t n;
};

static int run_with_key(struct pg_conn *c, const struct shared_window *x, struct arena *a,
                        const char *sql, struct pg_query *ret, struct err *e)
{
    struct pg_params p;
    pg_params_init(&p, a);
    pg_text(&p, str_from(x->hash));
    *ret = (struct pg_query){.sql = sql, .params = &p};
    int r = pg_conn_run(c, ret, 1, e);
    ret->params = NULL;
    return r;
}

static int count_row(struct pg_conn *c, void *ctx, struct err *e)
{
    /* A transaction that began in the minute before must not open that minute again. */
    static const char COUNT[] =
        "INSERT INTO nb_window AS w (key, minute, attempts) VALUES ($1::text, " THIS_MINUTE ", 1)"
        " ON CONFLICT (key) DO UPDATE SET"
        " attempts = CASE WHEN w.minute >= excluded.minute THEN w.attempts + 1 ELSE 1 END,"
        " minute = greatest(w.minute, excluded.minute) RETURNING attempts";
    struct shared_window *x = ctx;
    struct pg_query q;
    struct arena a;
    arena_init(&a);
    int r = run_with_key(c, x, &a, COUNT, &q, e);
    if (r == 0)
        x->n = pg_get_int(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    arena_done(&a);
    return r;
}

static int give_back_row(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char GIVE_BACK[] = "UPDATE nb_window SET attempts = attempts - 1 WHERE key = "
                                    "$1::text AND minute >= " THIS_MINUTE " AND attempts > 0";
    struct pg_query q;
    struct arena a;
    arena_init(&a);
    int r = run_with_key(c, ctx, &a, GIVE_BACK, &q, e);
    pg_clear(c, &q, 1);
    arena_done(&a);
    return r;
}

/* Rows that another server is using are left: two servers must not wait for each other. */
static int purge_rows(struct pg_conn *c, void *ctx, struct err *e)
{
    struct pg_query q = {.sql = "DELETE FROM nb_window WHERE key IN (SELECT key FROM nb_window"
                                " WHERE minute < " THIS_MINUTE
                                " - 1 LIMIT 1000 FOR UPDATE SKIP LOCKED)"};
    int r = pg_conn_run(c, &q, 1, e);
    pg_clear(c, &q, 1);
    return r;
}

int shared_limit_count(struct database *db, str key, unsigned *ret, struct err *e)
{
    struct shared_window x = {0};
    *ret = 0;
    if (!db)
        return 0;
    sha256_hex(key, x.hash);
    int r = database_read(db, count_row, &x, e);
    if (r < 0)
        return r;
    *ret = x.n > UINT_MAX ? UINT_MAX : (unsigned)x.n;
    if (x.n == 1)
        (void)database_read(db, purge_rows, NULL, NULL); /* the next one will do it */
    return 0;
}

void shared_limit_give_back(struct database *db, str key)
{
    struct shared_window x = {0};
    if (!db)
        return;
    sha256_hex(key, x.hash);
    (void)database_read(db, give_back_row, &x, NULL); /* it is forgotten after this minute anyway */
}
