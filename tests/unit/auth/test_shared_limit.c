/* Attempts that several servers count together: two identity services over one database. */
#include "auth/session/shared_limit.h"
#include "support/identity.h"
#include "support/postgres.h"

#define LOCAL "{\"auth\":{\"adapter\":\"local\"}}"

static struct postgres server;
static struct database *db;
static struct auth *other; /* the second server; the first is `auth` */

static int begin(void **state)
{
    struct err e = {0};
    postgres_sql(server.url, "TRUNCATE nb_window");
    loop = loop_new(NULL);
    db = database_new(loop, NULL, server.url);
    assert_int_equal(database_open(db, false, &e), 0);
    return tempdir_make(&dir);
}

static int end(void **state)
{
    auth_free(other);
    other = NULL;
    if (auth)
        stop_identity();
    database_free(db);
    loop_free(loop);
    return tempdir_drop(&dir);
}

static void start_both(void)
{
    struct answer a = {0};
    put_instance(LOCAL);
    shared_database = db;
    start_identity(NULL);
    struct auth *first = auth;
    struct err e = {0};
    struct auth_deps deps = {.loop = loop,
                             .directory = directory,
                             .instance = &instance,
                             .work_dir = dir.path,
                             .shared = db,
                             .mono_ms = minute_without_end};
    assert_int_equal(auth_new(&deps, &other, &e), 0);
    assert_int_equal(auth_open_shared(first, &e), 0);
    assert_int_equal(auth_open_shared(other, &e), 0);
    assert_int_equal(change((struct change){.kind = CHANGE_USER_ADD,
                                            .user_id = STR("usr_ann"),
                                            .email = STR("ann@x.org"),
                                            .role = ORG_OWNER}),
                     0);
    auth_set_password(auth, STR("usr_ann"), STR_NONE, STR("correct horse"), on_change, &a);
    assert_int_equal(wait_for(&a), 0);
}

static int log_in(struct auth *at, const char *email, const char *password, const char *client)
{
    struct answer a = {0};
    struct auth_login in = {
        .email = str_from(email), .password = str_from(password), .client = str_from(client)};
    auth_login(at, &in, on_session, &a);
    return wait_for(&a);
}

/* Rows of a minute to come stay open, however slow the machine is. */
static void stop_the_minute(void)
{
    postgres_sql(server.url, "UPDATE nb_window SET minute = minute + 1000");
}

static void expect_sql(const char *condition)
{
    char sql[512];
    (void)snprintf(sql, sizeof sql, "DO $$ BEGIN IF NOT (%s) THEN RAISE 'not true'; END IF; END $$",
                   condition);
    postgres_sql(server.url, sql);
}

TEST_WITH(attempts_are_counted_and_given_back, begin, end)
{
    struct err e = {0};
    unsigned n;
    assert_int_equal(shared_limit_count(db, STR("to ann@x.org"), &n, &e), 0);
    assert_int_equal(n, 1);
    stop_the_minute();
    for (unsigned i = 2; i <= 5; i++) {
        assert_int_equal(shared_limit_count(db, STR("to ann@x.org"), &n, &e), 0);
        assert_int_equal(n, i);
    }
    shared_limit_give_back(db, STR("to ann@x.org"));
    shared_limit_give_back(db, STR("to nobody"));
    assert_int_equal(shared_limit_count(db, STR("to ann@x.org"), &n, &e), 0);
    assert_int_equal(n, 5);
    assert_int_equal(shared_limit_count(db, STR("to bob@x.org"), &n, &e), 0);
    assert_int_equal(n, 1);
    /* Nobody can read from the table who tried to log in. */
    expect_sql("(SELECT count(*) FROM nb_window WHERE key ~ '^[0-9a-f]{64}$') = 2 AND"
               " (SELECT count(*) FROM nb_window) = 2");
}

TEST_WITH(a_new_minute_begins_at_one_and_old_ones_are_deleted, begin, end)
{
    struct err e = {0};
    unsigned n;
    for (int i = 0; i < 3; i++)
        assert_int_equal(shared_limit_count(db, STR("a"), &n, &e), 0);
    assert_int_equal(shared_limit_count(db, STR("b"), &n, &e), 0);
    postgres_sql(server.url, "UPDATE nb_window SET minute = minute - 10");
    assert_int_equal(shared_limit_count(db, STR("a"), &n, &e), 0);
    assert_int_equal(n, 1);
    expect_sql("(SELECT count(*) FROM nb_window) = 1");
}

TEST(without_a_database_nothing_is_counted)
{
    struct err e = {0};
    unsigned n = 7;
    assert_int_equal(shared_limit_count(NULL, STR("a"), &n, &e), 0);
    assert_int_equal(n, 0);
    shared_limit_give_back(NULL, STR("a"));
}

TEST_WITH(two_servers_allow_as_many_guesses_as_one, begin, end)
{
    start_both();
    assert_int_equal(log_in(auth, "ann@x.org", "x", "192.0.2.1"), -EACCES);
    stop_the_minute();
    int tried = 1;
    while (tried < 50 && log_in(tried % 2 ? other : auth, "ann@x.org", "x", "192.0.2.1") == -EACCES)
        tried++;
    assert_int_equal(tried, 10);
    /* From another address the account is closed on both, and an account that nobody tried is not.
     */
    assert_int_equal(log_in(other, "ann@x.org", "correct horse", "192.0.2.2"), -EBUSY);
    assert_int_equal(log_in(auth, "ANN@x.org", "correct horse", "192.0.2.3"), -EBUSY);
    assert_int_equal(log_in(auth, "bob@x.org", "x", "192.0.2.4"), -EACCES);
}

TEST_WITH(a_client_that_is_refused_closes_no_account, begin, end)
{
    struct err e = {0};
    unsigned n;
    start_both();
    assert_int_equal(shared_limit_count(db, STR("from 192.0.2.1"), &n, &e), 0);
    stop_the_minute();
    while (n < 10) /* by a third server */
        assert_int_equal(shared_limit_count(db, STR("from 192.0.2.1"), &n, &e), 0);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(log_in(auth, "ann@x.org", "x", "192.0.2.1"), -EBUSY);
        assert_int_equal(log_in(other, "ann@x.org", "x", "192.0.2.1"), -EBUSY);
    }
    assert_int_equal(shared_limit_count(db, STR("to ann@x.org"), &n, &e), 0);
    assert_int_equal(n, 1);
    assert_int_equal(log_in(other, "ann@x.org", "correct horse", "192.0.2.2"), 0);
}

TEST_WITH(correct_passwords_are_not_limited, begin, end)
{
    start_both();
    assert_int_equal(log_in(auth, "ann@x.org", "correct horse", "192.0.2.1"), 0);
    stop_the_minute();
    for (int i = 0; i < 12; i++)
        assert_int_equal(log_in(i % 2 ? auth : other, "ann@x.org", "correct horse", "192.0.2.1"),
                         0);
    expect_sql("NOT EXISTS (SELECT 1 FROM nb_window WHERE attempts > 1)");
}

/* The current password is asked for: it must not be guessed faster on two servers. */
TEST_WITH(changes_of_a_password_are_counted_together, begin, end)
{
    struct err e = {0};
    unsigned n;
    start_both();
    assert_int_equal(shared_limit_count(db, STR("change usr_ann"), &n, &e), 0);
    stop_the_minute();
    while (n < 9)
        assert_int_equal(shared_limit_count(db, STR("change usr_ann"), &n, &e), 0);
    struct answer a = {0}, b = {0};
    auth_set_password(auth, STR("usr_ann"), STR("wrong"), STR("new password"), on_change, &a);
    assert_int_equal(wait_for(&a), -EACCES);
    auth_set_password(other, STR("usr_ann"), STR("correct horse"), STR("new password"), on_change,
                      &b);
    assert_int_equal(wait_for(&b), -EBUSY);
}

TEST_WITH(without_its_database_a_server_counts_alone, begin, end)
{
    start_both();
    postgres_order(&server, "stop");
    int tried = 0;
    while (tried < 50 && log_in(auth, "ann@x.org", "x", "192.0.2.1") == -EACCES)
        tried++;
    assert_int_equal(tried, 10);
    assert_int_equal(log_in(other, "ann@x.org", "correct horse", "192.0.2.1"), 0);
    postgres_order(&server, "start");
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("shared_limit", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
