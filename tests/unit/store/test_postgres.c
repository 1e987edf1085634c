/* The postgres store: fences, lost answers, a server that goes away, who may write. What all stores
 * promise is in test_suite.c. */
#include <errno.h>

#include "rig.h"
#include "store/database/pg_error.h"
#include "support/pg_proxy.h"
#include "support/postgres.h"

#define ID         "conv_0123456789abcdef"
#define OTHER      "conv_fedcba9876543210"
#define NOTE(text) "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"x\",\"text\":\"" text "\"}"

static struct postgres server;

static int setup(void **state)
{
    struct rig *r = xcalloc(1, sizeof *r);
    postgres_clear(server.url);
    rig_database_url = server.url;
    rig_init(r, "postgres", NULL);
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

static void expect_lines(struct rig *r, const char *id, const char *const *texts, size_t n)
{
    assert_int_equal(rig_read(r, id, &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r->page.events[i].pos, i + 1);
        assert_true(str_find(r->page.events[i].line, str_from(texts[i]), 0) > 0);
    }
}

/* ---- the fence ---- */

TEST_WITH(lines_are_stored_byte_for_byte, setup, teardown)
{
    struct rig *r = *state;
    static const char LINE[] =
        "{\"ts\":\"t\",\"type\":\"x\",\"a\":\"\\u0000 \\\" ' \\\\ {,} \xf0\x9f\x98\x80\","
        "\"n\":1e400,\"n\":0.10}";
    assert_int_equal(rig_append(r, ID, LINE), 0);
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    assert_str(r->page.events[0].line, LINE);
}

/* Another process appends a line, as it would without the lock. */
static void write_from_elsewhere(const char *line)
{
    char sql[512];
    (void)snprintf(
        sql, sizeof sql,
        "WITH c AS (UPDATE nb_conversation SET last = last + 1 WHERE id = '" ID
        "' AND deleted_ms = 0 RETURNING key, last) INSERT INTO nb_event SELECT key, last, "
        "'%s' FROM c",
        line);
    postgres_sql(server.url, sql);
}

TEST_WITH(who_does_not_know_the_end_loses_the_fence, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_append(r, ID, NOTE("mine")), 0);
    write_from_elsewhere(NOTE("theirs"));
    assert_int_equal(rig_append(r, ID, NOTE("stale")), -EBUSY);
    const char *const two[] = {"mine", "theirs"};
    expect_lines(r, ID, two, 2);
    assert_int_equal(rig_append(r, ID, NOTE("again")), 0);
    const char *const three[] = {"mine", "theirs", "again"};
    expect_lines(r, ID, three, 3);
}

/* The same bytes from elsewhere are not ours. */
TEST_WITH(a_line_that_looks_like_ours_is_not_ours, setup, teardown)
{
    struct rig *r = *state;
    struct conv_create spec = {.id = STR(OTHER), .owner_id = STR("usr_a"), .created_ms = 1000};
    assert_int_equal(rig_append(r, ID, NOTE("one")), 0);
    write_from_elsewhere(NOTE("same"));
    assert_int_equal(rig_append(r, ID, NOTE("same")), -EBUSY);
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), 0);
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), -EEXIST);
}

struct counted {
    size_t good, busy, bad, want;
    bool is_done;
};

static void on_counted(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct counted *k = ctx;
    k->good += !err;
    k->busy += err && err->code == -EBUSY;
    k->bad += err && err->code != -EBUSY;
    k->is_done = k->good + k->busy + k->bad == k->want;
}

static void append_many(struct rig *r, size_t convs, size_t each, struct counted *k)
{
    char id[32];
    str line = STR(NOTE("x"));
    *k = (struct counted){.want = convs * each};
    for (size_t e = 0; e < each; e++)
        for (size_t i = 0; i < convs; i++) {
            (void)snprintf(id, sizeof id, "conv_%zu", i);
            store_append(r->store, str_from(id), &line, 1, on_counted, k);
        }
    assert_true(loop_run_until(r->loop, &k->is_done, RIG_WAIT_MS));
}

static void create_many(struct rig *r, size_t convs)
{
    char id[32];
    for (size_t i = 0; i < convs; i++) {
        (void)snprintf(id, sizeof id, "conv_%zu", i);
        assert_int_equal(rig_create(r, id, "usr_a"), 0);
    }
}

TEST_WITH(many_conversations_share_a_transaction, setup, teardown)
{
    struct rig *r = *state;
    struct counted k;
    create_many(r, 50);
    uint64_t before = atomic_load(&r->database->nbatches);
    append_many(r, 50, 20, &k);
    assert_int_equal(k.good, 1000);
    /* the first one goes alone, the rest in as few as their limit allows */
    assert_true(atomic_load(&r->database->nbatches) - before <= 1 + 1000 / 50);
    assert_int_equal(rig_get(r, "conv_7"), 0);
    assert_int_equal(r->conv->end, 20);
}

TEST_WITH(one_lost_fence_does_not_stop_the_others, setup, teardown)
{
    struct rig *r = *state;
    struct counted k;
    create_many(r, 3);
    append_many(r, 3, 1, &k);
    postgres_sql(server.url, "UPDATE nb_conversation SET last = last + 1 WHERE id = 'conv_1'");
    append_many(r, 3, 1, &k);
    assert_int_equal(k.good, 2);
    assert_int_equal(k.busy, 1);
}

TEST_WITH(one_failing_conversation_does_not_stop_the_others, setup, teardown)
{
    struct rig *r = *state;
    struct counted k;
    create_many(r, 3);
    append_many(r, 3, 1, &k); /* a call is under way, so the next ones share a transaction */
    postgres_sql(
        server.url,
        "ALTER TABLE nb_conversation ADD CONSTRAINT odd CHECK (id <> 'conv_1' OR last < 2)");
    append_many(r, 3, 1, &k);
    postgres_sql(server.url, "ALTER TABLE nb_conversation DROP CONSTRAINT odd");
    assert_int_equal(k.good, 2);
    assert_int_equal(k.bad, 1);
    append_many(r, 3, 1, &k);
    assert_int_equal(k.good, 3);
}

/* ---- lost answers ---- */

struct proxied {
    struct rig rig;
    struct pg_proxy proxy;
    char url[128];
};

static int proxied_setup(void **state)
{
    struct proxied *p = xcalloc(1, sizeof *p);
    postgres_clear(server.url);
    pg_proxy_start(&p->proxy, strchr(strstr(server.url, "host="), '=') + 1, p->url, sizeof p->url);
    rig_database_url = p->url;
    rig_init(&p->rig, "postgres", NULL);
    assert_int_equal(rig_create(&p->rig, ID, "usr_a"), 0);
    *state = p;
    return 0;
}

static int proxied_teardown(void **state)
{
    struct proxied *p = *state;
    rig_done(&p->rig);
    pg_proxy_stop(&p->proxy);
    free(p);
    return 0;
}

TEST_WITH(a_lost_answer_is_resolved_by_reading_the_log, proxied_setup, proxied_teardown)
{
    struct proxied *p = *state;
    struct rig *r = &p->rig;
    assert_int_equal(rig_append(r, ID, NOTE("one")), 0);
    for (int i = 0; i < 5; i++) {
        pg_proxy_lose_answer(&p->proxy);
        assert_int_equal(rig_append(r, ID, i % 2 ? NOTE("odd") : NOTE("even")), 0);
        assert_int_equal(r->pos[0], i + 2);
    }
    assert_int_equal(atomic_load(&p->proxy.lost), 5);
    const char *const all[] = {"one", "even", "odd", "even", "odd", "even"};
    expect_lines(r, ID, all, 6);
}

TEST_WITH(a_new_conversation_with_a_lost_answer_exists_once, proxied_setup, proxied_teardown)
{
    struct proxied *p = *state;
    struct rig *r = &p->rig;
    pg_proxy_lose_answer(&p->proxy);
    assert_int_equal(rig_create(r, OTHER, "usr_b"), 0);
    assert_int_equal(atomic_load(&p->proxy.lost), 1);
    assert_int_equal(rig_create(r, OTHER, "usr_c"), -EEXIST);
    assert_int_equal(rig_append(r, OTHER, NOTE("more")), 0);
    assert_int_equal(rig_get(r, OTHER), 0);
    assert_str(r->conv->acl.owner_id, "usr_b");
}

/* A lost answer anywhere in these calls: each takes effect once. */
TEST_WITH(changes_with_lost_answers_take_effect_once, proxied_setup, proxied_teardown)
{
    struct proxied *p = *state;
    struct rig *r = &p->rig;
    assert_int_equal(rig_append(r, ID, NOTE("one")), 0);
    for (int i = 0; i < 3; i++) {
        pg_proxy_lose_answer(&p->proxy);
        assert_int_equal(rig_fork(r, ID, -1, "usr_b"), 0);
    }
    atomic_store(&p->proxy.lose, 0);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.total, 4);
    pg_proxy_lose_answer(&p->proxy);
    assert_int_equal(rig_delete(r, ID, false), 0);
    pg_proxy_lose_answer(&p->proxy);
    assert_int_equal(rig_restore(r, ID), 0);
    pg_proxy_lose_answer(&p->proxy);
    assert_int_equal(rig_delete(r, ID, true), 0);
    atomic_store(&p->proxy.lose, 0);
    assert_int_equal(rig_get(r, ID), -ENOENT);
    assert_int_equal(rig_restore(r, ID), -ENOENT);
}

/* ---- the server goes away ---- */

TEST_WITH(a_restart_of_the_server_loses_nothing, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_append(r, ID, NOTE("before")), 0);
    postgres_order(&server, "kill");
    postgres_order(&server, "start");
    assert_int_equal(rig_get(r, ID), 0); /* over a connection that died */
    assert_int_equal(rig_append(r, ID, NOTE("after")), 0);
    const char *const both[] = {"before", "after"};
    expect_lines(r, ID, both, 2);
}

TEST_WITH(without_a_server_calls_fail_and_health_knows, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_append(r, ID, NOTE("one")), 0);
    assert_false(store_is_unreachable(r->store));
    postgres_order(&server, "stop");
    assert_int_equal(rig_get(r, ID), -EHOSTUNREACH);
    assert_true(store_is_failing(r->store) && store_is_unreachable(r->store));
    uint64_t start = clock_mono_ms();
    for (int i = 0; i < 200; i++) /* not one attempt to connect for each */
        assert_int_equal(rig_get(r, ID), -EHOSTUNREACH);
    assert_true(atomic_load(&r->database->nfailures) < 60);
    assert_true(clock_mono_ms() - start < RIG_WAIT_MS);
    /* a write waits for the server */
    struct counted k = {.want = 1};
    str line = STR(NOTE("two"));
    store_append(r->store, STR(ID), &line, 1, on_counted, &k);
    postgres_order(&server, "start");
    assert_true(loop_run_until(r->loop, &k.is_done, RIG_WAIT_MS));
    assert_int_equal(k.good, 1);
    while (rig_get(r, ID) == -EHOSTUNREACH)
        ;
    assert_false(store_is_failing(r->store));
    const char *const both[] = {"one", "two"};
    expect_lines(r, ID, both, 2);
}

/* ---- who may write ---- */

TEST_WITH(a_second_writer_is_refused, setup, teardown)
{
    struct rig *r = *state;
    struct database *second = database_new(r->loop, NULL, server.url);
    struct err e = {0};
    assert_int_equal(database_open(second, true, &e), -EHOSTUNREACH);
    assert_non_null(strstr(e.msg, "another nb process already writes to this database"));
    assert_non_null(strstr(e.msg, r->database->application));
    assert_int_equal(database_open(second, false, &e), 0); /* reading is no harm */
    database_free(second);
    rig_close_store(r);
    database_free(r->database);
    r->env.database = r->database = NULL;
    second = database_new(r->loop, NULL, server.url);
    assert_int_equal(database_open(second, true, &e), 0);
    database_free(second);
    r->env.database = r->database = database_new(r->loop, r->log, server.url);
}

TEST_WITH(replicas_write_together_and_never_with_a_server_that_is_alone, setup, teardown)
{
    struct rig *r = *state;
    struct database *db[3];
    struct err e = {0};
    for (int i = 0; i < 3; i++)
        db[i] = database_new(r->loop, NULL, server.url);
    database_share(db[0]);
    database_share(db[1]);
    assert_int_equal(database_open(db[0], true, &e), -EHOSTUNREACH);
    assert_non_null(strstr(e.msg, "its store.replicas is false"));
    rig_close_store(r);
    database_free(r->database);
    r->env.database = r->database = NULL;
    assert_int_equal(database_open(db[0], true, &e), 0);
    assert_int_equal(database_open(db[1], true, &e), 0);
    assert_int_equal(database_open(db[2], true, &e), -EHOSTUNREACH);
    assert_non_null(strstr(e.msg, "One database serves one nb server"));
    for (int i = 0; i < 3; i++)
        database_free(db[i]);
    r->env.database = r->database = database_new(r->loop, r->log, server.url);
}

TEST_WITH(a_session_that_the_server_has_not_given_up_does_not_lock_its_own_process_out, setup,
          teardown)
{
    struct rig *r = *state;
    struct pg_conn *old = r->database->writer; /* stays open, as after a cut network */
    r->database->writer = NULL;
    assert_int_equal(rig_append(r, ID, NOTE("mine")), 0);
    pg_conn_close(old);
}

TEST_WITH(tables_of_an_earlier_version_get_what_is_missing, setup, teardown)
{
    struct rig *r = *state;
    struct err e = {0};
    int applied = 0;
    struct pg_conn *c = NULL;
    postgres_sql(server.url,
                 "DO $$ DECLARE t text; BEGIN"
                 " FOR t IN SELECT table_name FROM information_schema.tables WHERE table_schema = "
                 "current_schema() AND table_name NOT IN ('nb_schema', 'nb_conversation', "
                 "'nb_event', 'nb_text', 'nb_blob', 'nb_blob_use', 'nb_deleted_usage')"
                 " LOOP EXECUTE format('DROP TABLE %I CASCADE', t); END LOOP; END $$");
    postgres_sql(server.url, "DROP SEQUENCE nb_epoch");
    postgres_sql(server.url, "DELETE FROM nb_schema WHERE version > 1");
    assert_int_equal(database_connect(r->database, &c, &e), 0);
    assert_int_equal(pg_schema_check(c, &e), -ENODATA);
    assert_non_null(strstr(e.msg, "have schema 1;"));
    assert_non_null(strstr(e.msg, "nb store init"));
    assert_int_equal(pg_schema_migrate(c, &applied, &e), 0);
    assert_true(applied > 1);
    assert_int_equal(pg_schema_check(c, &e), 0);
    assert_int_equal(pg_schema_migrate(c, &applied, &e), 0);
    assert_int_equal(applied, 0);
    postgres_sql(server.url, "SELECT token, used_ms FROM nb_token_use");
    /* One in the middle: two branches of nb may have added their tables in another order. */
    postgres_sql(server.url, "DROP TABLE nb_token_use");
    postgres_sql(server.url, "DELETE FROM nb_schema WHERE version = 2");
    assert_int_equal(pg_schema_check(c, &e), -ENODATA);
    assert_int_equal(pg_schema_migrate(c, &applied, &e), 0);
    assert_int_equal(applied, 1);
    assert_int_equal(pg_schema_check(c, &e), 0);
    pg_conn_close(c);
    postgres_sql(server.url, "SELECT token, used_ms FROM nb_token_use");
}

TEST_WITH(a_newer_schema_is_refused_and_an_addition_is_not, setup, teardown)
{
    struct rig *r = *state;
    struct database *db = database_new(r->loop, NULL, server.url);
    struct err e = {0};
    postgres_sql(server.url, "INSERT INTO nb_schema VALUES (99, 99, now(), 'nb 9.9')");
    assert_int_equal(database_open(db, false, &e), -EPROTO);
    assert_non_null(strstr(e.msg, "newer nb (schema 99)"));
    postgres_sql(server.url, "UPDATE nb_schema SET needs = 1 WHERE version = 99");
    database_free(db);
    db = database_new(r->loop, NULL, server.url);
    assert_int_equal(database_open(db, false, &e), 0);
    postgres_sql(server.url, "DELETE FROM nb_schema WHERE version = 99");
    database_free(db);
}

TEST(tables_that_are_missing_are_named)
{
    struct database *db;
    struct err e = {0};
    char url[320];
    postgres_sql(server.url, "CREATE DATABASE empty");
    (void)snprintf(url, sizeof url, "postgresql://nb@/empty?%s", strchr(server.url, '?') + 1);
    db = database_new(NULL, NULL, url);
    assert_int_equal(database_open(db, true, &e), -ENODATA);
    assert_non_null(strstr(e.msg, "nb store init"));
    database_free(db);
}

/* ---- secrets ---- */

TEST(errors_show_no_part_of_a_password)
{
    static const char *const URLS[] = {
        "postgresql://nb:hunter2secret@/no such database?host=/nowhere",
        "host=/nowhere password=hunter2secret",
        "host=/nowhere password='hunter2 secret'",
        "postgresql://nb:hunter2%zzsecret@/db",
        "postgresql://nb@/db?password=hunter2secret&host=/nowhere&nonsense=1",
        "nonsense hunter2secret",
    };
    for (size_t i = 0; i < ARRAY_LEN(URLS); i++) {
        struct database *db = database_new(NULL, NULL, URLS[i]);
        struct err e = {0};
        assert_true(database_open(db, true, &e) < 0);
        if (strstr(e.msg, "hunter2") || strstr(e.msg, "secret"))
            fail_msg("%s: %s", URLS[i], e.msg);
        assert_true(strlen(e.msg) > 20);
        database_free(db);
    }
}

/* libpq takes everything behind the first @ as the host, and names the host in its message. */
TEST(a_password_that_was_not_escaped_is_not_shown_in_pieces)
{
    static const struct {
        const char *url, *message, *shown;
    } CASES[] = {
        {"postgresql://nb:hunter2@secret@host/db",
         "could not translate host name \"secret@host\" to address: unknown\n\tsecond line",
         "could not translate host name \"***@host\" to address: unknown"},
        {"postgresql://nb:hunter2/secret@host/db", "invalid port number: \"hunter2\"",
         "invalid port number: \"***\""},
        {"postgresql://nb:hunter2/secret@host/db", "database \"secret@host/db\" does not exist",
         "database \"***@host/db\" does not exist"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct pg_secrets secrets;
        pg_secrets_of(&secrets, str_from(CASES[i].url));
        assert_str(pg_error_text(&a, &secrets, CASES[i].message), CASES[i].shown);
    }
    arena_done(&a);
}

TEST(errors_of_the_server_become_errors_of_the_store)
{
    static const struct {
        const char *state;
        int code;
    } CASES[] = {
        {"08006", -EHOSTUNREACH}, {"57P01", -EHOSTUNREACH},
        {"57P03", -EHOSTUNREACH}, {"25006", -EHOSTUNREACH},
        {"57014", -EHOSTUNREACH}, {"53300", -EHOSTUNREACH},
        {"53100", -ENOSPC},       {"40001", -EAGAIN},
        {"40P01", -EAGAIN},       {"42501", -EACCES},
        {"42P01", -ENODATA},      {"23505", -EEXIST},
        {"XX000", -EIO},          {"", -EIO},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_int_equal(pg_error_code(CASES[i].state), CASES[i].code);
    assert_int_equal(pg_error_code(NULL), -EIO);
}

/* ---- search ---- */

TEST_WITH(forks_are_found_and_purged_texts_are_not, setup, teardown)
{
    struct rig *r = *state;
    static const char LINE[] = "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"user.message\","
                               "\"content\":\"a kingfisher's \\\\ nest\"}";
    assert_int_equal(rig_append(r, ID, LINE), 0);
    assert_int_equal(rig_fork(r, ID, -1, "usr_b"), 0);
    assert_int_equal(rig_search(r, "kingfish*", NULL), 0);
    assert_int_equal(r->hits.n, 2);
    assert_int_equal(rig_search(r, "kingfisher's", NULL), 0);
    assert_int_equal(r->hits.n, 2);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_search(r, "kingfisher", NULL), 0);
    assert_int_equal(r->hits.n, 1);
    assert_int_equal(rig_delete(r, ID, true), 0);
    postgres_sql(server.url, "DO $$ BEGIN IF (SELECT count(*) FROM nb_text) <> 1 THEN RAISE 'left "
                             "behind'; END IF; END $$");
}

/* A text with more words than an index entry may have is found by reading it. */
TEST_WITH(a_text_with_very_many_words_is_found, setup, teardown)
{
    struct rig *r = *state;
    struct buf b;
    buf_init(&b, 4u << 20);
    buf_add_lit(&b, "{\"type\":\"user.message\",\"content\":\"");
    for (int i = 0; i < 120000; i++)
        buf_printf(&b, "w%d ", i);
    buf_add_lit(&b, "needle \"}");
    assert_int_equal(rig_append(r, ID, buf_cstr(&b)), 0);
    buf_done(&b);
    assert_int_equal(rig_search(r, "needle", NULL), 0);
    assert_int_equal(r->hits.n, 1);
    assert_int_equal(rig_search(r, "w77777", NULL), 0);
    assert_int_equal(r->hits.n, 1);
    assert_int_equal(rig_search(r, "w120001", NULL), 0);
    assert_int_equal(r->hits.n, 0);
}

/* So many conversations of a workspace, each with a newer text that has the word. */
#define MANY(workspace, n)                                                                         \
    "DO $$ BEGIN INSERT INTO nb_conversation (workspace, id, last, created_at, updated_at, "       \
    "owner_id, "                                                                                   \
    "is_shared, is_sealed, is_hidden, participants, title, preview, summary) SELECT '" workspace   \
    "', 'conv_many' || i, 1, at, at, 'usr_b', false, false, false, ARRAY['usr_b'], '', '', "       \
    "'{\"updatedAt\":\"' || at || '\",\"workspaceId\":\"" workspace                                \
    "\",\"createdAt\":\"' || at || '\",\"ownerId\":\"usr_b\",\"participants\":[\"usr_b\"]}' FROM " \
    "(SELECT i, '2026-02-01T00:00:00.000Z'::text AS at FROM generate_series(1, " n ") i) m;"       \
    "INSERT INTO nb_event SELECT key, 1, '{\"ts\":\"2026-02-01T00:00:00.000Z\",\"type\":"          \
    "\"user.message\",\"content\":\"kingfisher\"}' FROM nb_conversation WHERE id ~ 'many';"        \
    "INSERT INTO nb_text SELECT key, 1, 1770000000000, array_to_tsvector('{user,kingfisher}') "    \
    "FROM nb_conversation WHERE id ~ 'many'; END $$"

TEST_WITH(texts_of_another_workspace_hide_none_of_this_one, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_append(r, ID,
                                "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"user.message\","
                                "\"content\":\"a kingfisher\"}"),
                     0);
    postgres_sql(server.url, MANY("ws_elsewhere", "500"));
    assert_int_equal(rig_search(r, "kingfisher", NULL), 0);
    assert_int_equal(r->hits.n, 1);
    assert_int_equal(r->hits.total, 1);
    assert_str(r->hits.hits[0].conv_id, ID);
}

TEST_WITH(the_total_of_a_long_list_is_counted_behind_its_first_answer, setup, teardown)
{
    struct rig *r = *state;
    uint64_t end = clock_mono_ms() + RIG_WAIT_MS;
    postgres_sql(server.url, MANY("ws_test", "2500"));
    assert_int_equal(rig_list(r, &(struct store_query){.limit = 3}), 0);
    assert_int_equal(r->listing.n, 3);
    assert_int_equal(r->listing.total, 1001);
    while (r->listing.total != 2501 && clock_mono_ms() < end)
        assert_int_equal(rig_list(r, &(struct store_query){.limit = 3}), 0);
    assert_int_equal(r->listing.total, 2501);
    assert_int_equal(rig_list(r, &(struct store_query){.limit = 3}), 0);
    assert_int_equal(r->listing.total, 2501); /* kept */
    assert_int_equal(r->listing.n, 3);
}

/* ---- trash ---- */

TEST_WITH(the_trash_is_emptied_after_its_time, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_append(r, ID, NOTE("old")), 0);
    assert_int_equal(RIG_CALL(r, store_put_blob(r->store, STR(ID), STR("abc"), rig_on_blob, r)), 0);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_create(r, OTHER, "usr_a"), 0);
    assert_int_equal(rig_delete(r, OTHER, false), 0);
    postgres_sql(server.url, "UPDATE nb_conversation SET deleted_ms = 1000 WHERE id = '" ID "'");
    rig_reopen(r, "postgres");
    assert_int_equal(rig_restore(r, OTHER), 0);
    while (rig_restore(r, ID) == 0) /* the sweep runs beside other calls */
        assert_int_equal(rig_delete(r, ID, false), 0);
    rig_close_store(r);
    postgres_sql(server.url,
                 "DO $$ BEGIN IF EXISTS (SELECT 1 FROM nb_blob) OR (SELECT count(*) FROM "
                 "nb_event) <> 1 THEN RAISE 'left behind'; END IF; END $$");
    rig_open_store(r, "postgres");
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("postgres", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
