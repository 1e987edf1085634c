#include "store/postgres/pg_consent.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "loop/timer.h"

#define BETWEEN_MS 2000

struct consent_reading {
    struct arena arena;
    str *workspaces;
    size_t nworkspaces;
    int64_t known;
    /* out */
    bool is_new;
    int64_t generation;
    str *of; /* the workspace of each row */
    struct consent_row *rows;
    size_t n;
    struct err err;
};

struct pg_consents {
    struct consent_table table;
    struct loop *loop;
    struct logger *log;
    struct database *db;
    struct pool *pool;
    struct timer between;
    struct list_node watches; /* struct consent_watch */
    struct list_node writes;  /* struct consent_write; the first is with the pool thread */
    int64_t known;            /* generation; 0: everything is new */

    bool is_reading, is_failing;
    struct job read_job, write_job;
    struct consent_reading reading;
    struct err write_err;
};

/* ---- reading ---- */

static void begin_reading(struct pg_consents *x)
{
    struct consent_reading *r = &x->reading;
    *r = (struct consent_reading){.known = x->known};
    arena_init(&r->arena);
    r->workspaces = arena_array(&r->arena, list_count(&x->watches) + 1, sizeof(str));
    LIST_EACH (w, &x->watches, struct consent_watch, node)
        r->workspaces[r->nworkspaces++] = arena_str(&r->arena, w->workspace_id);
}

static int read_rows(struct pg_conn *c, struct consent_reading *r, struct err *e)
{
    struct pg_params p;
    pg_params_init(&p, &r->arena);
    pg_texts(&p, r->workspaces, r->nworkspaces);
    struct pg_query q = {.sql = "SELECT workspace, user_id, tool FROM nb_consent"
                                " WHERE workspace = ANY ($1::text[])"
                                " ORDER BY workspace, user_id, tool",
                         .params = &p};
    int code = pg_conn_run(c, &q, 1, e);
    size_t n = code == 0 ? (size_t)pg_rows(c, &q) : 0;
    r->of = arena_array(&r->arena, n + 1, sizeof *r->of);
    r->rows = arena_array(&r->arena, n + 1, sizeof *r->rows);
    r->n = n;
    for (size_t i = 0; i < n; i++) {
        r->of[i] = arena_str(&r->arena, pg_get_text(c, &q, (int)i, 0));
        r->rows[i] = (struct consent_row){arena_str(&r->arena, pg_get_text(c, &q, (int)i, 1)),
                                          arena_str(&r->arena, pg_get_text(c, &q, (int)i, 2))};
    }
    pg_clear(c, &q, 1);
    return code;
}

/* The generation first: rows that are newer than it are only read once more. */
static int read_table(struct pg_conn *c, void *ctx, struct err *e)
{
    struct consent_reading *r = ctx;
    struct pg_query q = {.sql = "SELECT coalesce(max(generation), 0) FROM nb_generation"
                                " WHERE name = 'consents'"};
    int code = pg_conn_run(c, &q, 1, e);
    if (code == 0)
        r->generation = pg_get_int(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    r->is_new = code == 0 && r->generation != r->known;
    return r->is_new ? read_rows(c, r, e) : code;
}

static void read_work(struct job *j)
{
    struct pg_consents *x = CONTAINER_OF(j, struct pg_consents, read_job);
    (void)database_read(x->db, read_table, &x->reading, &x->reading.err);
}

static bool give_rows(struct consent_watch *w, const struct consent_reading *r)
{
    size_t from = 0, n = 0;
    while (from < r->n && !str_eq(r->of[from], w->workspace_id))
        from++;
    while (from + n < r->n && str_eq(r->of[from + n], w->workspace_id))
        n++;
    return w->on_rows(w->ctx, r->rows + from, n);
}

static bool is_among(const struct consent_reading *r, str workspace_id)
{
    for (size_t i = 0; i < r->nworkspaces; i++)
        if (str_eq(r->workspaces[i], workspace_id))
            return true;
    return false;
}

static void take_reading(struct pg_consents *x)
{
    struct consent_reading *r = &x->reading;
    bool is_taken = true, has_failed = r->err.code < 0;
    if (has_failed && !x->is_failing)
        log_warn(x->log, "store",
                 "stored permissions cannot be compared with those of other "
                 "servers: %s",
                 r->err.msg);
    x->is_failing = has_failed;
    if (!has_failed && r->is_new) {
        LIST_EACH (w, &x->watches, struct consent_watch, node)
            if (is_among(r, w->workspace_id))
                is_taken &= give_rows(w, r);
        x->known = is_taken ? r->generation : 0;
    }
    arena_done(&r->arena);
}

static void read_done(struct job *j)
{
    struct pg_consents *x = CONTAINER_OF(j, struct pg_consents, read_job);
    x->is_reading = false;
    take_reading(x);
    if (!list_empty(&x->watches))
        timer_start(&x->between, BETWEEN_MS);
}

static void on_between(void *ctx)
{
    struct pg_consents *x = ctx;
    if (list_empty(&x->watches) || x->is_reading)
        return;
    x->is_reading = true;
    begin_reading(x);
    pool_run(x->pool, &x->read_job, read_work, read_done);
}

static int table_watch(struct consent_table *t, struct consent_watch *w, struct err *e)
{
    struct pg_consents *x = CONTAINER_OF(t, struct pg_consents, table);
    struct consent_reading r = {.nworkspaces = 1, .known = -1};
    arena_init(&r.arena);
    r.workspaces = arena_array(&r.arena, 1, sizeof(str));
    r.workspaces[0] = w->workspace_id;
    int code = database_read(x->db, read_table, &r, e);
    if (code == 0) {
        (void)give_rows(w, &r); /* nothing can be under way yet */
        list_push(&x->watches, &w->node);
        if (!x->is_reading && !timer_active(&x->between))
            timer_start(&x->between, BETWEEN_MS);
    }
    arena_done(&r.arena);
    return code;
}

/* ---- writing ---- */

static int write_rows(struct pg_conn *c, const struct consent_write *w, struct arena *a,
                      struct err *e)
{
    struct pg_params added, removed;
    str *texts = arena_array(a, 4 * w->n + 1, sizeof(str));
    str *to_add[] = {texts, texts + w->n}, *to_remove[] = {texts + 2 * w->n, texts + 3 * w->n};
    size_t nadded = 0, nremoved = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct consent_edit *x = &w->edits[i];
        str **to = x->is_removal ? to_remove : to_add;
        size_t *n = x->is_removal ? &nremoved : &nadded;
        to[0][*n] = x->row.user_id.p ? x->row.user_id : STR("");
        to[1][(*n)++] = x->row.tool;
    }
    pg_params_init(&removed, a);
    pg_text(&removed, w->workspace_id);
    pg_texts(&removed, to_remove[0], nremoved);
    pg_texts(&removed, to_remove[1], nremoved);
    pg_params_init(&added, a);
    pg_text(&added, w->workspace_id);
    pg_texts(&added, to_add[0], nadded);
    pg_texts(&added, to_add[1], nadded);
    struct pg_query q[] = {
        {.sql = "BEGIN"},
        {.sql = "INSERT INTO nb_generation AS n (name, generation) VALUES ('consents', 1)"
                " ON CONFLICT (name) DO UPDATE SET generation = n.generation + 1"},
        {.sql = "DELETE FROM nb_consent AS n USING unnest($2::text[], $3::text[]) AS w(user_id,"
                " tool) WHERE n.workspace = $1::text AND n.user_id = w.user_id AND n.tool = w.tool",
         .params = &removed},
        {.sql = "INSERT INTO nb_consent (workspace, user_id, tool)"
                " SELECT DISTINCT $1::text, w.user_id, w.tool"
                " FROM unnest($2::text[], $3::text[]) AS w(user_id, tool)"
                " ON CONFLICT (workspace, user_id, tool) DO NOTHING",
         .params = &added},
        {.sql = "COMMIT"}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    if (r == 0 && !str_eq(pg_command_tag(c, &q[ARRAY_LEN(q) - 1]), STR("COMMIT")))
        r = err_set(e, -EIO, "the database did not store the permission");
    pg_clear(c, q, ARRAY_LEN(q));
    return r;
}

static struct consent_write *first_write(struct pg_consents *x)
{
    return LIST_ENTRY(x->writes.next, struct consent_write, node);
}

static int write_table(struct pg_conn *c, void *ctx, struct err *e)
{
    struct arena a;
    arena_init(&a);
    int r = write_rows(c, ctx, &a, e);
    arena_done(&a);
    return r;
}

static void write_work(struct job *j)
{
    struct pg_consents *x = CONTAINER_OF(j, struct pg_consents, write_job);
    err_clear(&x->write_err);
    (void)database_read(x->db, write_table, first_write(x), &x->write_err);
}

static void write_done(struct job *j)
{
    struct pg_consents *x = CONTAINER_OF(j, struct pg_consents, write_job);
    struct consent_write *w = first_write(x);
    list_del(&w->node);
    w->done(w->ctx, &x->write_err);
    if (!list_empty(&x->writes))
        pool_run(x->pool, &x->write_job, write_work, write_done);
}

static void table_write(struct consent_table *t, struct consent_write *w)
{
    struct pg_consents *x = CONTAINER_OF(t, struct pg_consents, table);
    bool is_first = list_empty(&x->writes);
    list_push(&x->writes, &w->node);
    if (is_first)
        pool_run(x->pool, &x->write_job, write_work, write_done);
}

/* ---- life ---- */

struct pg_consents *pg_consents_new(struct loop *l, struct logger *log, struct database *db)
{
    struct pg_consents *x = xcalloc(1, sizeof *x);
    x->table = (struct consent_table){.watch = table_watch, .write = table_write};
    x->loop = l;
    x->log = log;
    x->db = db;
    x->pool = pool_new(l, "nb-consents", 1);
    list_init(&x->watches);
    list_init(&x->writes);
    timer_init(&x->between, l, on_between, x);
    return x;
}

struct consent_table *pg_consents_table(struct pg_consents *c)
{
    return &c->table;
}

void pg_consents_free(struct pg_consents *c)
{
    if (!c)
        return;
    pool_free(c->pool);
    timer_stop(&c->between);
    assert(list_empty(&c->watches) && list_empty(&c->writes));
    free(c);
}
