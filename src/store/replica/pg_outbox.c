#include "store/postgres/pg_outbox.h"

#include <assert.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "store/postgres/database.h"

enum { HEADER_MAX = 80 };

static void start_flush(void *ctx);

void outbox_init(struct outbox *o, struct database *db)
{
    *o = (struct outbox){.db = db};
    buf_init(&o->open, OUTBOX_PAYLOAD);
    timer_init(&o->timer, db->loop, start_flush, o);
}

static void drop_payloads(struct outbox_load *l)
{
    for (size_t i = 0; i < l->npayloads; i++)
        free((char *)l->payloads[i].p);
    l->npayloads = 0;
}

void outbox_load_sent(struct outbox *o, struct outbox_load *l, bool is_committed)
{
    if (is_committed) {
        outbox_load_done(l);
        return;
    }
    if (l->npayloads > 0)
        atomic_store(&o->has_lost, true);
    drop_payloads(l);
}

void outbox_load_done(struct outbox_load *l)
{
    drop_payloads(l);
    for (size_t i = 0; i < l->nwatches; i++) {
        free(l->watches[i].workspace);
        free(l->watches[i].conversation);
    }
    free(l->leases);
    free(l->payloads);
    free(l->watches);
    *l = (struct outbox_load){0};
}

void outbox_done(struct outbox *o)
{
    assert(!o->flush);
    timer_stop(&o->timer);
    buf_done(&o->open);
    outbox_load_done(&o->load);
}

static bool is_empty(const struct outbox *o)
{
    return o->load.nleases == 0 && o->load.npayloads == 0 && o->load.nwatches == 0 &&
           o->open.n == 0;
}

static void send_within(struct outbox *o, uint64_t ms)
{
    if (!timer_active(&o->timer) || o->timer.due_ms > clock_mono_ms() + ms)
        timer_start(&o->timer, ms);
}

static void send_soon(struct outbox *o)
{
    uint64_t since = clock_mono_ms() - o->taken_ms;
    send_within(o, since < OUTBOX_MS ? OUTBOX_MS - since : 0);
}

/* One that is not ended here ends when it expires. */
void pg_outbox_end_lease(struct database *db, int64_t epoch)
{
    struct outbox *o = &db->outbox;
    assert(epoch > 0);
    if (o->load.nleases == OUTBOX_LEASES_MAX)
        return;
    GROW(o->load.leases, o->load.nleases, o->load.leases_cap);
    o->load.leases[o->load.nleases++] = epoch;
    send_within(o, OUTBOX_MS);
}

void pg_outbox_watch(struct database *db, str workspace, str conversation, bool is_on)
{
    struct outbox *o = &db->outbox;
    if (o->load.nwatches == OUTBOX_WATCHES) {
        atomic_store(&o->has_lost, true);
        return;
    }
    GROW(o->load.watches, o->load.nwatches, o->load.watches_cap);
    o->load.watches[o->load.nwatches++] = (struct outbox_watch){
        .workspace = str_dup(workspace), .conversation = str_dup(conversation), .is_on = is_on};
    send_soon(o);
}

/* ---- messages ---- */

static void begin_payload(struct outbox *o, char kind)
{
    assert(o->open.n == 0);
    buf_printf(&o->open, "%s %llu %c\n", o->db->replica->id, (unsigned long long)++o->npayloads,
               kind);
}

static void end_payload(struct outbox *o)
{
    struct outbox_load *l = &o->load;
    if (o->open.n == 0)
        return;
    assert(!buf_failed(&o->open));
    if (l->npayloads < OUTBOX_PAYLOADS) {
        GROW(l->payloads, l->npayloads, l->payloads_cap);
        l->payloads[l->npayloads++] = str_make(str_dup(buf_str(&o->open)), o->open.n);
    } else {
        atomic_store(&o->has_lost, true);
    }
    buf_clear(&o->open);
}

/* Cut between characters: a notification is a text. */
static void tell_in_parts(struct outbox *o, str message)
{
    end_payload(o);
    while (message.n > 0) {
        str part = utf8_truncate(message, OUTBOX_PAYLOAD - HEADER_MAX);
        message = str_skip(message, part.n);
        begin_payload(o, message.n > 0 ? 'p' : 'q');
        buf_add_str(&o->open, part);
        end_payload(o);
    }
}

void pg_outbox_tell(struct database *db, str message)
{
    struct outbox *o = &db->outbox;
    if (message.n > OUTBOX_MESSAGE || !utf8_valid(message))
        return;
    send_soon(o);
    if (message.n > OUTBOX_PAYLOAD - HEADER_MAX) {
        tell_in_parts(o, message);
        return;
    }
    if (o->open.n + message.n + 1 > OUTBOX_PAYLOAD)
        end_payload(o);
    if (o->open.n == 0)
        begin_payload(o, 'm');
    buf_add_str(&o->open, message);
    buf_add_char(&o->open, '\n');
}

/* ---- a transaction ---- */

void outbox_take(struct outbox *o, struct outbox_load *ret)
{
    end_payload(o);
    if (!is_empty(o))
        o->taken_ms = clock_mono_ms();
    o->ntaken++;
    *ret = o->load;
    o->load = (struct outbox_load){0};
    timer_stop(&o->timer);
}

static struct pg_params *watch_params(const struct database *db, const struct outbox_load *l,
                                      bool is_on, struct arena *a)
{
    struct pg_params *p = ARENA_NEW(a, struct pg_params);
    str *workspaces = arena_array(a, l->nwatches, sizeof(str));
    str *conversations = arena_array(a, l->nwatches, sizeof(str));
    size_t n = 0;
    for (size_t i = 0; i < l->nwatches; i++) {
        /* only the last word about a conversation counts */
        bool is_last = true;
        for (size_t k = i + 1; k < l->nwatches && is_last; k++)
            is_last = strcmp(l->watches[i].conversation, l->watches[k].conversation) != 0 ||
                      strcmp(l->watches[i].workspace, l->watches[k].workspace) != 0;
        if (!is_last || l->watches[i].is_on != is_on)
            continue;
        workspaces[n] = str_from(l->watches[i].workspace);
        conversations[n++] = str_from(l->watches[i].conversation);
    }
    pg_params_init(p, a);
    pg_text(p, str_from(db->replica->id));
    pg_texts(p, workspaces, n);
    pg_texts(p, conversations, n);
    return n > 0 ? p : NULL;
}

static size_t add_query(struct pg_query *q, const char *sql, const struct pg_params *p)
{
    if (!p)
        return 0;
    *q = (struct pg_query){.sql = sql, .params = p};
    return 1;
}

static const struct pg_params *lease_params(const struct outbox_load *l, struct arena *a)
{
    struct pg_params *p = ARENA_NEW(a, struct pg_params);
    pg_params_init(p, a);
    pg_ints(p, l->leases, l->nleases);
    return l->nleases > 0 ? p : NULL;
}

static const struct pg_params *payload_params(const struct outbox_load *l, struct arena *a)
{
    struct pg_params *p = ARENA_NEW(a, struct pg_params);
    pg_params_init(p, a);
    pg_texts(p, l->payloads, l->npayloads);
    return l->npayloads > 0 ? p : NULL;
}

size_t outbox_statements(const struct database *db, const struct outbox_load *l, struct arena *a,
                         struct pg_query *q)
{
    static const char END[] = "DELETE FROM nb_lease WHERE epoch = ANY($1::bigint[])";
    static const char WATCH[] =
        "INSERT INTO nb_watch (replica, workspace, conversation) SELECT $1::text, workspace,"
        " conversation FROM unnest($2::text[], $3::text[]) AS t(workspace, conversation)"
        " ON CONFLICT DO NOTHING";
    static const char UNWATCH[] =
        "DELETE FROM nb_watch w USING unnest($2::text[], $3::text[]) AS t(workspace, conversation)"
        " WHERE w.replica = $1 AND w.workspace = t.workspace AND w.conversation = t.conversation";
    static const char TELL[] = "SELECT pg_notify('nb', p) FROM unnest($1::text[]) AS t(p)";
    size_t n = add_query(q, END, lease_params(l, a));
    if (l->nwatches > 0) {
        n += add_query(&q[n], WATCH, watch_params(db, l, true, a));
        n += add_query(&q[n], UNWATCH, watch_params(db, l, false, a));
    }
    if (atomic_load(&db->has_notify))
        n += add_query(&q[n], TELL, payload_params(l, a));
    assert(n <= OUTBOX_STATEMENTS);
    return n;
}

/* ---- alone ---- */

struct outbox_flush {
    struct job job;
    struct outbox *outbox;
    struct outbox_load load;
};

static void flush_work(struct job *j)
{
    struct outbox_flush *f = CONTAINER_OF(j, struct outbox_flush, job);
    struct pg_query q[OUTBOX_STATEMENTS];
    struct pg_conn *c;
    struct arena a;
    struct err e = {0};
    arena_init(&a);
    size_t n = outbox_statements(f->outbox->db, &f->load, &a, q);
    /* Nobody waits for it: if the database cannot be reached now, leases expire, streams get
     * what is in the logs, and are registered again later (pg_relay_repeat). */
    if (n > 0 && database_writer(f->outbox->db, clock_mono_ms(), &c, &e) == 0 &&
        pg_conn_run(c, q, n, &e) == 0)
        pg_clear(c, q, n);
    if (e.code < 0)
        atomic_store(&f->outbox->has_lost, true);
    arena_done(&a);
}

static void flush_done(struct job *j)
{
    struct outbox_flush *f = CONTAINER_OF(j, struct outbox_flush, job);
    struct outbox *o = f->outbox;
    o->flush = NULL;
    outbox_load_done(&f->load);
    free(f);
    if (!is_empty(o) && o->db->is_open)
        send_soon(o);
}

static void start_flush(void *ctx)
{
    struct outbox *o = ctx;
    if (o->flush || is_empty(o))
        return;
    struct outbox_flush *f = xcalloc(1, sizeof *f);
    f->outbox = o;
    outbox_take(o, &f->load);
    o->flush = f;
    pool_run(o->db->write_pool, &f->job, flush_work, flush_done);
}
