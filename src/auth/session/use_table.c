#include <errno.h>
#include <stdlib.h>

#include "auth/session/use_store.h"
#include "store/postgres/database.h"

struct use_table {
    struct use_store store;
    struct database *db;
};

/* ---- reading ---- */

struct use_reading {
    struct arena *arena;
    struct token_times *ret;
};

static int read_rows(struct pg_conn *c, void *ctx, struct err *e)
{
    struct use_reading *x = ctx;
    struct pg_params p;
    pg_params_init(&p, x->arena);
    pg_int(&p, TOKEN_USES_MAX);
    struct pg_query q = {.sql = "SELECT token, used_ms FROM nb_token_use LIMIT $1::bigint",
                         .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    size_t n = r == 0 ? (size_t)pg_rows(c, &q) : 0;
    *x->ret = (struct token_times){arena_array(x->arena, n + 1, sizeof *x->ret->items), n};
    for (size_t i = 0; i < n; i++)
        x->ret->items[i] = (struct token_time){arena_str(x->arena, pg_get_text(c, &q, (int)i, 0)),
                                               pg_get_int(c, &q, (int)i, 1)};
    pg_clear(c, &q, 1);
    return r;
}

static int use_table_read(struct use_store *s, struct arena *a, struct token_times *ret,
                          struct err *e)
{
    struct use_table *t = CONTAINER_OF(s, struct use_table, store);
    struct use_reading x = {a, ret};
    *ret = (struct token_times){0};
    return database_read(t->db, read_rows, &x, e);
}

/* ---- writing ---- */

static int write_noted(struct pg_conn *c, struct arena *a, const struct token_times *t,
                       struct err *e)
{
    struct pg_params p;
    str *ids = arena_array(a, t->n + 1, sizeof *ids);
    int64_t *times = arena_array(a, t->n + 1, sizeof *times);
    for (size_t i = 0; i < t->n; i++) {
        ids[i] = t->items[i].token_id;
        times[i] = t->items[i].ms;
    }
    pg_params_init(&p, a);
    pg_texts(&p, ids, t->n);
    pg_ints(&p, times, t->n);
    /* All servers lock the rows in the same order, so that no two wait for each other. */
    struct pg_query q = {
        .sql = "INSERT INTO nb_token_use (token, used_ms)"
               " SELECT token, used_ms FROM unnest($1::text[], $2::bigint[]) AS w(token, used_ms)"
               " ORDER BY token COLLATE \"C\""
               " ON CONFLICT (token) DO UPDATE"
               " SET used_ms = greatest(nb_token_use.used_ms, excluded.used_ms)",
        .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    pg_clear(c, &q, 1);
    return r;
}

static int write_forgotten(struct pg_conn *c, struct arena *a, const str *ids, size_t n,
                           struct err *e)
{
    struct pg_params p;
    pg_params_init(&p, a);
    pg_texts(&p, ids, n);
    struct pg_query q = {.sql = "DELETE FROM nb_token_use WHERE token = ANY ($1::text[])",
                         .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    pg_clear(c, &q, 1);
    return r;
}

/* Both statements may be repeated, as database_read demands. */
static int write_rows(struct pg_conn *c, void *ctx, struct err *e)
{
    const struct use_changes *x = ctx;
    struct arena a;
    int r = 0;
    arena_init(&a);
    if (x->noted.n > 0)
        r = write_noted(c, &a, &x->noted, e);
    if (r == 0 && x->nforgotten > 0)
        r = write_forgotten(c, &a, x->forgotten, x->nforgotten, e);
    arena_done(&a);
    return r;
}

static int use_table_write(struct use_store *s, const struct use_changes *c, struct err *e)
{
    struct use_table *t = CONTAINER_OF(s, struct use_table, store);
    return database_read(t->db, write_rows, (void *)c, e);
}

static void use_table_free(struct use_store *s)
{
    free(CONTAINER_OF(s, struct use_table, store));
}

struct use_store *use_table_new(struct database *db)
{
    struct use_table *t = xcalloc(1, sizeof *t);
    t->store = (struct use_store){.is_shared = true,
                                  .read = use_table_read,
                                  .write = use_table_write,
                                  .free = use_table_free};
    t->db = db;
    return &t->store;
}

struct use_store *use_store_new(const char *work_dir, struct database *shared)
{
    return shared ? use_table_new(shared) : use_file_new(work_dir);
}
