#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "auth/session/session_table_impl.h"

struct table_change {
    struct list_node node;
    uint64_t number;
    enum session_event what;
    struct login_session row; /* user_id and provider_refresh are copies */
    uint64_t roster_mark;
    bool is_refused; /* nothing was stored: somebody else was earlier */
};

int64_t session_table_ahead_ms(const struct session_table *t)
{
    return t ? t->ahead_ms : 0;
}

void session_table_forget(struct session_table *t)
{
    if (t)
        t->known = 0;
}

/* ---- writing: the pool thread ---- */

static int run(struct pg_conn *c, const char *sql, const struct pg_params *p, struct pg_query *ret,
               struct err *e)
{
    *ret = (struct pg_query){.sql = sql, .params = p};
    int r = pg_conn_run(c, ret, 1, e);
    ret->params = NULL;
    return r;
}

static int run_plain(struct pg_conn *c, const char *sql, const struct pg_params *p, struct err *e)
{
    struct pg_query q;
    int r = run(c, sql, p, &q, e);
    pg_clear(c, &q, 1);
    return r;
}

static int get_number(struct pg_conn *c, const char *sql, int64_t *ret, struct err *e)
{
    struct pg_query q;
    int r = run(c, sql, NULL, &q, e);
    if (r == 0 && pg_rows(c, &q) != 1)
        r = err_set(e, -ENODATA, "a row of nb_generation is missing; run: nb store init");
    if (r == 0)
        *ret = pg_get_int(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    return r;
}

static void add_hashes(struct pg_params *p, const struct login_session *x)
{
    pg_text(p, str_from(x->value_hash));
    pg_text(p, str_from(x->refresh_hash));
    pg_text(p, str_from(x->former_hash));
    pg_text(p, str_from(x->spent_hash));
    pg_text(p, x->provider_refresh.p ? x->provider_refresh : STR(""));
}

/* The time is that of the statement: a change of the user's password that commits earlier has an
 * earlier time. If the answer to an earlier attempt was lost, the row is there. */
static int store_begun(struct pg_conn *c, struct session_table *t, struct table_change *x,
                       struct err *e)
{
    static const char INSERT[] =
        "INSERT INTO nb_session AS n (id, origin, user_id, value_hash, refresh_hash, former_hash,"
        " spent_hash, provider_refresh, value_ms, idle_ms, absolute_ms, generation,"
        " created_ms, seen_ms, value_until_ms)"
        " SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,"
        " $9::bigint, $10::bigint, $11::bigint, $12::bigint, ms, ms, ms + $9::bigint"
        " FROM (SELECT " DATABASE_MS " AS ms) AS clock"
        " ON CONFLICT (id) DO UPDATE SET generation = excluded.generation RETURNING created_ms";
    struct login_session *row = &x->row;
    struct pg_params p;
    struct pg_query q;
    pg_params_init(&p, &t->arena);
    pg_text(&p, str_from(row->id));
    pg_text(&p, t->origin);
    pg_text(&p, row->user_id);
    add_hashes(&p, row);
    pg_int(&p, row->policy.value_ms);
    pg_int(&p, row->policy.idle_ms);
    pg_int(&p, row->policy.absolute_ms);
    pg_int(&p, t->generation);
    int r = run(c, INSERT, &p, &q, e);
    if (r == 0) {
        row->created_ms = row->seen_ms = pg_get_int(c, &q, 0, 0);
        row->value_until_ms = row->created_ms + row->policy.value_ms;
    }
    pg_clear(c, &q, 1);
    return r;
}

/* A compare-and-set: who has another refresh value has lost. The row may have the new one, if the
 * answer to an earlier attempt was lost. */
static int store_rotated(struct pg_conn *c, struct session_table *t, struct table_change *x,
                         struct err *e)
{
    static const char UPDATE[] =
        "UPDATE nb_session SET value_hash = $2::text, refresh_hash = $3::text,"
        " former_hash = $4::text, spent_hash = $5::text, provider_refresh = $6::text,"
        " former_until_ms = $7::bigint, value_until_ms = $8::bigint,"
        " seen_ms = greatest(seen_ms, $9::bigint), generation = $10::bigint"
        " WHERE id = $1::text AND ended_ms = 0"
        " AND (refresh_hash = $5::text OR refresh_hash = $3::text)";
    const struct login_session *row = &x->row;
    struct pg_params p;
    struct pg_query q;
    pg_params_init(&p, &t->arena);
    pg_text(&p, str_from(row->id));
    add_hashes(&p, row);
    pg_int(&p, row->former_until_ms);
    pg_int(&p, row->value_until_ms);
    pg_int(&p, row->seen_ms);
    pg_int(&p, t->generation);
    int r = run(c, UPDATE, &p, &q, e);
    if (r == 0)
        x->is_refused = !str_eq(pg_command_tag(c, &q), STR("UPDATE 1"));
    pg_clear(c, &q, 1);
    return r;
}

static int store_ends(struct pg_conn *c, struct session_table *t, struct err *e)
{
    struct pg_params p;
    if (t->nends == 0)
        return 0;
    pg_params_init(&p, &t->arena);
    pg_texts(&p, t->ends, t->nends);
    pg_int(&p, t->generation);
    return run_plain(c,
                     "UPDATE nb_session SET ended_ms = " DATABASE_MS ", provider_refresh = '',"
                     " generation = $2::bigint WHERE id = ANY ($1::text[]) AND ended_ms = 0",
                     &p, e);
}

static int store_seen(struct pg_conn *c, struct session_table *t, struct err *e)
{
    struct pg_params p;
    if (t->nseen == 0)
        return 0;
    pg_params_init(&p, &t->arena);
    pg_texts(&p, t->seen_ids, t->nseen);
    pg_ints(&p, t->seen_ms, t->nseen);
    pg_int(&p, t->generation);
    return run_plain(c,
                     "UPDATE nb_session AS n SET seen_ms = w.ms, generation = $3::bigint"
                     " FROM unnest($1::text[], $2::bigint[]) AS w(id, ms)"
                     " WHERE n.id = w.id AND n.ended_ms = 0 AND n.seen_ms < w.ms",
                     &p, e);
}

static int store_changes(struct pg_conn *c, struct session_table *t, struct err *e)
{
    int64_t users = 0;
    int r = 0;
    LIST_EACH (x, &t->batch, struct table_change, node) {
        x->is_refused = false;
        if (r == 0 && x->what == SESSION_BEGUN && x->roster_mark > 0 && users == 0)
            r = get_number(c,
                           "SELECT generation FROM nb_generation WHERE name = 'roster' FOR SHARE",
                           &users, e);
        if (r == 0 && x->what == SESSION_BEGUN && x->roster_mark > 0)
            x->is_refused = (uint64_t)users != x->roster_mark;
        if (r == 0 && x->what == SESSION_BEGUN && !x->is_refused)
            r = store_begun(c, t, x, e);
        if (r == 0 && x->what == SESSION_ROTATED)
            r = store_rotated(c, t, x, e);
    }
    return r;
}

static int write_batch(struct pg_conn *c, void *ctx, struct err *e)
{
    struct session_table *t = ctx;
    struct pg_query q;
    int r = run_plain(c, "BEGIN", NULL, e);
    if (r == 0)
        r = get_number(c,
                       "UPDATE nb_generation SET generation = generation + 1"
                       " WHERE name = 'sessions' RETURNING generation",
                       &t->generation, e);
    if (r == 0)
        r = store_changes(c, t, e);
    if (r == 0)
        r = store_ends(c, t, e);
    if (r == 0)
        r = store_seen(c, t, e);
    if (r < 0)
        return r; /* rolled back */
    r = run(c, "COMMIT", NULL, &q, e);
    if (r == 0 && !str_eq(pg_command_tag(c, &q), STR("COMMIT")))
        r = err_set(e, -EIO, "the database did not store the sessions");
    pg_clear(c, &q, 1);
    return r;
}

/* Rows that nobody can use any more. Another server does it too: what it deletes now is left. */
static int purge(struct pg_conn *c, void *ctx, struct err *e)
{
    struct arena a;
    struct pg_params p;
    arena_init(&a);
    pg_params_init(&p, &a);
    pg_int(&p, KEPT_MS);
    int r = run_plain(c,
                      "DELETE FROM nb_session WHERE id IN (SELECT id FROM nb_session WHERE"
                      " (ended_ms > 0 AND ended_ms < " DATABASE_MS " - $1::bigint)"
                      " OR created_ms + absolute_ms < " DATABASE_MS " - $1::bigint"
                      " LIMIT 1000 FOR UPDATE SKIP LOCKED)",
                      &p, e);
    arena_done(&a);
    return r;
}

static void table_work(struct job *j)
{
    struct session_table *t = CONTAINER_OF(j, struct session_table, job);
    int r = 0;
    err_clear(&t->err);
    if (!list_empty(&t->batch) || t->nends > 0 || t->nseen > 0)
        r = database_read(t->db, write_batch, t, &t->err);
    if (r < 0)
        t->err.code = -ENOTCONN; /* not -EACCES: nobody is logged out */
    if (r == 0 && t->is_purging)
        (void)database_read(t->db, purge, NULL, NULL); /* a minute later again */
}

/* ---- writing: the loop thread ---- */

static void change_free(struct table_change *x)
{
    list_del(&x->node);
    free((void *)x->row.user_id.p);
    if (x->row.provider_refresh.n > 0)
        explicit_bzero((void *)x->row.provider_refresh.p, x->row.provider_refresh.n);
    free((void *)x->row.provider_refresh.p);
    free(x);
}

/* All that waits, and with it all ends and times that are not stored yet. */
static void take_batch(struct session_table *t, bool with_seen)
{
    struct map_entry *e;
    struct list_node *n;
    arena_init(&t->arena);
    while ((n = list_pop(&t->changes)) != NULL)
        list_push(&t->batch, n);
    t->origin = arena_str(&t->arena, str_from(t->sessions->origin));
    t->ends = arena_array(&t->arena, map_len(&t->ending) + 1, sizeof *t->ends);
    t->nends = t->nseen = 0;
    for (size_t i = 0; (e = map_next(&t->ending, &i)) != NULL;)
        if (((struct ending *)e->value)->generation == 0)
            t->ends[t->nends++] = arena_str(&t->arena, e->key);
    size_t max = with_seen ? map_len(&t->sessions->all) : 0;
    t->seen_ids = arena_array(&t->arena, max + 1, sizeof *t->seen_ids);
    t->seen_ms = arena_array(&t->arena, max + 1, sizeof *t->seen_ms);
    for (size_t i = 0; max > 0 && (e = map_next(&t->sessions->all, &i)) != NULL;) {
        struct login_session *x = e->value;
        if (x->seen_ms <= x->stored_seen_ms)
            continue;
        t->seen_ids[t->nseen] = arena_str(&t->arena, e->key);
        t->seen_ms[t->nseen++] = x->stored_seen_ms = x->seen_ms;
    }
}

/* What memory has is not what the table has: forget the session's row, so that the next reading
 * brings it. */
static void mistrust(struct session_table *t, struct table_change *x)
{
    struct login_session *in = map_get(&t->sessions->all, str_from(x->row.id));
    if (!in)
        return;
    in->generation = MISTRUSTED;
    t->known = 0;
    if (x->what == SESSION_BEGUN)
        session_remove(t->sessions, in);
}

static void take_stored(struct session_table *t, struct table_change *x)
{
    struct login_session *in = map_get(&t->sessions->all, str_from(x->row.id));
    if (!in)
        return; /* ended meanwhile */
    if (x->what == SESSION_BEGUN) {
        in->created_ms = x->row.created_ms;
        in->seen_ms = in->seen_ms > x->row.seen_ms ? in->seen_ms : x->row.seen_ms;
        in->value_until_ms = x->row.value_until_ms;
    }
    if (in->generation < t->generation)
        in->generation = t->generation;
}

static void note_ends_stored(struct session_table *t)
{
    for (size_t i = 0; i < t->nends; i++) {
        struct ending *x = map_get(&t->ending, t->ends[i]);
        if (x)
            x->generation = t->generation;
    }
}

/* `refused`: the number of a change that was not stored although the batch was. */
static void wake_waiters(struct session_table *t, uint64_t up_to)
{
    static const struct err NONE;
    struct err late = {0};
    err_set(&late, -ESTALE, "the session has changed meanwhile");
    LIST_EACH (w, &t->waiting, struct session_wait, node) {
        if (w->change > up_to)
            continue;
        bool is_refused = false;
        LIST_EACH (x, &t->batch, struct table_change, node)
            is_refused |= x->number == w->change && x->is_refused;
        list_del(&w->node);
        w->fn(w->ctx, t->err.code < 0 ? &t->err : is_refused ? &late : &NONE);
    }
}

static void start_writing(void *ctx);

static void batch_done(struct session_table *t)
{
    bool has_failed = t->err.code < 0;
    uint64_t up_to = 0;
    if (has_failed)
        log_error(t->sessions->log, "auth", "cannot store sessions: %s", t->err.msg);
    else
        note_ends_stored(t);
    LIST_EACH (x, &t->batch, struct table_change, node) {
        up_to = x->number > up_to ? x->number : up_to;
        if (has_failed || x->is_refused)
            mistrust(t, x);
        else
            take_stored(t, x);
    }
    wake_waiters(t, up_to);
    LIST_EACH (x, &t->batch, struct table_change, node)
        change_free(x);
    arena_done(&t->arena);
    t->is_busy = false;
}

static void table_done(struct job *j)
{
    struct session_table *t = CONTAINER_OF(j, struct session_table, job);
    batch_done(t);
    if (!list_empty(&t->changes))
        start_writing(t);
}

static void start_batch(struct session_table *t, bool with_seen)
{
    assert(!t->is_busy);
    if (!t->pool)
        t->pool = pool_new(t->sessions->loop, "nb-sessions", 1);
    t->is_busy = true;
    t->is_purging = with_seen;
    take_batch(t, with_seen);
    pool_run(t->pool, &t->job, table_work, table_done);
}

static void start_writing(void *ctx)
{
    struct session_table *t = ctx;
    if (!t->is_busy && !list_empty(&t->changes))
        start_batch(t, false);
}

/* The batch begins after this turn of the loop, so that session_await can say more about it. */
static void table_note(struct sessions *s, const char *id, enum session_event what)
{
    struct session_table *t = s->table;
    const struct login_session *x = map_get(&s->all, str_from(id));
    struct table_change *c = xcalloc(1, sizeof *c);
    assert((what == SESSION_ENDED) == !x);
    c->number = ++t->last;
    c->what = what;
    memcpy(c->row.id, id, strnlen(id, sizeof c->row.id - 1));
    if (x) {
        c->row = *x;
        c->row.user_id = copy_str(x->user_id);
        c->row.provider_refresh =
            x->provider_refresh.n > 0 ? copy_str(x->provider_refresh) : STR_NONE;
    } else if (!map_get(&t->ending, str_from(id))) {
        map_put(&t->ending, str_from(id), xcalloc(1, sizeof(struct ending)));
    }
    list_push(&t->changes, &c->node);
    defer_start(s->loop, &t->soon);
}

static void table_await(struct sessions *s, const struct login_session *x, struct session_wait *w)
{
    struct session_table *t = s->table;
    struct table_change *c = LIST_ENTRY(t->changes.prev, struct table_change, node);
    assert(!list_empty(&t->changes) && strcmp(c->row.id, x->id) == 0);
    c->roster_mark = w->roster_mark;
    w->change = c->number;
    list_push(&t->waiting, &w->node);
}

/* An empty change, whose batch takes along all ends that are not stored yet. */
static void table_sync(struct sessions *s, struct session_wait *w)
{
    struct session_table *t = s->table;
    struct table_change *c = xcalloc(1, sizeof *c);
    c->number = w->change = ++t->last;
    c->what = SESSION_ENDED;
    list_push(&t->changes, &c->node);
    list_push(&t->waiting, &w->node);
    defer_start(s->loop, &t->soon);
}

static void table_sweep(struct sessions *s)
{
    s->is_seen_dirty = false;
    if (!s->table->is_busy)
        start_batch(s->table, true);
}

static void table_stop(struct sessions *s)
{
    struct session_table *t = s->table;
    defer_stop(&t->soon);
    pool_free(t->pool);
    t->pool = NULL;
    assert(!t->is_busy);
    t->is_purging = false;
    take_batch(t, true);
    table_work(&t->job);
    batch_done(t);
    assert(list_empty(&t->waiting) && list_empty(&t->changes));
}

static const struct session_keeper SESSION_TABLE = {
    .note = table_note,
    .await = table_await,
    .sync = table_sync,
    .sweep = table_sweep,
    .stop = table_stop,
};

/* ---- life ---- */

void session_table_use(struct sessions *s, struct database *db)
{
    struct session_table *t = xcalloc(1, sizeof *t);
    t->sessions = s;
    t->db = db;
    list_init(&t->changes);
    list_init(&t->waiting);
    list_init(&t->batch);
    map_init(&t->ending);
    defer_init(&t->soon, start_writing, t);
    s->table = t;
    s->keeper = &SESSION_TABLE;
}

void session_table_free(struct session_table *t)
{
    struct map_entry *e;
    if (!t)
        return;
    for (size_t i = 0; (e = map_next(&t->ending, &i)) != NULL;)
        free(e->value);
    map_done(&t->ending);
    free(t);
}
