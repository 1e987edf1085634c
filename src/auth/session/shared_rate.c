#include "auth/session/shared_rate.h"

#include <limits.h>
#include <stdlib.h>

#include "base/bytes/hash.h"
#include "base/map.h"
#include "loop/timer.h"
#include "store/postgres/database.h"

#define SEND_AFTER_MS 1000

struct rate_entry {
    char hash[SHA256_HEX_LEN + 1];
    unsigned unsent, sent; /* counted here */
    unsigned others;
};

struct rate_sending { /* the job's */
    struct arena arena;
    str *hashes;
    int64_t *counts, *totals;
    size_t n;
    int64_t window;
};

struct shared_rate {
    struct database *db;
    struct pool *pool;
    struct timer soon;
    struct map entries; /* key -> struct rate_entry: those of this minute */
    int64_t window;
    bool is_sending;
    struct job job;
    struct rate_sending sending;
    struct err err;
};

/* ---- sending ---- */

/* A lost answer may lead to a second attempt, which counts a second of requests twice: a limit may
 * be reached too early, never too late. All servers lock the rows in the same order. */
static int add_counts(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char ADD[] =
        "INSERT INTO nb_window AS w (key, minute, attempts)"
        " SELECT n.key, floor(extract(epoch FROM now()) / 60)::bigint, n.attempts"
        " FROM unnest($1::text[], $2::bigint[]) AS n(key, attempts) ORDER BY n.key COLLATE \"C\""
        " ON CONFLICT (key) DO UPDATE SET attempts = excluded.attempts +"
        " CASE WHEN w.minute >= excluded.minute THEN w.attempts ELSE 0 END,"
        " minute = greatest(w.minute, excluded.minute) RETURNING w.key, w.attempts";
    struct rate_sending *x = ctx;
    struct pg_params p;
    struct map totals;
    pg_params_init(&p, &x->arena);
    pg_texts(&p, x->hashes, x->n);
    pg_ints(&p, x->counts, x->n);
    struct pg_query q = {.sql = ADD, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    map_init(&totals);
    for (size_t i = 0; i < x->n; i++)
        map_put(&totals, x->hashes[i], &x->totals[i]);
    for (int i = 0; r == 0 && i < pg_rows(c, &q); i++) {
        int64_t *to = map_get(&totals, pg_get_text(c, &q, i, 0));
        if (to)
            *to = pg_get_int(c, &q, i, 1);
    }
    map_done(&totals);
    pg_clear(c, &q, 1);
    return r;
}

static void rate_work(struct job *j)
{
    struct shared_rate *s = CONTAINER_OF(j, struct shared_rate, job);
    err_clear(&s->err);
    (void)database_read(s->db, add_counts, &s->sending, &s->err); /* s->err */
}

static void take_sending(struct shared_rate *s)
{
    struct rate_sending *x = &s->sending;
    struct map_entry *m;
    size_t max = map_len(&s->entries);
    *x = (struct rate_sending){.window = s->window};
    arena_init(&x->arena);
    x->hashes = arena_array(&x->arena, max + 1, sizeof *x->hashes);
    x->counts = arena_array(&x->arena, max + 1, sizeof *x->counts);
    x->totals = arena_array(&x->arena, max + 1, sizeof *x->totals);
    for (size_t i = 0; (m = map_next(&s->entries, &i)) != NULL;) {
        struct rate_entry *e = m->value;
        if (e->unsent == 0)
            continue;
        x->hashes[x->n] = arena_str(&x->arena, str_from(e->hash));
        x->counts[x->n++] = e->unsent;
        e->sent += e->unsent;
        e->unsent = 0;
    }
}

/* In the order in which take_sending has left them. */
static void take_totals(struct shared_rate *s)
{
    struct rate_sending *x = &s->sending;
    struct map_entry *m;
    size_t at = 0;
    for (size_t i = 0; at < x->n && (m = map_next(&s->entries, &i)) != NULL;) {
        struct rate_entry *e = m->value;
        if (!str_eq(str_from(e->hash), x->hashes[at]))
            continue;
        int64_t others = x->totals[at++] - e->sent;
        e->others = others < 0 ? 0 : others > UINT_MAX ? UINT_MAX : (unsigned)others;
    }
}

static bool has_unsent(const struct shared_rate *s)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&s->entries, &i)) != NULL;)
        if (((struct rate_entry *)m->value)->unsent > 0)
            return true;
    return false;
}

static void rate_done(struct job *j)
{
    struct shared_rate *s = CONTAINER_OF(j, struct shared_rate, job);
    s->is_sending = false;
    if (s->err.code == 0 && s->sending.window == s->window)
        take_totals(s);
    arena_done(&s->sending.arena);
    if (has_unsent(s))
        timer_start(&s->soon, SEND_AFTER_MS);
}

static void on_soon(void *ctx)
{
    struct shared_rate *s = ctx;
    if (s->is_sending)
        return; /* rate_done starts the timer again */
    s->is_sending = true;
    take_sending(s);
    pool_run(s->pool, &s->job, rate_work, rate_done);
}

/* ---- counting ---- */

static void forget_entries(struct shared_rate *s)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&s->entries, &i)) != NULL;)
        free(m->value);
    map_done(&s->entries);
    map_init(&s->entries);
}

void shared_rate_add(struct shared_rate *s, str key, int64_t window)
{
    if (window != s->window) {
        forget_entries(s);
        s->window = window;
    }
    struct rate_entry *e = map_get(&s->entries, key);
    if (!e && map_len(&s->entries) >= SHARED_RATE_KEYS_MAX)
        return;
    if (!e) {
        e = xcalloc(1, sizeof *e);
        sha256_hex(key, e->hash);
        map_put(&s->entries, key, e);
    }
    e->unsent++;
    if (!s->is_sending && !timer_active(&s->soon))
        timer_start(&s->soon, SEND_AFTER_MS);
}

unsigned shared_rate_others(const struct shared_rate *s, str key, int64_t window)
{
    const struct rate_entry *e = window == s->window ? map_get(&s->entries, key) : NULL;
    return e ? e->others : 0;
}

/* ---- life ---- */

struct shared_rate *shared_rate_new(struct loop *l, struct database *db)
{
    struct shared_rate *s = xcalloc(1, sizeof *s);
    s->db = db;
    s->pool = pool_new(l, "nb-rates", 1);
    map_init(&s->entries);
    timer_init(&s->soon, l, on_soon, s);
    return s;
}

void shared_rate_free(struct shared_rate *s)
{
    if (!s)
        return;
    pool_free(s->pool);
    timer_stop(&s->soon);
    forget_entries(s);
    map_done(&s->entries);
    free(s);
}
