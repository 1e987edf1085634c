#include <stdlib.h>

#include "auth/session/session_table_impl.h"
#include "base/clock.h"

void session_table_ask(const struct sessions *s, struct session_reading *r)
{
    const struct session_table *t = s->table;
    bool is_old = t->read_at_ms == 0 || clock_mono_ms() - t->read_at_ms > READING_MS;
    r->origin = arena_str(r->arena, str_from(s->origin));
    r->known = is_old ? 0 : t->known;
}

static bool take_hash(struct pg_conn *c, const struct pg_query *q, int row, int column, char *to)
{
    str s = pg_get_text(c, q, row, column);
    if (s.n != 0 && s.n != SHA256_HEX_LEN)
        return false;
    memcpy(to, s.p, s.n);
    to[s.n] = 0;
    return true;
}

static bool take_row(struct pg_conn *c, const struct pg_query *q, int i, struct arena *a,
                     struct login_session *x, bool *ret_is_ended)
{
    str id = pg_get_text(c, q, i, 0);
    if (id.n == 0 || id.n >= sizeof x->id)
        return false;
    memcpy(x->id, id.p, id.n);
    x->user_id = arena_str(a, pg_get_text(c, q, i, 1));
    if (!take_hash(c, q, i, 2, x->value_hash) || !take_hash(c, q, i, 3, x->refresh_hash) ||
        !take_hash(c, q, i, 4, x->former_hash) || !take_hash(c, q, i, 5, x->spent_hash))
        return false;
    x->provider_refresh = arena_str(a, pg_get_text(c, q, i, 6));
    x->created_ms = pg_get_int(c, q, i, 7);
    x->seen_ms = x->stored_seen_ms = pg_get_int(c, q, i, 8);
    x->value_until_ms = pg_get_int(c, q, i, 9);
    x->former_until_ms = pg_get_int(c, q, i, 10);
    x->policy = (struct session_policy){pg_get_int(c, q, i, 11), pg_get_int(c, q, i, 12),
                                        pg_get_int(c, q, i, 13)};
    x->generation = pg_get_int(c, q, i, 14);
    *ret_is_ended = pg_get_int(c, q, i, 15) > 0;
    return x->user_id.n > 0;
}

/* Two statements in one round trip. The rows may be newer than the generation, never older. */
int session_table_read(struct pg_conn *c, struct session_reading *r, struct err *e)
{
    static const char STATE[] =
        "SELECT (SELECT generation FROM nb_generation WHERE name = 'sessions'),"
        " (SELECT generation FROM nb_generation WHERE name = 'roster'), " DATABASE_MS;
    static const char ROWS[] =
        "SELECT id, user_id, value_hash, refresh_hash, former_hash, spent_hash, provider_refresh,"
        " created_ms, seen_ms, value_until_ms, former_until_ms, value_ms, idle_ms, absolute_ms,"
        " generation, ended_ms FROM nb_session WHERE generation > $1::bigint AND origin = $2::text"
        " AND ($1::bigint > 0 OR ended_ms = 0)";
    struct pg_params p;
    struct pg_query q[] = {{.sql = STATE}, {.sql = ROWS, .params = &p}};
    pg_params_init(&p, r->arena);
    pg_int(&p, r->known);
    pg_text(&p, r->origin);
    r->n = 0;
    int code = pg_conn_run(c, q, ARRAY_LEN(q), e);
    int n = code == 0 ? pg_rows(c, &q[1]) : 0;
    if (code == 0) {
        r->generation = pg_get_int(c, &q[0], 0, 0);
        r->roster_generation = pg_get_int(c, &q[0], 0, 1);
        r->now_ms = pg_get_int(c, &q[0], 0, 2);
    }
    r->rows = arena_array(r->arena, (size_t)n + 1, sizeof *r->rows);
    r->is_ended = arena_array(r->arena, (size_t)n + 1, sizeof *r->is_ended);
    for (int i = 0; i < n; i++)
        r->n += take_row(c, &q[1], i, r->arena, &r->rows[r->n], &r->is_ended[r->n]);
    pg_clear(c, q, ARRAY_LEN(q));
    return code;
}

static void take_one(struct sessions *s, const struct login_session *row, bool is_ended)
{
    struct login_session *in = map_get(&s->all, str_from(row->id));
    if (map_get(&s->table->ending, str_from(row->id)) || (in && in->generation >= row->generation))
        return;
    if (is_ended) {
        if (in)
            session_remove(s, in);
        return;
    }
    struct login_session *x = xcalloc(1, sizeof *x);
    *x = *row;
    x->user_id = copy_str(row->user_id);
    x->provider_refresh = row->provider_refresh.n > 0 ? copy_str(row->provider_refresh) : STR_NONE;
    if (in && in->seen_ms > x->seen_ms)
        x->seen_ms = in->seen_ms;
    session_replace(s, x);
}

/* A whole reading: what it does not have is gone, unless it began later or is not stored yet. */
static void drop_missing(struct sessions *s, const struct session_reading *r)
{
    struct map there;
    struct map_entry *e;
    map_init(&there);
    for (size_t i = 0; i < r->n; i++)
        map_put(&there, str_from(r->rows[i].id), s);
    for (size_t i = 0; (e = map_next(&s->all, &i)) != NULL;) {
        struct login_session *x = e->value;
        bool is_older = x->generation != 0 && x->generation <= r->generation;
        if (is_older && !map_get(&there, e->key))
            session_remove(s, x);
    }
    map_done(&there);
}

void session_table_take(struct sessions *s, const struct session_reading *r)
{
    struct session_table *t = s->table;
    struct map_entry *e;
    t->ahead_ms = r->now_ms - s->now_ms();
    t->read_at_ms = clock_mono_ms();
    for (size_t i = 0; i < r->n && map_len(&s->all) <= SESSIONS_MAX; i++)
        take_one(s, &r->rows[i], r->is_ended[i]);
    if (r->known == 0)
        drop_missing(s, r);
    if (r->known == 0 || t->known > 0) /* else something asked for a whole reading meanwhile */
        t->known = r->generation;
    for (size_t i = 0; (e = map_next(&t->ending, &i)) != NULL;) {
        struct ending *x = e->value;
        if (x->generation > 0 && x->generation <= r->generation)
            free(map_del(&t->ending, e->key));
    }
}
