#include "store/database/pg_lock.h"

#include <errno.h>
#include <time.h>

/* A session outlives its client by a moment, on a busy machine by seconds: long enough to refuse a
 * server that is restarted. */
enum { TRIES_OWN = 200, TRIES_OTHER = 60, TRY_MS = 50 };

/* 28258 is "nb" */
#define LOCK_ALONE  "SELECT pg_try_advisory_lock(28258, 1)"
#define LOCK_SHARED "SELECT pg_try_advisory_lock_shared(28258, 1)"
#define HOLDER                                                                                     \
    " FROM pg_locks l JOIN pg_stat_activity s ON s.pid = l.pid"                                    \
    " WHERE l.locktype = 'advisory' AND l.classid = 28258 AND l.objid = 1 AND l.objsubid = 2"      \
    " AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname ="                 \
    " current_database())"

static int try_lock(struct pg_conn *c, bool is_shared, bool *ret, struct err *e)
{
    struct pg_query q = {.sql = is_shared ? LOCK_SHARED : LOCK_ALONE, .is_once = true};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0)
        *ret = pg_get_bool(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    return r;
}

int pg_lock_holder(struct pg_conn *c, struct arena *a, str *ret, struct err *e)
{
    struct pg_query q = {.sql = "SELECT coalesce(s.application_name, ''),"
                                " to_char(s.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ')" HOLDER,
                         .is_once = true};
    int r = pg_conn_run(c, &q, 1, e);
    *ret = STR_NONE;
    if (r == 0 && pg_rows(c, &q) > 0)
        *ret = arena_printf(a, "%.*s, connected since %.*s", STR_ARG(pg_get_text(c, &q, 0, 0)),
                            STR_ARG(pg_get_text(c, &q, 0, 1)));
    pg_clear(c, &q, 1);
    return r;
}

/* After a network failure the server may still have the session of the connection before. */
static int end_own(struct pg_conn *c, const char *application, bool *ret_is_own, struct err *e)
{
    struct arena a;
    struct pg_params p;
    arena_init(&a);
    pg_params_init(&p, &a);
    pg_text(&p, str_from(application));
    struct pg_query q = {.sql = "SELECT pg_terminate_backend(s.pid)" HOLDER
                                " AND s.application_name = $1",
                         .params = &p,
                         .is_once = true};
    int r = pg_conn_run(c, &q, 1, e);
    *ret_is_own = r == 0 && pg_rows(c, &q) > 0;
    pg_clear(c, &q, 1);
    arena_done(&a);
    return r;
}

static int refuse(struct pg_conn *c, bool is_shared, struct err *e)
{
    struct arena a;
    struct err ignored;
    str holder = STR_NONE;
    arena_init(&a);
    (void)pg_lock_holder(c, &a, &holder, &ignored);
    int r = err_set(e, -EHOSTUNREACH,
                    "another nb process already writes to this database (%.*s). %s: stop the other "
                    "process, or set store.url to another database",
                    STR_ARG(holder.n > 0 ? holder : STR("unknown session")),
                    is_shared ? "It does so alone, because its store.replicas is false"
                              : "One database serves one nb server");
    arena_done(&a);
    return r;
}

int pg_lock_take(struct pg_conn *c, const char *application, bool is_shared, struct err *e)
{
    bool is_taken = false, is_own = false;
    int r = try_lock(c, is_shared, &is_taken, e);
    if (r == 0 && !is_taken)
        r = end_own(c, application, &is_own, e);
    int tries = is_own ? TRIES_OWN : TRIES_OTHER;
    for (int i = 0; r == 0 && !is_taken && i < tries; i++) {
        const struct timespec t = {.tv_nsec = TRY_MS * 1000000L};
        (void)nanosleep(&t, NULL);
        r = try_lock(c, is_shared, &is_taken, e);
    }
    return r < 0 ? r : is_taken ? 0 : refuse(c, is_shared, e);
}

int pg_lock_servers(struct pg_conn *c, struct pg_servers *ret, struct err *e)
{
    struct pg_query q = {
        .sql =
            "SELECT (SELECT count(*) FROM nb_replica WHERE seen > now() - interval '10 seconds'),"
            " (SELECT count(*) FROM nb_lease WHERE expires > now()),"
            " (SELECT count(*) FROM nb_queue)",
        .is_once = true};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0)
        *ret = (struct pg_servers){.alive = pg_get_int(c, &q, 0, 0),
                                   .leases = pg_get_int(c, &q, 0, 1),
                                   .queued = pg_get_int(c, &q, 0, 2)};
    pg_clear(c, &q, 1);
    return r;
}
