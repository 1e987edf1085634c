/* Last uses of tokens: in a file, and in a table that servers share. */
#include <sys/stat.h>

#include "auth/session/token_use.h"
#include "base/clock.h"
#include "os/file.h"
#include "support/postgres.h"
#include "support/tempdir.h"
#include "support/unit.h"

struct uses { /* one server */
    struct loop *loop;
    struct database *db; /* NULL: a file */
    struct token_use *use;
};

static struct postgres server;
static struct tempdir dir;

static int begin(void **state)
{
    postgres_sql(server.url, "TRUNCATE nb_token_use");
    return tempdir_make(&dir);
}

static int end(void **state)
{
    return tempdir_drop(&dir);
}

static struct uses uses_open(bool is_shared)
{
    struct uses x = {.loop = loop_new(NULL)};
    struct err e = {0};
    if (is_shared) {
        x.db = database_new(x.loop, NULL, server.url);
        assert_int_equal(database_open(x.db, false, &e), 0);
    }
    x.use = token_use_new(x.loop, NULL, use_store_new(dir.path, x.db));
    token_use_open(x.use);
    return x;
}

static void uses_close(struct uses *x)
{
    token_use_free(x->use);
    database_free(x->db);
    loop_free(x->loop);
}

static void check_remembered(bool is_shared)
{
    struct uses x = uses_open(is_shared);
    assert_int_equal(token_use_ms(x.use, STR("tok_a")), 0);
    token_use_note(x.use, STR("tok_a"));
    token_use_note(x.use, STR("tok_b"));
    token_use_forget(x.use, STR("tok_b"));
    token_use_forget(x.use, STR("tok_c"));
    int64_t ms = token_use_ms(x.use, STR("tok_a"));
    assert_true(ms > clock_now_ms() - 60000);
    uses_close(&x);
    x = uses_open(is_shared);
    assert_int_equal(token_use_ms(x.use, STR("tok_a")), ms);
    assert_int_equal(token_use_ms(x.use, STR("tok_b")), 0);
    token_use_forget(x.use, STR("tok_a"));
    uses_close(&x);
    x = uses_open(is_shared);
    assert_int_equal(token_use_ms(x.use, STR("tok_a")), 0);
    uses_close(&x);
}

TEST_WITH(it_is_remembered_in_a_file, begin, end)
{
    check_remembered(false);
}

TEST_WITH(it_is_remembered_in_a_table, begin, end)
{
    check_remembered(true);
    char path[128];
    snprintf(path, sizeof path, "%s/auth", dir.path);
    assert_false(file_exists(path));
}

/* The format on disk, which earlier versions read too. */
TEST_WITH(the_file_is_an_object_of_times, begin, end)
{
    struct uses x = uses_open(false);
    struct arena a;
    struct stat st;
    char path[128], expected[128];
    str text;
    token_use_note(x.use, STR("tok_a"));
    token_use_note(x.use, STR("tok_b"));
    (void)snprintf(expected, sizeof expected, "{\"tok_a\":%lld,\"tok_b\":%lld}",
                   (long long)token_use_ms(x.use, STR("tok_a")),
                   (long long)token_use_ms(x.use, STR("tok_b")));
    uses_close(&x);
    snprintf(path, sizeof path, "%s/auth/token-use.json", dir.path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    arena_init(&a);
    assert_int_equal(file_read(&a, path, 4096, &text, NULL), 0);
    assert_true(str_eq(text, str_from(expected)));
    arena_done(&a);
}

TEST_WITH(nothing_is_written_for_nothing, begin, end)
{
    char path[128];
    struct uses x = uses_open(false);
    uses_close(&x);
    snprintf(path, sizeof path, "%s/auth", dir.path);
    assert_false(file_exists(path));
    token_use_free(NULL);
}

TEST_WITH(a_damaged_file_is_no_file, begin, end)
{
    char path[128];
    snprintf(path, sizeof path, "%s/auth", dir.path);
    assert_int_equal(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof path, "%s/auth/token-use.json", dir.path);
    assert_int_equal(file_write_atomic(path, STR("{\"tok_a\":\"x\",\"tok_b\":7}"), 0600, NULL), 0);
    struct uses x = uses_open(false);
    assert_int_equal(token_use_ms(x.use, STR("tok_a")), 0);
    assert_int_equal(token_use_ms(x.use, STR("tok_b")), 7);
    uses_close(&x);
    assert_int_equal(file_write_atomic(path, STR("["), 0600, NULL), 0);
    x = uses_open(false);
    assert_int_equal(token_use_ms(x.use, STR("tok_b")), 0);
    uses_close(&x);
}

/* ---- several servers ---- */

TEST_WITH(the_later_use_wins_whoever_writes_last, begin, end)
{
    struct uses a = uses_open(true), b = uses_open(true);
    token_use_note(a.use, STR("tok_a"));
    int64_t early = token_use_ms(a.use, STR("tok_a"));
    while (clock_now_ms() == early) {
    }
    token_use_note(b.use, STR("tok_a"));
    token_use_note(b.use, STR("tok_b"));
    int64_t late = token_use_ms(b.use, STR("tok_a"));
    assert_true(late > early);
    uses_close(&b);
    uses_close(&a); /* the earlier time is written last */
    a = uses_open(true);
    assert_int_equal(token_use_ms(a.use, STR("tok_a")), late);
    assert_int_equal(token_use_ms(a.use, STR("tok_b")), late);
    uses_close(&a);
}

TEST_WITH(a_revoked_token_is_forgotten_by_all, begin, end)
{
    struct uses a = uses_open(true), b = uses_open(true);
    token_use_note(a.use, STR("tok_a"));
    token_use_note(b.use, STR("tok_a"));
    /* The directory tells both; the second must not bring the row back. */
    token_use_forget(a.use, STR("tok_a"));
    token_use_forget(b.use, STR("tok_a"));
    uses_close(&a);
    uses_close(&b);
    postgres_sql(server.url, "DO $$ BEGIN IF EXISTS (SELECT 1 FROM nb_token_use) THEN RAISE 'left "
                             "behind'; END IF; END $$");
}

TEST_WITH(a_use_survives_an_outage, begin, end)
{
    struct uses a = uses_open(true);
    token_use_note(a.use, STR("tok_a"));
    int64_t ms = token_use_ms(a.use, STR("tok_a"));
    postgres_order(&server, "kill");
    postgres_order(&server, "start");
    uses_close(&a); /* its connection is dead: the write makes another one */
    a = uses_open(true);
    assert_int_equal(token_use_ms(a.use, STR("tok_a")), ms);
    /* Unreachable: memory still answers, and nothing waits for long. */
    postgres_order(&server, "stop");
    token_use_note(a.use, STR("tok_b"));
    assert_true(token_use_ms(a.use, STR("tok_b")) > 0);
    uses_close(&a);
    postgres_order(&server, "start");
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("token_use", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
