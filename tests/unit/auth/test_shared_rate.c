/* Requests of a minute, counted by two servers. */
#include "auth/session/shared_rate.h"
#include "base/clock.h"
#include "support/postgres.h"

enum { PATIENCE_MS = 60000, WINDOW = 7 };

struct node {
    struct database *db;
    struct shared_rate *rate;
};

static struct postgres server;
static struct loop *loop;
static struct node a, b;

static void node_open(struct node *n)
{
    struct err e = {0};
    n->db = database_new(loop, NULL, server.url);
    assert_int_equal(database_open(n->db, false, &e), 0);
    n->rate = shared_rate_new(loop, n->db);
}

static void node_close(struct node *n)
{
    shared_rate_free(n->rate);
    database_free(n->db);
}

static int begin(void **state)
{
    postgres_sql(server.url, "TRUNCATE nb_window");
    loop = loop_new(NULL);
    node_open(&a);
    node_open(&b);
    return 0;
}

static int end(void **state)
{
    node_close(&a);
    node_close(&b);
    loop_free(loop);
    return 0;
}

static void add(struct node *n, const char *key, int count)
{
    for (int i = 0; i < count; i++)
        shared_rate_add(n->rate, str_from(key), WINDOW);
}

static void wait_for_others(struct node *n, const char *key, unsigned want)
{
    bool never = false;
    for (uint64_t from = clock_mono_ms(); clock_mono_ms() - from < PATIENCE_MS;) {
        if (shared_rate_others(n->rate, str_from(key), WINDOW) == want)
            return;
        (void)loop_run_until(loop, &never, 50);
    }
    fail_msg("%u, not %u", shared_rate_others(n->rate, str_from(key), WINDOW), want);
}

static int count_rows(struct pg_conn *c, void *ctx, struct err *e)
{
    struct pg_query q = {.sql = "SELECT count(*) FROM nb_window"};
    int r = pg_conn_run(c, &q, 1, e);
    *(int64_t *)ctx = r == 0 ? pg_get_int(c, &q, 0, 0) : 0;
    pg_clear(c, &q, 1);
    return r;
}

/* A minute to come does not end. */
static void wait_for_row_and_stop_the_minute(void)
{
    bool never = false;
    int64_t n = 0;
    for (uint64_t from = clock_mono_ms(); n == 0 && clock_mono_ms() - from < PATIENCE_MS;) {
        (void)loop_run_until(loop, &never, 50);
        assert_int_equal(database_read(b.db, count_rows, &n, NULL), 0);
    }
    postgres_sql(server.url, "UPDATE nb_window SET minute = minute + 1000");
}

TEST_WITH(servers_learn_what_others_have_counted, begin, end)
{
    add(&a, "rate 0 usr_ann", 5);
    assert_int_equal(shared_rate_others(a.rate, STR("rate 0 usr_ann"), WINDOW), 0);
    wait_for_row_and_stop_the_minute();
    add(&b, "rate 0 usr_ann", 3);
    add(&b, "rate 1 usr_ann", 1);
    wait_for_others(&b, "rate 0 usr_ann", 5);
    assert_int_equal(shared_rate_others(b.rate, STR("rate 1 usr_ann"), WINDOW), 0);
    add(&a, "rate 0 usr_ann", 2);
    wait_for_others(&a, "rate 0 usr_ann", 3);
    add(&b, "rate 0 usr_ann", 1);
    wait_for_others(&b, "rate 0 usr_ann", 7);
    /* A new minute begins at zero. */
    assert_int_equal(shared_rate_others(b.rate, STR("rate 0 usr_ann"), WINDOW + 1), 0);
    shared_rate_add(b.rate, STR("rate 0 usr_ann"), WINDOW + 1);
    assert_int_equal(shared_rate_others(b.rate, STR("rate 0 usr_ann"), WINDOW + 1), 0);
    postgres_sql(server.url, "DO $$ BEGIN IF EXISTS (SELECT 1 FROM nb_window WHERE key !~ "
                             "'^[0-9a-f]{64}$') THEN RAISE 'not a hash'; END IF; END $$");
}

TEST_WITH(without_the_database_a_server_counts_alone, begin, end)
{
    postgres_order(&server, "stop");
    add(&a, "rate 0 usr_ann", 5);
    bool never = false;
    uint64_t failures = a.db->nfailures;
    while (a.db->nfailures == failures) /* it has tried */
        (void)loop_run_until(loop, &never, 50);
    assert_int_equal(shared_rate_others(a.rate, STR("rate 0 usr_ann"), WINDOW), 0);
    postgres_order(&server, "start");
    add(&a, "rate 0 usr_ann", 1);
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("shared_rate", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
