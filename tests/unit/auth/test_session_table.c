/* Sessions of two servers in one database. */
#include <errno.h>

#include "auth/session/fresh.h"
#include "auth/session/session_impl.h"
#include "base/clock.h"
#include "support/postgres.h"
#include "support/tempdir.h"

enum { PATIENCE_MS = 60000, DAY = 86400000, MINUTE = 60000 };

static const struct session_policy POLICY = {
    .value_ms = 3600000, .idle_ms = 7 * (int64_t)DAY, .absolute_ms = 30 * (int64_t)DAY};

struct node { /* one server */
    struct database *db;
    struct sessions *s;
    struct fresh *fresh;
    int ended;
    char last[32]; /* id of the session that ended */
};

static struct postgres server;
static struct tempdir dir;
static struct loop *loop;
static struct node a, b;
static int64_t ahead_ms; /* of the clock of both */

static int64_t the_time(void)
{
    return clock_now_ms() + ahead_ms;
}

static int64_t slow_time(void)
{
    return clock_now_ms() - 10 * (int64_t)MINUTE;
}

static void on_ended(void *ctx, const struct login_session *x)
{
    struct node *n = ctx;
    n->ended++;
    memcpy(n->last, x->id, sizeof n->last);
}

static void node_open(struct node *n, const char *origin, int64_t (*now_ms)(void))
{
    struct err e = {0};
    *n = (struct node){.db = database_new(loop, NULL, server.url)};
    assert_int_equal(database_open(n->db, false, &e), 0);
    n->s = sessions_new(loop, NULL, dir.path, n->db, str_from(origin), now_ms, on_ended, n);
    n->fresh = fresh_new(loop, n->db, n->s, NULL);
    if (fresh_open(n->fresh, &e) < 0)
        fail_msg("%s", e.msg);
}

static void node_close(struct node *n)
{
    fresh_free(n->fresh);
    sessions_free(n->s);
    database_free(n->db);
    *n = (struct node){0};
}

static int begin(void **state)
{
    postgres_sql(server.url, "TRUNCATE nb_session");
    ahead_ms = 0;
    loop = loop_new(NULL);
    int r = tempdir_make(&dir);
    node_open(&a, "local", the_time);
    node_open(&b, "local", the_time);
    return r;
}

static int end(void **state)
{
    if (a.db)
        node_close(&a);
    if (b.db)
        node_close(&b);
    loop_free(loop);
    return tempdir_drop(&dir);
}

struct outcome {
    bool is_done;
    int code;
};

static void on_outcome(void *ctx, const struct err *err)
{
    struct outcome *o = ctx;
    *o = (struct outcome){true, err->code};
}

static int outcome_of(struct outcome *o)
{
    assert_true(loop_run_until(loop, &o->is_done, PATIENCE_MS));
    return o->code;
}

static int read_news(struct node *n)
{
    struct outcome o = {0};
    struct fresh_wait w = {.fn = on_outcome, .ctx = &o};
    fresh_await(n->fresh, &w);
    assert_false(o.is_done);
    return outcome_of(&o);
}

static int stored(struct node *n, const struct login_session *x)
{
    struct outcome o = {0};
    struct session_wait w = {.fn = on_outcome, .ctx = &o};
    session_await(n->s, x, &w);
    return outcome_of(&o);
}

static int synced(struct node *n)
{
    struct outcome o = {0};
    struct session_wait w = {.fn = on_outcome, .ctx = &o};
    sessions_sync(n->s, &w);
    return outcome_of(&o);
}

static const struct login_session *log_in(struct node *n, struct session_values *ret)
{
    const struct login_session *x = session_begin(n->s, STR("usr_a"), &POLICY, STR("p"), ret);
    assert_int_equal(stored(n, x), 0);
    return x;
}

static const struct login_session *find(struct node *n, const struct session_values *v)
{
    assert_int_equal(read_news(n), 0);
    return session_find(n->s, str_from(v->value));
}

TEST_WITH(a_login_on_one_server_is_one_on_the_other, begin, end)
{
    struct session_values v;
    const struct login_session *x = log_in(&a, &v), *y = find(&b, &v);
    assert_non_null(y);
    assert_string_equal(y->id, x->id);
    assert_true(str_eq(y->user_id, STR("usr_a")) && str_eq(y->provider_refresh, STR("p")));
    assert_true(y->created_ms == x->created_ms && y->value_until_ms == x->value_until_ms);
    /* Hashes only. */
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "DO $$ BEGIN IF EXISTS (SELECT 1 FROM nb_session AS n WHERE n::text LIKE "
                   "'%%%s%%' OR n::text LIKE '%%%s%%') THEN RAISE 'a secret'; END IF; END $$",
                   v.value, v.refresh);
    postgres_sql(server.url, sql);
}

TEST_WITH(an_end_on_one_server_is_one_on_the_other, begin, end)
{
    struct session_values v;
    log_in(&a, &v);
    const struct login_session *y = find(&b, &v);
    char id[32];
    memcpy(id, y->id, sizeof id);
    session_end(b.s, y);
    assert_int_equal(synced(&b), 0);
    assert_int_equal(a.ended, 0);
    assert_null(find(&a, &v));
    assert_int_equal(a.ended, 1);
    assert_string_equal(a.last, id);
    assert_null(find(&b, &v));
    assert_int_equal(b.ended, 1);
    /* A reading of everything does not bring it back. */
    sessions_restart(b.s, STR("local"));
    assert_null(find(&b, &v));
}

TEST_WITH(without_a_request_streams_end_too, begin, end)
{
    struct session_values v;
    log_in(&a, &v);
    assert_non_null(find(&b, &v));
    postgres_sql(server.url,
                 "WITH g AS (UPDATE nb_generation SET generation = generation + 1 WHERE name = "
                 "'sessions' RETURNING generation) UPDATE nb_session SET ended_ms = 1, generation "
                 "= (SELECT generation FROM g)");
    bool is_over = false;
    for (uint64_t from = clock_mono_ms(); b.ended == 0 && clock_mono_ms() - from < PATIENCE_MS;)
        (void)loop_run_until(loop, &is_over, 100);
    assert_int_equal(b.ended, 1);
}

TEST_WITH(one_of_two_refreshes_wins, begin, end)
{
    struct session_values v, of_a, of_b;
    bool is_spent;
    log_in(&a, &v);
    assert_non_null(find(&b, &v));
    const struct login_session *x = session_find_refresh(a.s, str_from(v.refresh), &is_spent);
    const struct login_session *y = session_find_refresh(b.s, str_from(v.refresh), &is_spent);
    struct outcome oa = {0}, ob = {0};
    struct session_wait wa = {.fn = on_outcome, .ctx = &oa}, wb = {.fn = on_outcome, .ctx = &ob};
    session_await(a.s, session_rotate(a.s, x, STR_NONE, &of_a), &wa);
    session_await(b.s, session_rotate(b.s, y, STR_NONE, &of_b), &wb);
    int ra = outcome_of(&oa), rb = outcome_of(&ob);
    assert_true((ra == 0 && rb == -ESTALE) || (ra == -ESTALE && rb == 0));
    const struct session_values *won = ra == 0 ? &of_a : &of_b, *lost = ra == 0 ? &of_b : &of_a;
    assert_non_null(find(&a, won));
    assert_non_null(find(&b, won));
    assert_null(find(&a, lost));
    assert_null(find(&b, lost));
    /* Requests on their way, and another tab. */
    assert_non_null(session_find(a.s, str_from(v.value)));
    assert_non_null(session_find_refresh(b.s, str_from(v.refresh), &is_spent));
    assert_true(is_spent);
    assert_int_equal(a.ended + b.ended, 0);
}

TEST_WITH(a_refresh_value_that_was_stolen_ends_the_session_everywhere, begin, end)
{
    struct session_values v, w;
    bool is_spent;
    const struct login_session *x = log_in(&a, &v);
    assert_int_equal(stored(&a, session_rotate(a.s, x, STR_NONE, &w)), 0);
    assert_non_null(find(&b, &w));
    ahead_ms = SESSION_GRACE_MS;
    node_close(&b); /* its clock is that of the database: it cannot be set */
    postgres_sql(server.url, "UPDATE nb_session SET former_until_ms = 1");
    node_open(&b, "local", the_time);
    assert_null(session_find_refresh(b.s, str_from(v.refresh), &is_spent));
    assert_int_equal(synced(&b), 0);
    assert_null(find(&a, &w));
    assert_int_equal(a.ended, 1);
}

TEST_WITH(who_refreshes_a_session_that_has_ended_loses, begin, end)
{
    struct session_values v, w;
    const struct login_session *x = log_in(&a, &v);
    session_end(b.s, find(&b, &v));
    assert_int_equal(synced(&b), 0);
    assert_int_equal(stored(&a, session_rotate(a.s, x, STR_NONE, &w)), -ESTALE);
    assert_null(find(&a, &w));
    assert_null(find(&a, &v));
    assert_int_equal(a.ended, 1);
}

TEST_WITH(a_session_begins_by_the_users_that_were_read, begin, end)
{
    struct session_values v;
    struct outcome o = {0};
    struct session_wait w = {.fn = on_outcome, .ctx = &o, .roster_mark = 1000};
    const struct login_session *x = session_begin(a.s, STR("usr_a"), &POLICY, STR_NONE, &v);
    session_await(a.s, x, &w);
    assert_int_equal(outcome_of(&o), -ESTALE);
    assert_null(session_find(a.s, str_from(v.value)));
    assert_null(find(&b, &v));
}

TEST_WITH(without_the_database_nothing_is_believed_and_nothing_ends, begin, end)
{
    struct session_values v, w;
    log_in(&a, &v);
    assert_non_null(find(&b, &v));
    postgres_order(&server, "stop");
    assert_int_equal(read_news(&a), -ENOTCONN);
    assert_int_equal(read_news(&b), -ENOTCONN);
    const struct login_session *x = session_begin(a.s, STR("usr_a"), &POLICY, STR_NONE, &w);
    assert_int_equal(stored(&a, x), -ENOTCONN);
    assert_null(session_find(a.s, str_from(w.value)));
    session_end(b.s, session_find(b.s, str_from(v.value)));
    assert_int_equal(synced(&b), -ENOTCONN);
    postgres_order(&server, "start");
    while (synced(&b) == -ENOTCONN) /* attempts to connect are not made immediately */
        continue;
    while (read_news(&a) == -ENOTCONN)
        continue;
    assert_null(session_find(a.s, str_from(v.value))); /* the end was tried again */
    assert_int_equal(a.ended, 2);                      /* with the login that failed */
}

/* Any error of the database, not only that it is gone: none says that credentials are wrong. */
TEST_WITH(a_refusal_of_the_database_is_not_one_of_the_credentials, begin, end)
{
    struct session_values v, w;
    log_in(&a, &v);
    postgres_sql(server.url, "ALTER TABLE nb_session RENAME TO nb_gone");
    assert_int_equal(read_news(&a), -ENOTCONN);
    const struct login_session *x = session_begin(a.s, STR("usr_a"), &POLICY, STR_NONE, &w);
    assert_int_equal(stored(&a, x), -ENOTCONN);
    postgres_sql(server.url, "ALTER TABLE nb_gone RENAME TO nb_session");
    assert_non_null(find(&a, &v));
    assert_null(find(&a, &w));
}

TEST_WITH(the_last_request_is_known_to_all, begin, end)
{
    struct session_values v;
    log_in(&a, &v);
    postgres_sql(server.url, "UPDATE nb_session SET seen_ms = seen_ms - 1000");
    assert_non_null(find(&b, &v));
    int64_t seen_ms = session_find(b.s, str_from(v.value))->seen_ms;
    node_close(&b); /* writes what it has seen */
    node_open(&b, "local", the_time);
    assert_int_equal(session_find(b.s, str_from(v.value))->stored_seen_ms, seen_ms);
}

TEST_WITH(times_are_those_of_the_database, begin, end)
{
    struct session_values v;
    struct node slow;
    node_open(&slow, "local", slow_time);
    const struct login_session *x = log_in(&slow, &v), *y = find(&a, &v);
    assert_int_equal(x->created_ms, y->created_ms);
    assert_true(x->created_ms > clock_now_ms() - 5 * MINUTE);
    node_close(&slow);
}

TEST_WITH(another_way_to_log_in_has_its_own_sessions, begin, end)
{
    struct session_values v;
    struct node oidc;
    log_in(&a, &v);
    node_open(&oidc, "oidc", the_time);
    assert_null(find(&oidc, &v));
    sessions_restart(oidc.s, STR("local"));
    assert_non_null(find(&oidc, &v));
    node_close(&oidc);
}

TEST_WITH(many_logins_are_stored_together, begin, end)
{
    enum { N = 50 };
    struct session_values v[N];
    struct outcome o[N] = {0};
    struct session_wait w[N];
    for (int i = 0; i < N; i++) {
        w[i] = (struct session_wait){.fn = on_outcome, .ctx = &o[i]};
        session_await(a.s, session_begin(a.s, STR("usr_a"), &POLICY, STR_NONE, &v[i]), &w[i]);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(outcome_of(&o[i]), 0);
    assert_int_equal(read_news(&b), 0);
    for (int i = 0; i < N; i++)
        assert_non_null(session_find(b.s, str_from(v[i].value)));
    postgres_sql(server.url, "DO $$ BEGIN IF (SELECT count(DISTINCT generation) FROM nb_session) > "
                             "2 THEN RAISE 'too many transactions'; END IF; END $$");
}

TEST_WITH(old_rows_are_deleted, begin, end)
{
    struct session_values v, w;
    const struct login_session *x = log_in(&a, &v);
    log_in(&a, &w);
    session_end(a.s, x);
    assert_int_equal(synced(&a), 0);
    postgres_sql(server.url, "UPDATE nb_session SET ended_ms = 1 WHERE ended_ms > 0");
    a.s->keeper->sweep(a.s);
    assert_int_equal(synced(&a), 0);
    postgres_sql(server.url, "DO $$ BEGIN IF (SELECT count(*) FROM nb_session) <> 1 THEN RAISE "
                             "'left behind'; END IF; END $$");
    assert_non_null(find(&b, &w));
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("session_table", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
