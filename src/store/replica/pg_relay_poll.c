/* pg_relay_poll.c - the life of the relay, and what it reads from tables instead of hearing it. */
#include <assert.h>

#include "store/postgres/pg_store.h"
#include "store/replica/pg_relay_impl.h"

struct relay_poll { /* the ends of all watched logs */
    struct job job;
    struct pg_relay *relay;
    struct arena arena;
    str *keys, *workspaces, *ids;
    int64_t *last; /* -1: it is not there */
    size_t n;
    int code;
    bool is_repeated; /* asked for again meanwhile */
};

struct relay_load { /* who watches elsewhere */
    struct job job;
    struct pg_relay *relay;
    struct arena arena;
    struct loaded_watch {
        str workspace, id, server;
    } * rows;
    size_t n;
    int code;
    bool is_repeated; /* asked for again meanwhile */
};

static void free_if_dead(struct pg_relay *r);
static void load_watches(struct pg_relay *r);

/* The database was not there. While nobody listens, it is asked again anyway. */
static void read_again_later(struct pg_relay *r)
{
    if (r->is_listening && !r->is_dead)
        timer_start(&r->poll, RELAY_POLL_MS);
}

struct store *relay_store(const struct pg_relay *r, str workspace)
{
    for (size_t i = 0; i < r->nstores; i++)
        if (str_eq(pg_workspace(r->stores[i]), workspace))
            return r->stores[i];
    return NULL;
}

/* ---- ends of logs ---- */

static int poll_read(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char ENDS[] =
        "SELECT w.no, c.last FROM unnest($1::text[], $2::text[]) WITH ORDINALITY"
        " AS w(workspace, id, no) JOIN nb_conversation c ON c.workspace = w.workspace"
        " AND c.id = w.id AND c.deleted_ms = 0";
    struct relay_poll *p = ctx;
    struct pg_params params;
    pg_params_init(&params, &p->arena);
    pg_texts(&params, p->workspaces, p->n);
    pg_texts(&params, p->ids, p->n);
    struct pg_query q = {.sql = ENDS, .params = &params};
    int r = pg_conn_run(c, &q, 1, e);
    for (size_t i = 0; i < p->n; i++)
        p->last[i] = -1;
    for (int i = 0; r == 0 && i < pg_rows(c, &q); i++) {
        size_t no = (size_t)pg_get_int(c, &q, i, 0);
        assert(no >= 1 && no <= p->n);
        p->last[no - 1] = pg_get_int(c, &q, i, 1);
    }
    pg_clear(c, &q, 1);
    return r;
}

static void poll_work(struct job *j)
{
    struct relay_poll *p = CONTAINER_OF(j, struct relay_poll, job);
    struct err e = {0};
    p->code = database_read(p->relay->db, poll_read, p, &e);
}

/* The ends that were read may be ahead of what was heard, and events may have been missed. */
static void ask_again(struct pg_relay *r)
{
    struct map_entry *e;
    r->stale_until = 0;
    for (size_t i = 0; (e = map_next(&r->convs, &i)) != NULL;)
        r->stale_until = relay_ask_progress(e->value);
}

static void poll_done(struct job *j)
{
    struct relay_poll *p = CONTAINER_OF(j, struct relay_poll, job);
    struct pg_relay *r = p->relay;
    bool is_repeated = p->is_repeated;
    r->polling = NULL;
    if (p->code < 0)
        read_again_later(r);
    for (size_t i = 0; p->code == 0 && i < p->n; i++) {
        struct relay_conv *v = relay_conv_of(r, p->keys[i]);
        if (v && p->last[i] < 0)
            relay_conv_refresh(v);
        else if (v && p->last[i] > 0)
            relay_conv_grown(v, (store_pos)p->last[i]);
    }
    if (p->code == 0 && r->is_listening && !r->is_deaf && !r->is_dead)
        ask_again(r);
    arena_done(&p->arena);
    free(p);
    if (is_repeated && !r->is_dead)
        relay_ask(r);
    free_if_dead(r);
}

/* A reading under way may have begun before lines that nobody will tell about, or may fail. */
void relay_ask(struct pg_relay *r)
{
    struct map_entry *e;
    if (r->polling)
        r->polling->is_repeated = true;
    if (map_len(&r->convs) == 0)
        r->stale_until = 0; /* nobody missed anything; a new feed has an echo of its own */
    if (r->polling || map_len(&r->convs) == 0)
        return;
    struct relay_poll *p = xcalloc(1, sizeof *p);
    size_t n = map_len(&r->convs);
    arena_init(&p->arena);
    p->relay = r;
    p->keys = arena_array(&p->arena, n, sizeof(str));
    p->workspaces = arena_array(&p->arena, n, sizeof(str));
    p->ids = arena_array(&p->arena, n, sizeof(str));
    p->last = arena_array(&p->arena, n, sizeof *p->last);
    for (size_t i = 0; (e = map_next(&r->convs, &i)) != NULL;) {
        const struct relay_conv *v = e->value;
        p->keys[p->n] = arena_str(&p->arena, e->key);
        p->workspaces[p->n] = arena_str(&p->arena, pg_workspace(v->store));
        p->ids[p->n++] = arena_str(&p->arena, v->id);
    }
    r->polling = p;
    pool_run(r->db->readers, &p->job, poll_work, poll_done);
}

static void on_poll(void *ctx)
{
    struct pg_relay *r = ctx;
    relay_ask(r);
    if (r->must_load || !atomic_load(&r->db->has_notify))
        load_watches(r);
    if (!r->is_listening || r->is_deaf)
        timer_start(&r->poll, RELAY_POLL_MS);
}

/* ---- who watches elsewhere ---- */

static int load_read(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char WATCHES[] =
        "SELECT w.workspace, w.conversation, w.replica FROM nb_watch w JOIN nb_replica r"
        " ON r.id = w.replica WHERE w.replica <> $1 AND r.seen > now() - interval '15 seconds'";
    struct relay_load *l = ctx;
    struct pg_params p;
    pg_params_init(&p, &l->arena);
    pg_text(&p, str_from(l->relay->db->replica->id));
    struct pg_query q = {.sql = WATCHES, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    l->n = r == 0 ? (size_t)pg_rows(c, &q) : 0;
    l->rows = arena_array(&l->arena, l->n + 1, sizeof *l->rows);
    for (size_t i = 0; i < l->n; i++)
        l->rows[i] =
            (struct loaded_watch){.workspace = arena_str(&l->arena, pg_get_text(c, &q, (int)i, 0)),
                                  .id = arena_str(&l->arena, pg_get_text(c, &q, (int)i, 1)),
                                  .server = arena_str(&l->arena, pg_get_text(c, &q, (int)i, 2))};
    pg_clear(c, &q, 1);
    return r;
}

static void load_work(struct job *j)
{
    struct relay_load *l = CONTAINER_OF(j, struct relay_load, job);
    struct err e = {0};
    l->code = database_read(l->relay->db, load_read, l, &e);
}

static void load_done(struct job *j)
{
    struct relay_load *l = CONTAINER_OF(j, struct relay_load, job);
    struct pg_relay *r = l->relay;
    bool is_repeated = l->is_repeated;
    r->loading = NULL;
    r->must_load = l->code < 0;
    if (r->must_load)
        read_again_later(r);
    else
        remote_clear(r);
    for (size_t i = 0; i < l->n; i++) {
        const struct loaded_watch *w = &l->rows[i];
        const struct replica *me = r->db->replica;
        remote_set(r, w->workspace, w->id, w->server, true);
        /* It may have begun before this server listened: tell what it has missed. */
        if (me->ev.on_order && !r->is_dead)
            me->ev.on_order(me->ctx, w->workspace, w->id, STR("progress"));
    }
    arena_done(&l->arena);
    free(l);
    if (is_repeated && !r->is_dead)
        load_watches(r);
    free_if_dead(r);
}

/* A change that is told while the table is read may be missing in it: it is read once more then. */
static void load_watches(struct pg_relay *r)
{
    if (r->loading) {
        r->loading->is_repeated = true;
        return;
    }
    struct relay_load *l = xcalloc(1, sizeof *l);
    arena_init(&l->arena);
    l->relay = r;
    r->loading = l;
    pool_run(r->db->readers, &l->job, load_work, load_done);
}

static void clear_known(struct pg_relay *r)
{
    map_done(&r->known);
    map_init(&r->known);
}

void pg_relay_servers(struct database *db, const str *ids, size_t n)
{
    struct pg_relay *r = db->relay;
    bool has_changed;
    if (!r)
        return;
    has_changed = n != r->nservers;
    for (size_t i = 0; i < n && !has_changed; i++)
        has_changed = !map_get(&r->known, ids[i]);
    if (!has_changed)
        return;
    clear_known(r);
    for (size_t i = 0; i < n; i++)
        map_put(&r->known, ids[i], r);
    r->nservers = n;
    load_watches(r); /* those of a server that is gone must not count */
}

void pg_relay_repeat(struct database *db)
{
    struct pg_relay *r = db->relay;
    struct map_entry *e;
    if (!r)
        return;
    bool has_lost = atomic_exchange(&db->outbox.has_lost, false);
    for (size_t i = 0; (e = map_next(&r->convs, &i)) != NULL;) {
        struct relay_conv *v = e->value;
        if (has_lost) {
            pg_outbox_watch(db, pg_workspace(v->store), v->id, true);
            relay_tell_watch(r, pg_workspace(v->store), v->id, true);
        }
        relay_conv_retry(v);
    }
    if (has_lost) { /* perhaps questions for the text of runs, and texts that others wait for */
        relay_ask(r);
        load_watches(r);
    }
}

/* ---- its life ---- */

static void on_connected(void *ctx)
{
    struct pg_relay *r = ctx;
    r->is_listening = true;
    r->is_deaf = false;
    r->echo_us = 0;
    timer_stop(&r->poll);
    parts_clear(r);
    load_watches(r);
    if (map_len(&r->convs) > 0)
        r->stale_until = UINT64_MAX; /* lines were missed, until poll_done */
    relay_ask(r);
}

/* Some engines accept LISTEN and NOTIFY, and deliver nothing. */
void relay_set_deaf(struct pg_relay *r, bool is_deaf)
{
    if (is_deaf == r->is_deaf)
        return;
    r->is_deaf = is_deaf;
    if (is_deaf)
        log_warn(r->db->log, "store",
                 "notifications of the database do not arrive: it is asked every 2 seconds");
    if (is_deaf)
        timer_start(&r->poll, 0);
    else
        on_connected(r);
}

static void on_listener_lost(void *ctx)
{
    struct pg_relay *r = ctx;
    r->is_listening = false;
    timer_start(&r->poll, 0);
}

static const struct listener_events EVENTS = {
    .on_connected = on_connected, .on_lost = on_listener_lost, .on_notice = relay_on_notice};

static struct pg_relay *relay_new(struct database *db, struct bus *bus)
{
    struct pg_relay *r = xcalloc(1, sizeof *r);
    r->db = db;
    r->bus = bus;
    list_init(&r->asks);
    map_init(&r->convs);
    map_init(&r->remote);
    map_init(&r->parts);
    map_init(&r->known);
    timer_init(&r->poll, db->loop, on_poll, r);
    bus_observe(bus, relay_on_topic, r);
    r->listener = listener_new(db, &EVENTS, r);
    timer_start(&r->poll, RELAY_POLL_MS); /* until it listens */
    return r;
}

/* Jobs of the relay end before its memory goes. */
static void free_if_dead(struct pg_relay *r)
{
    if (!r->is_dead || r->polling || r->loading)
        return;
    remote_clear(r);
    parts_clear(r);
    map_done(&r->remote);
    map_done(&r->parts);
    map_done(&r->known);
    map_done(&r->convs);
    free(r->stores);
    free(r);
}

static void relay_free(struct pg_relay *r)
{
    assert(map_len(&r->convs) == 0 && r->nstores == 0 && list_empty(&r->asks));
    bus_observe(r->bus, NULL, NULL);
    listener_free(r->listener);
    r->listener = NULL;
    r->db->relay = NULL;
    timer_stop(&r->poll);
    r->is_dead = true;
    free_if_dead(r);
}

struct relay_state pg_relay_state(const struct database *db)
{
    const struct pg_relay *r = db->relay;
    if (!r)
        return (struct relay_state){0};
    return (struct relay_state){.is_listening = r->is_listening && !r->is_deaf,
                                .servers = r->nservers,
                                .watched = map_len(&r->convs),
                                .lag_us = r->lag_us};
}

void relay_add_store(struct store *s)
{
    struct database *db = pg_database(s);
    if (!db->replica || s->conf.read_only)
        return;
    if (!db->relay)
        db->relay = relay_new(db, s->env->bus);
    GROW(db->relay->stores, db->relay->nstores, db->relay->stores_cap);
    db->relay->stores[db->relay->nstores++] = s;
}

void relay_remove_store(struct store *s)
{
    struct pg_relay *r = pg_database(s)->relay;
    for (size_t i = 0; r && i < r->nstores; i++) {
        if (r->stores[i] != s)
            continue;
        r->stores[i] = r->stores[--r->nstores];
        if (r->nstores == 0)
            relay_free(r);
        return;
    }
}
