#include "store/postgres/pg_lease.h"

#include <assert.h>
#include <errno.h>

#include "store/postgres/pg_outbox.h"
#include "store/postgres/pg_relay.h"
#include "store/postgres/pg_store.h"

#define VALID "now() + interval '10 seconds'" /* LEASE_MS */

/* ---- taking ---- */

/* A row comes back only to the new holder. The same server may take it again: the callback of a
 * call whose answer was lost does not know that it has it. */
static int lease_insert(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char TAKE[] =
        "INSERT INTO nb_lease AS l (workspace, conversation, holder, epoch, expires)"
        " VALUES ($1, $2, $3, nextval('nb_epoch'), " VALID ")"
        " ON CONFLICT (workspace, conversation) DO UPDATE SET holder = excluded.holder,"
        " epoch = excluded.epoch, expires = excluded.expires"
        " WHERE l.expires < now() OR l.holder = excluded.holder RETURNING epoch";
    struct store_op *op = ctx;
    struct pg_params p;
    pg_params_init(&p, &op->arena);
    pg_text(&p, pg_workspace(op->store));
    pg_text(&p, op->id);
    pg_text(&p, str_from(pg_database(op->store)->replica->id));
    struct pg_query q = {.sql = TAKE, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && pg_rows(c, &q) == 0)
        r = err_set(e, -EBUSY, "another server works on this conversation");
    else if (r == 0)
        op->lease_epoch = pg_get_int(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    return r;
}

static void take_work(struct store_op *op)
{
    (void)database_read(pg_database(op->store), lease_insert, op, &op->err);
}

static void taken(struct store_op *op)
{
    struct database *db = pg_database(op->store);
    struct store_lease *l = xcalloc(1, sizeof *l);
    assert(op->lease_epoch > 0);
    *l =
        (struct store_lease){.db = db, .epoch = op->lease_epoch, .since = db->replica->npulses + 1};
    list_push(&db->replica->leases, &l->node);
    op->out.lease = l;
    op_done(op);
}

void pg_take_lease(struct store_op *op)
{
    assert(pg_database(op->store)->replica);
    op->step = taken;
    op_run(op, take_work);
}

void store_lease_watch(struct store_lease *l, loop_fn on_lost, void *ctx)
{
    l->on_lost = on_lost;
    l->ctx = ctx;
}

int64_t store_lease_epoch(const struct store_lease *l)
{
    return l->is_lost ? -1 : l->epoch;
}

bool store_lease_is_lost(const struct store_lease *l)
{
    return l->is_lost;
}

void store_lease_release(struct store_lease *l)
{
    if (!l)
        return;
    if (!l->is_lost)
        pg_outbox_end_lease(l->db, l->epoch);
    list_del(&l->node);
    free(l);
}

/* ---- the pulse ---- */

struct abandoned {
    str workspace, conversation;
};

struct pulse {
    struct job job;
    struct database *db;
    struct arena arena;
    uint64_t number;
    int64_t *held; /* epochs of the leases that this server knows */
    size_t nheld;
    int64_t *epochs; /* that are still ours */
    size_t nepochs;
    struct abandoned abandoned[ABANDONED_MAX];
    size_t nabandoned;
    str *others; /* servers that are alive */
    size_t nothers;
    str *orphans; /* workspaces with messages of servers that are not */
    size_t norphans;
    int code;
};

static size_t take_texts(const struct pg_conn *c, const struct pg_query *q, struct arena *a,
                         str **ret)
{
    int n = pg_rows(c, q);
    *ret = arena_array(a, (size_t)n + 1, sizeof(str));
    for (int i = 0; i < n; i++)
        (*ret)[i] = arena_str(a, pg_get_text(c, q, i, 0));
    return (size_t)n;
}

static int pulse_read(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char ALIVE[] =
        "INSERT INTO nb_replica (id, address, seen) VALUES ($1, $2, now())"
        " ON CONFLICT (id) DO UPDATE SET seen = now(), address = excluded.address";
    /* Not all that have this holder: one whose end was lost on its way here must expire. */
    static const char RENEW[] = "UPDATE nb_lease SET expires = " VALID
                                " WHERE holder = $1 AND epoch = ANY($2::bigint[]) RETURNING epoch";
    static const char EXPIRED[] =
        "SELECT workspace, conversation FROM nb_lease WHERE expires < now() AND holder <> $1"
        " ORDER BY expires LIMIT 64"; /* ABANDONED_MAX */
    static const char FORGET[] =
        "WITH gone AS (DELETE FROM nb_replica WHERE seen < now() - interval '1 hour' AND id <> $1"
        " RETURNING id) DELETE FROM nb_watch w USING gone WHERE w.replica = gone.id";
    static const char OTHERS[] = "SELECT id FROM nb_replica WHERE id <> $1 AND seen > now() -"
                                 " interval '10 seconds' ORDER BY id"; /* LEASE_MS */
    static const char ORPHANS[] =
        "SELECT DISTINCT q.workspace FROM nb_queue q LEFT JOIN nb_replica r ON r.id = q.replica"
        " WHERE r.id IS NULL OR r.id = $1 OR r.seen < now() - interval '10 seconds'"; /* LEASE_MS */
    struct pulse *u = ctx;
    const struct replica *me = u->db->replica;
    struct pg_params alive, own, held;
    pg_params_init(&alive, &u->arena);
    pg_text(&alive, str_from(me->id));
    pg_text(&alive, str_from(me->address));
    pg_params_init(&own, &u->arena);
    pg_text(&own, str_from(me->id));
    held = own;
    pg_ints(&held, u->held, u->nheld);
    struct pg_query q[] = {{.sql = ALIVE, .params = &alive}, {.sql = RENEW, .params = &held},
                           {.sql = EXPIRED, .params = &own}, {.sql = FORGET, .params = &own},
                           {.sql = OTHERS, .params = &own},  {.sql = ORPHANS, .params = &own}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    u->nothers = take_texts(c, &q[4], &u->arena, &u->others);
    u->norphans = take_texts(c, &q[5], &u->arena, &u->orphans);
    u->nepochs = r == 0 ? (size_t)pg_rows(c, &q[1]) : 0;
    u->epochs = arena_array(&u->arena, u->nepochs + 1, sizeof *u->epochs);
    for (size_t i = 0; i < u->nepochs; i++)
        u->epochs[i] = pg_get_int(c, &q[1], (int)i, 0);
    u->nabandoned = 0;
    for (int i = 0; r == 0 && i < pg_rows(c, &q[2]) && i < ABANDONED_MAX; i++)
        u->abandoned[u->nabandoned++] =
            (struct abandoned){arena_str(&u->arena, pg_get_text(c, &q[2], i, 0)),
                               arena_str(&u->arena, pg_get_text(c, &q[2], i, 1))};
    pg_clear(c, q, ARRAY_LEN(q));
    return r;
}

static void pulse_work(struct job *j)
{
    struct pulse *u = CONTAINER_OF(j, struct pulse, job);
    struct err e = {0};
    u->code = database_read(u->db, pulse_read, u, &e);
}

static bool has_epoch(const struct pulse *u, int64_t epoch)
{
    for (size_t i = 0; i < u->nepochs; i++)
        if (u->epochs[i] == epoch)
            return true;
    return false;
}

/* A callback may release its lease, and any other. */
static struct store_lease *first_lost(const struct pulse *u)
{
    LIST_EACH (l, &u->db->replica->leases, struct store_lease, node)
        if (!l->is_lost && l->since <= u->number && !has_epoch(u, l->epoch))
            return l;
    return NULL;
}

static void find_lost(const struct pulse *u)
{
    struct store_lease *l;
    while ((l = first_lost(u)) != NULL) {
        l->is_lost = true;
        log_warn(u->db->log, "store",
                 "another server has taken over a conversation, because this one was not heard of "
                 "for %d s",
                 LEASE_MS / 1000);
        if (l->on_lost)
            l->on_lost(l->ctx);
    }
}

static void pulse_done(struct job *j)
{
    struct pulse *u = CONTAINER_OF(j, struct pulse, job);
    struct replica *r = u->db->replica;
    r->pulse = NULL;
    if (u->code == 0)
        find_lost(u);
    if (u->code == 0) {
        pg_relay_servers(u->db, u->others, u->nothers);
        pg_relay_repeat(u->db);
    }
    pg_relay_echo(u->db);
    r->ngood = u->code == 0 ? r->ngood + 1 : 0;
    bool may_act = r->ngood > PULSES_GOOD;
    for (size_t i = 0; may_act && r->ev.on_abandoned && i < u->nabandoned; i++)
        r->ev.on_abandoned(r->ctx, u->abandoned[i].workspace, u->abandoned[i].conversation);
    for (size_t i = 0; may_act && r->ev.on_orphans && i < u->norphans; i++)
        r->ev.on_orphans(r->ctx, u->orphans[i]);
    arena_done(&u->arena);
    free(u);
}

static void note_held(struct pulse *u, const struct replica *r)
{
    size_t cap = 0;
    LIST_EACH (l, (struct list_node *)&r->leases, struct store_lease, node) {
        if (l->is_lost)
            continue;
        ARENA_GROW(&u->arena, u->held, u->nheld, cap);
        u->held[u->nheld++] = l->epoch;
    }
}

static void on_pulse(void *ctx)
{
    struct database *db = ctx;
    struct replica *r = db->replica;
    timer_start(&r->timer, PULSE_MS);
    if (r->pulse)
        return; /* the database is slow */
    struct pulse *u = xcalloc(1, sizeof *u);
    arena_init(&u->arena);
    u->db = db;
    u->number = ++r->npulses;
    note_held(u, r);
    r->pulse = u;
    pool_run(db->readers, &u->job, pulse_work, pulse_done);
}

/* ---- this server ---- */

void replica_start(struct database *db)
{
    struct replica *r = xcalloc(1, sizeof *r);
    assert(db->readers && !db->replica);
    *r = (struct replica){.address = str_dup(STR_NONE)};
    random_id("srv", r->id);
    list_init(&r->leases);
    timer_init(&r->timer, db->loop, on_pulse, db);
    db->replica = r;
    on_pulse(db);
}

void replica_stop(struct database *db)
{
    timer_stop(&db->replica->timer);
    db->replica->ev = (struct replica_events){0};
}

/* Best effort: what is left here expires. */
static void leave(struct database *db, struct pg_conn *c)
{
    struct arena a;
    struct pg_params p;
    struct err ignored;
    arena_init(&a);
    pg_params_init(&p, &a);
    pg_text(&p, str_from(db->replica->id));
    struct pg_query q[] = {
        {.sql = "DELETE FROM nb_lease WHERE holder = $1", .params = &p, .is_once = true},
        {.sql = "DELETE FROM nb_watch WHERE replica = $1", .params = &p, .is_once = true},
        {.sql = "DELETE FROM nb_replica WHERE id = $1", .params = &p, .is_once = true}};
    (void)pg_conn_run(c, q, ARRAY_LEN(q), &ignored);
    pg_clear(c, q, ARRAY_LEN(q));
    arena_done(&a);
}

void replica_done(struct database *db)
{
    struct replica *r = db->replica;
    assert(!r->pulse && list_empty(&r->leases));
    if (db->writer && !db->writer->is_lost)
        leave(db, db->writer);
    free(r->address);
    free(r);
}
