/* Logins with an OpenID provider that are under way, of one server and of several. */
#include <errno.h>

#include "auth/oidc/flow.h"
#include "support/postgres.h"

static struct postgres server;
static struct loop *loop;
static struct database *db[2];
static struct arena arena;

static int begin(void **state)
{
    struct err e = {0};
    postgres_sql(server.url, "TRUNCATE nb_login");
    loop = loop_new(NULL);
    arena_init(&arena);
    for (int i = 0; i < 2; i++) {
        db[i] = database_new(loop, NULL, server.url);
        assert_int_equal(database_open(db[i], false, &e), 0);
    }
    return 0;
}

static int end(void **state)
{
    for (int i = 0; i < 2; i++)
        database_free(db[i]);
    arena_done(&arena);
    loop_free(loop);
    return 0;
}

static void assert_taken_once(struct login_flows *here, struct login_flows *there)
{
    struct err e = {0};
    str cookie;
    struct login_flow taken,
        made = flow_make(&arena, STR("https://nb.example/callback"), STR("/c/1?x=\"y\""), &cookie);
    assert_int_equal(flows_keep(here, &made, &e), 0);
    assert_int_equal(flows_take(there, &arena, STR("another"), &taken, &e), -ENOENT);
    assert_int_equal(flows_take(there, &arena, made.state, &taken, &e), 0);
    assert_true(str_eq(taken.nonce, made.nonce));
    assert_true(str_eq(taken.verifier, made.verifier));
    assert_true(str_eq(taken.redirect_uri, made.redirect_uri));
    assert_true(str_eq(taken.return_to, made.return_to));
    assert_memory_equal(taken.cookie_hash, made.cookie_hash, SHA256_LEN);
    for (int i = 0; i < 2; i++)
        assert_int_equal(flows_take(i ? here : there, &arena, made.state, &taken, &e), -ENOENT);
}

TEST_WITH(a_login_in_memory_is_taken_once, begin, end)
{
    struct login_flows *f = flows_new();
    assert_false(flows_block(f));
    assert_taken_once(f, f);
    flows_free(f);
}

TEST_WITH(a_login_that_one_server_began_ends_on_another_once, begin, end)
{
    struct login_flows *a = flows_new_shared(db[0]), *b = flows_new_shared(db[1]);
    struct err e = {0};
    str cookie;
    assert_true(flows_block(a));
    assert_taken_once(a, b);
    struct login_flow taken, made = flow_make(&arena, STR("x"), STR_NONE, &cookie);
    assert_int_equal(flows_keep(a, &made, &e), 0);
    postgres_sql(server.url, "UPDATE nb_login SET until = now() - interval '1 second'");
    assert_int_equal(flows_take(b, &arena, made.state, &taken, &e), -ENOENT);
    /* Neither the state nor the cookie can be read in the table. */
    made = flow_make(&arena, STR("x"), STR_NONE, &cookie);
    assert_int_equal(flows_keep(a, &made, &e), 0);
    postgres_sql(server.url, arena_printf(&arena,
                                          "DO $$ BEGIN IF EXISTS (SELECT 1 FROM nb_login WHERE"
                                          " position('%.*s' in state || document) > 0 OR"
                                          " position('%.*s' in state || document) > 0)"
                                          " THEN RAISE 'a secret is in the table'; END IF; END $$",
                                          STR_ARG(made.state), STR_ARG(cookie))
                                 .p);
    flows_free(a);
    flows_free(b);
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("flow", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
