/* Permanent permissions of two servers in one database. */
#include <errno.h>

#include "base/clock.h"
#include "store/postgres/pg_consent.h"
#include "support/postgres.h"

enum { PATIENCE_MS = 60000, ROWS_MAX = 16 };

struct node { /* one server with one open workspace */
    struct database *db;
    struct pg_consents *consents;
    struct consent_watch watch;
    char rows[ROWS_MAX][64]; /* "user tool" */
    size_t n;
    bool is_busy; /* cannot use rows */
    int refused;
};

static struct postgres server;
static struct loop *loop;
static struct node a, b;

static bool on_rows(void *ctx, const struct consent_row *rows, size_t n)
{
    struct node *x = ctx;
    x->refused += x->is_busy;
    if (x->is_busy)
        return false;
    assert_true(n <= ROWS_MAX);
    x->n = n;
    for (size_t i = 0; i < n; i++)
        (void)snprintf(x->rows[i], sizeof x->rows[i], "%.*s %.*s", STR_ARG(rows[i].user_id),
                       STR_ARG(rows[i].tool));
    return true;
}

static void node_open(struct node *x, const char *workspace)
{
    struct err e = {0};
    *x = (struct node){.db = database_new(loop, NULL, server.url)};
    assert_int_equal(database_open(x->db, false, &e), 0);
    x->consents = pg_consents_new(loop, NULL, x->db);
    x->watch =
        (struct consent_watch){.workspace_id = str_from(workspace), .on_rows = on_rows, .ctx = x};
    struct consent_table *t = pg_consents_table(x->consents);
    assert_int_equal(t->watch(t, &x->watch, &e), 0);
}

static void node_close(struct node *x)
{
    list_del(&x->watch.node);
    pg_consents_free(x->consents);
    database_free(x->db);
}

static int begin(void **state)
{
    postgres_sql(server.url, "TRUNCATE nb_consent");
    loop = loop_new(NULL);
    node_open(&a, "ws_team");
    node_open(&b, "ws_team");
    return 0;
}

static int end(void **state)
{
    node_close(&a);
    node_close(&b);
    loop_free(loop);
    return 0;
}

struct outcome {
    bool is_done;
    int code;
};

static void on_stored(void *ctx, const struct err *err)
{
    *(struct outcome *)ctx = (struct outcome){true, err->code};
}

static int edit(struct node *x, const struct consent_edit *edits, size_t n)
{
    struct outcome o = {0};
    struct consent_write w = {.workspace_id = x->watch.workspace_id,
                              .edits = edits,
                              .n = n,
                              .done = on_stored,
                              .ctx = &o};
    struct consent_table *t = pg_consents_table(x->consents);
    t->write(t, &w);
    assert_false(o.is_done);
    assert_true(loop_run_until(loop, &o.is_done, PATIENCE_MS));
    return o.code;
}

static int edit_one(struct node *x, const char *user, const char *tool, bool is_removal)
{
    const struct consent_edit one = {{str_from(user), str_from(tool)}, is_removal};
    return edit(x, &one, 1);
}

static void wait_for_rows(struct node *x, size_t n)
{
    bool never = false;
    for (uint64_t from = clock_mono_ms(); x->n != n && clock_mono_ms() - from < PATIENCE_MS;)
        (void)loop_run_until(loop, &never, 50);
    assert_int_equal(x->n, n);
}

TEST_WITH(what_one_server_allows_and_withdraws_the_other_learns, begin, end)
{
    assert_int_equal(a.n + b.n, 0);
    assert_int_equal(edit_one(&a, "usr_ann", "files__read", false), 0);
    wait_for_rows(&b, 1);
    assert_string_equal(b.rows[0], "usr_ann files__read");
    const struct consent_edit more[] = {{{STR(""), STR("x__all")}, false},
                                        {{STR("usr_ann"), STR("files__read")}, true},
                                        {{STR("usr_ann"), STR("never_there")}, true},
                                        {{STR("usr_bob"), STR("y")}, false}};
    assert_int_equal(edit(&b, more, ARRAY_LEN(more)), 0);
    wait_for_rows(&a, 2);
    assert_string_equal(a.rows[0], " x__all");
    assert_string_equal(a.rows[1], "usr_bob y");
    assert_int_equal(edit(&b, more, ARRAY_LEN(more)), 0); /* repeated: no harm */
    assert_int_equal(edit_one(&a, "usr_bob", "y", true), 0);
    wait_for_rows(&b, 1);
}

TEST_WITH(workspaces_are_apart, begin, end)
{
    struct node other;
    assert_int_equal(edit_one(&a, "usr_ann", "t", false), 0);
    node_open(&other, "ws_other");
    assert_int_equal(other.n, 0);
    assert_int_equal(edit_one(&other, "usr_eve", "t", false), 0);
    wait_for_rows(&other, 1);
    assert_string_equal(other.rows[0], "usr_eve t");
    wait_for_rows(&b, 1);
    assert_string_equal(b.rows[0], "usr_ann t");
    node_close(&other);
}

TEST_WITH(rows_that_cannot_be_used_come_again, begin, end)
{
    bool never = false;
    b.is_busy = true;
    assert_int_equal(edit_one(&a, "usr_ann", "t", false), 0);
    for (uint64_t from = clock_mono_ms(); b.refused == 0 && clock_mono_ms() - from < PATIENCE_MS;)
        (void)loop_run_until(loop, &never, 50);
    assert_true(b.refused > 0);
    b.is_busy = false;
    wait_for_rows(&b, 1);
}

TEST_WITH(without_the_database_a_change_fails_and_what_is_known_stays, begin, end)
{
    assert_int_equal(edit_one(&a, "usr_ann", "t", false), 0);
    wait_for_rows(&b, 1);
    postgres_order(&server, "stop");
    assert_int_equal(edit_one(&a, "usr_ann", "t", true), -EHOSTUNREACH);
    assert_int_equal(b.n, 1);
    postgres_order(&server, "start");
    while (edit_one(&a, "usr_ann", "t", true) == -EHOSTUNREACH)
        continue;
    wait_for_rows(&b, 0);
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("pg_consent", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
