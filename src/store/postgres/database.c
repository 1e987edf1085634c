#include "store/postgres/database.h"

#include <assert.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "store/database/pg_lock.h"
#include "store/database/pg_schema.h"
#include "store/postgres/pg_batch.h"
#include "store/postgres/pg_relay.h"
#include "store/postgres/pg_store.h"

enum {
    BACKOFF_MIN_MS = 100,
    BACKOFF_MAX_MS = 5000,
    WAIT_STEP_MS = 50,
    CHECK_EVERY_MS = 2000,
    CHECK_LATE_MS = 5000
};

struct database *database_new(struct loop *l, struct logger *log, const char *url)
{
    struct database *db = xcalloc(1, sizeof *db);
    char host[24] = "";
    db->loop = l;
    db->log = log;
    db->url = url ? str_dup(str_from(url)) : NULL;
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(db->application, sizeof db->application, "nb %.20s %d %08x", host, (int)getpid(),
                   (unsigned)random_u64());
    pg_secrets_of(&db->secrets, str_from(db->url));
    pthread_mutex_init(&db->lock, NULL);
    map_init(&db->cached);
    map_init(&db->counts);
    list_init(&db->pending);
    outbox_init(&db->outbox, db);
    return db;
}

void database_share(struct database *db)
{
    assert(!db->is_open);
    db->has_replicas = true;
}

void database_on_others(struct database *db, const struct replica_events *ev, void *ctx,
                        const char *address)
{
    if (!db->replica)
        return;
    db->replica->ev = *ev;
    db->replica->ctx = ctx;
    free(db->replica->address);
    db->replica->address = str_dup(str_from(address));
}

void database_free(struct database *db)
{
    if (!db)
        return;
    assert(list_empty(&db->pending) && !db->batch && !db->relay);
    db->is_open = false;
    if (db->replica)
        replica_stop(db);
    pool_free(db->write_pool);
    pool_free(db->readers);
    outbox_done(&db->outbox);
    if (db->replica)
        replica_done(db);
    while (db->nidle > 0)
        pg_conn_close(db->idle[--db->nidle]);
    pg_conn_close(db->writer);
    pg_cache_clear(db);
    map_done(&db->cached);
    pg_counts_clear(db);
    map_done(&db->counts);
    pthread_mutex_destroy(&db->lock);
    free(db->url);
    free(db);
}

/* ---- connecting ---- */

/* Values that the server or its administrator may have set otherwise. An append is acknowledged
 * after COMMIT, so COMMIT must mean that it is durable. */
static int set_session(struct pg_conn *c, struct err *e)
{
    static const char SET[] =
        "SELECT set_config('statement_timeout', $1, false),"
        " set_config('idle_in_transaction_session_timeout', $2, false),"
        " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
        " WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),"
        " current_setting('server_encoding')";
    struct arena a;
    struct pg_params p;
    arena_init(&a);
    pg_params_init(&p, &a);
    pg_text(&p, arena_printf(&a, "%d", PG_STATEMENT_MS));
    pg_text(&p, arena_printf(&a, "%d", PG_IDLE_TRANS_MS));
    struct pg_query q = {.sql = SET, .params = &p, .is_once = true};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && !str_eq(pg_get_text(c, &q, 0, 3), STR("UTF8")))
        r = err_set(e, -EINVAL,
                    "the encoding of the database is %.*s; nb needs UTF8: CREATE DATABASE name "
                    "ENCODING 'UTF8' TEMPLATE template0",
                    STR_ARG(pg_get_text(c, &q, 0, 3)));
    pg_clear(c, &q, 1);
    arena_done(&a);
    return r;
}

/* Dead clients are noticed by the server after 25 s, so that their locks end. Only for TCP, and not
 * every engine has these settings: a failure does not matter. */
static void set_keepalive(struct pg_conn *c)
{
    struct pg_query q = {.sql = "SELECT set_config('tcp_keepalives_idle', '10', false),"
                                " set_config('tcp_keepalives_interval', '5', false),"
                                " set_config('tcp_keepalives_count', '3', false)",
                         .is_once = true};
    struct err ignored;
    (void)pg_conn_run(c, &q, 1, &ignored);
    pg_clear(c, &q, 1);
}

static int open_session(struct database *db, bool is_read_only, struct pg_conn **ret, struct err *e)
{
    const struct pg_address to = {.api = &db->api,
                                  .secrets = &db->secrets,
                                  .url = db->url,
                                  .application = db->application,
                                  .is_read_only = is_read_only};
    struct pg_conn *c = NULL;
    int r = pg_conn_open(&to, &c, e);
    if (r == 0)
        r = set_session(c, e);
    if (r < 0) {
        pg_conn_close(c);
        return r;
    }
    set_keepalive(c);
    atomic_fetch_add(&db->nconnects, 1);
    *ret = c;
    return 0;
}

static int load(struct database *db, struct err *e)
{
    return db->api.connectPoll ? 0 : pq_api_load(&db->api, e);
}

int database_connect(struct database *db, struct pg_conn **ret, struct err *e)
{
    int r = load(db, e);
    return r < 0 ? r : open_session(db, false, ret, e);
}

/* ---- after a failure ---- */

static void note_attempt(struct database *db, int r, const struct err *e)
{
    pthread_mutex_lock(&db->lock);
    bool is_news = (r < 0) != (db->failures > 0);
    if (r < 0) {
        unsigned shift = db->failures < 6 ? db->failures : 6;
        uint64_t delay = (uint64_t)BACKOFF_MIN_MS << shift;
        delay = delay > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : delay;
        /* not all processes of a cluster in the same moment */
        db->retry_ms = clock_mono_ms() + delay / 2 + random_u64() % delay;
        db->failures++;
        db->why = *e;
        atomic_fetch_add(&db->nfailures, 1);
    } else {
        db->failures = 0;
        db->retry_ms = 0;
    }
    pthread_mutex_unlock(&db->lock);
    if (is_news && r < 0)
        log_error(db->log, "store", "%s", e->msg);
    else if (is_news)
        log_info(db->log, "store", "the database can be reached again");
}

/* True: no attempt may be made before *ret_ms; e has the reason of the last failure. */
static bool must_wait(struct database *db, uint64_t *ret_ms, struct err *e)
{
    pthread_mutex_lock(&db->lock);
    bool waits = db->failures > 0 && clock_mono_ms() < db->retry_ms;
    *ret_ms = db->retry_ms;
    if (waits && e)
        *e = db->why;
    pthread_mutex_unlock(&db->lock);
    return waits;
}

/* Not every engine that speaks this protocol can notify. */
static void find_notify(struct database *db, struct pg_conn *c)
{
    struct pg_query q = {.sql = "SELECT to_regproc('pg_notify') IS NOT NULL", .is_once = true};
    struct err ignored;
    bool has = pg_conn_run(c, &q, 1, &ignored) == 0 && pg_get_bool(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    if (!has && db->has_replicas && !c->is_lost)
        log_warn(db->log, "store",
                 "the database has no pg_notify: new lines reach streams of other servers after 2 "
                 "seconds, and unfinished text does not");
    atomic_store(&db->has_notify, has);
}

/* Readers of a process that writes, or that asks what other servers have changed, must not read
 * from a standby, which may be behind. */
static int attempt(struct database *db, bool takes_lock, struct pg_conn **ret, struct err *e)
{
    struct pg_conn *c = NULL;
    bool is_read_only = !takes_lock && !db->is_writing && !db->has_replicas;
    int r = open_session(db, is_read_only, &c, e);
    if (r == 0)
        r = pg_schema_check(c, e);
    if (r == 0 && takes_lock)
        r = pg_lock_take(c, db->application, db->has_replicas, e);
    if (r == 0 && takes_lock)
        find_notify(db, c);
    note_attempt(db, r, e);
    if (r < 0) {
        pg_conn_close(c);
        return r;
    }
    pthread_mutex_lock(&db->lock);
    db->connections++;
    pthread_mutex_unlock(&db->lock);
    *ret = c;
    return 0;
}

static void close_conn(struct database *db, struct pg_conn *c)
{
    pg_conn_close(c);
    pthread_mutex_lock(&db->lock);
    db->connections--;
    pthread_mutex_unlock(&db->lock);
}

/* ---- readers ---- */

static struct pg_conn *take_idle(struct database *db)
{
    pthread_mutex_lock(&db->lock);
    struct pg_conn *c = db->nidle > 0 ? db->idle[--db->nidle] : NULL;
    pthread_mutex_unlock(&db->lock);
    return c;
}

static void give_back(struct database *db, struct pg_conn *c)
{
    pthread_mutex_lock(&db->lock);
    bool is_kept = !c->is_lost && db->nidle < ARRAY_LEN(db->idle);
    if (is_kept)
        db->idle[db->nidle++] = c;
    pthread_mutex_unlock(&db->lock);
    if (!is_kept)
        close_conn(db, c);
}

static int take_new(struct database *db, struct pg_conn **ret, struct err *e)
{
    uint64_t until;
    if (must_wait(db, &until, e))
        return e->code;
    return attempt(db, false, ret, e);
}

/* The error of a call is shown to people, who need not know where the database is: the details are
 * in the log. */
static int plain_error(struct database *db, const struct pg_conn *lost, struct err *e)
{
    if (lost && lost->is_lost)
        log_warn(db->log, "store", "%s", e->msg);
    return err_set(e, -EHOSTUNREACH,
                   "the database cannot be reached now; try again in a few seconds");
}

static int read_once(struct database *db, database_fn fn, void *ctx, struct pg_conn *c,
                     struct err *e)
{
    int r = fn(c, ctx, e);
    if (r == -EHOSTUNREACH)
        plain_error(db, c, e);
    give_back(db, c);
    return r;
}

int database_read(struct database *db, database_fn fn, void *ctx, struct err *e)
{
    struct err local = {0};
    struct pg_conn *c;
    if (!e)
        e = &local;
    while ((c = take_idle(db)) != NULL) {
        int r = fn(c, ctx, e);
        bool was_lost = c->is_lost;
        give_back(db, c);
        if (!was_lost)
            return r;
        err_clear(
            e); /* it may have been dead for hours: try the next, in the end a new connection */
    }
    int r = take_new(db, &c, e);
    if (r < 0)
        return plain_error(db, NULL, e);
    return read_once(db, fn, ctx, c, e);
}

/* ---- the writer ---- */

static void pause_ms(uint64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

static void close_writer(struct database *db)
{
    if (db->writer)
        close_conn(db, db->writer);
    db->writer = NULL;
}

int database_writer(struct database *db, uint64_t deadline_ms, struct pg_conn **ret, struct err *e)
{
    while (!db->writer || db->writer->is_lost) {
        uint64_t until, now = clock_mono_ms();
        close_writer(db);
        if (!must_wait(db, &until, e)) {
            if (attempt(db, true, &db->writer, e) == 0)
                break;
            continue;
        }
        if (now >= deadline_ms || until >= deadline_ms)
            return plain_error(db, NULL, e);
        pause_ms(until > now + WAIT_STEP_MS ? WAIT_STEP_MS : until - now + 1);
    }
    *ret = db->writer;
    return 0;
}

/* ---- opening ---- */

int database_open(struct database *db, bool is_writing, struct err *e)
{
    struct pg_conn *c = NULL;
    int r = load(db, e);
    if (r == 0 && is_writing && !db->is_writing) {
        r = attempt(db, true, &db->writer, e);
        db->is_writing = r == 0;
    } else if (r == 0 && !is_writing && !db->is_open) {
        r = attempt(db, false, &c, e);
        if (r == 0)
            give_back(db, c);
    }
    if (r < 0)
        return r;
    if (!db->is_open) {
        db->write_pool = pool_new(db->loop, "nb-pg-write", 1);
        db->readers = pool_new(db->loop, "nb-pg-read", DATABASE_READERS);
    }
    db->is_open = true;
    if (db->is_writing && db->has_replicas && !db->replica)
        replica_start(db);
    return 0;
}

/* ---- health ---- */

static int ask_alive(struct pg_conn *c, void *ctx, struct err *e)
{
    struct pg_query q = {.sql = "SELECT count(*) FROM nb_schema"};
    int r = pg_conn_run(c, &q, 1, e);
    (void)ctx;
    pg_clear(c, &q, 1);
    return r;
}

void database_check(struct database *db, struct err *e)
{
    (void)database_read(db, ask_alive, NULL, e);
}

static void check_work(struct job *j)
{
    struct database_check *k = CONTAINER_OF(j, struct database_check, job);
    struct err e = {0};
    database_check(CONTAINER_OF(k, struct database, check), &e);
    k->code = e.code;
}

static void check_done(struct job *j)
{
    struct database_check *k = CONTAINER_OF(j, struct database_check, job);
    k->is_running = false;
    k->is_failed = k->code == -EHOSTUNREACH;
}

bool database_is_unreachable(struct database *db)
{
    uint64_t now = clock_mono_ms();
    if (!db || !db->is_open)
        return false;
    struct database_check *k = &db->check;
    if (!k->is_running && now - k->began_ms >= CHECK_EVERY_MS) {
        k->is_running = true;
        k->began_ms = now;
        pool_run(db->readers, &k->job, check_work, check_done);
    }
    return k->is_failed || (k->is_running && now - k->began_ms >= CHECK_LATE_MS);
}

struct figure {
    const char *name, *type, *help;
    uint64_t value;
};

static void write_figures(struct buf *out, const struct figure *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", f[i].name, f[i].help, f[i].name,
                   f[i].type, f[i].name, (unsigned long long)f[i].value);
}

/* Of a server among others. */
static void replica_metrics(const struct database *db, struct buf *out)
{
    const struct relay_state s = pg_relay_state(db);
    const struct figure figures[] = {
        {"nb_database_leases", "gauge", "Conversations that this server works on.",
         list_count(&db->replica->leases)},
        {"nb_database_servers", "gauge", "Other servers that are alive.", s.servers},
        {"nb_database_watched", "gauge", "Conversations with streams here.", s.watched},
        {"nb_database_listening", "gauge", "1: notifications of other servers arrive.",
         s.is_listening},
        {"nb_database_listen_lag_microseconds", "gauge",
         "From sending a notification to receiving it, the last time.", s.lag_us},
    };
    write_figures(out, figures, ARRAY_LEN(figures));
}

void database_metrics(struct database *db, struct buf *out)
{
    if (!db || !db->is_open)
        return;
    pthread_mutex_lock(&db->lock);
    unsigned connections = db->connections;
    size_t idle = db->nidle;
    bool is_up = db->failures == 0;
    pthread_mutex_unlock(&db->lock);
    const struct figure figures[] = {
        {"nb_database_up", "gauge", "1: the last attempt to connect has succeeded.", is_up},
        {"nb_database_connections", "gauge", "Open connections.", connections},
        {"nb_database_connections_idle", "gauge", "Connections for reading that nobody uses.",
         idle},
        {"nb_database_connects_total", "counter", "Connections made.", atomic_load(&db->nconnects)},
        {"nb_database_failures_total", "counter", "Attempts to connect that failed.",
         atomic_load(&db->nfailures)},
        {"nb_database_writes_total", "counter", "Calls that were committed.",
         atomic_load(&db->nappends)},
        {"nb_database_batches_total", "counter", "Transactions for these calls.",
         atomic_load(&db->nbatches)},
    };
    write_figures(out, figures, ARRAY_LEN(figures));
    if (db->replica)
        replica_metrics(db, out);
}
