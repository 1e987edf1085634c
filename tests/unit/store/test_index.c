/* The index is right whatever happens to its file, to the logs, and beside it. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>

#include "index_rig.h"
#include "store/index/index.h"

#define ID    "conv_0123456789abcdef"
#define OTHER "conv_fedcba9876543210"

#define USER(text)                                                                                 \
    "{\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"" text                  \
    "\"}],\"userId\":\"usr_a\"}"

static int setup(void **state)
{
    struct twin *t = xcalloc(1, sizeof(*t));
    twin_init(t);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    twin_done(*state);
    free(*state);
    return 0;
}

/* A few conversations of two people. */
static void fill(struct twin *t, int n)
{
    for (int i = 0; i < n; i++) {
        char id[40], event[200];
        (void)snprintf(id, sizeof(id), "conv_%016x", i + 1);
        (void)snprintf(event, sizeof(event), USER("hello number %d of many"), i);
        assert_int_equal(rig_create(&t->a, id, i % 3 ? "usr_a" : "usr_b"), 0);
        assert_int_equal(rig_append(&t->a, id, event), 0);
    }
}

static void agree(struct twin *t)
{
    const struct viewer people[] = {{.user_id = STR_INIT("usr_a")},
                                    {.user_id = STR_INIT("usr_b")},
                                    {.user_id = STR_INIT("usr_c"), .is_workspace_admin = true},
                                    {.user_id = STR_INIT("usr_d")}};
    twin_list(t, &(struct store_query){.limit = 1000});
    twin_list(t, &(struct store_query){.limit = 3, .sort = STORE_BY_CREATED});
    for (size_t i = 0; i < ARRAY_LEN(people); i++)
        twin_list(t, &(struct store_query){.viewer = &people[i], .with_hidden = true});
    twin_search(t, "hello");
    twin_search(t, "number");
}

TEST_WITH(agrees_with_the_logs, setup, teardown)
{
    struct twin *t = *state;
    agree(t);
    fill(t, 20);
    agree(t);
    assert_int_equal(t->a.listing.total, 0); /* usr_d, the last one asked for */
    assert_int_equal(access(t->db, F_OK), 0);
    assert_int_equal(twin_search(t, "hello"), 20);
    assert_int_equal(rig_append(&t->a, "conv_0000000000000001", USER("one more hello")), 0);
    assert_int_equal(twin_search(t, "hello"), 21);
    assert_int_equal(rig_delete(&t->a, "conv_0000000000000002", false), 0);
    assert_int_equal(twin_search(t, "hello"), 20);
    agree(t);
    assert_int_equal(rig_restore(&t->a, "conv_0000000000000002"), 0);
    assert_int_equal(twin_search(t, "hello"), 21);
    agree(t);
    twin_reopen(t);
    agree(t);
}

/* ---- child runs ---- */

static void create_child(struct twin *t, const char *id, const char *parent_id)
{
    struct arena a;
    arena_init(&a);
    struct json *parent = json_new(&a, JSON_OBJECT);
    json_set(&a, parent, STR("conversationId"), json_of_str(str_from(parent_id)));
    struct conv_create spec = {.id = str_from(id), .owner_id = STR("usr_a"), .parent = parent};
    assert_int_equal(RIG_CALL(&t->a, store_create(t->a.store, &spec, rig_on_conv, &t->a)), 0);
    arena_done(&a);
}

static void share(struct twin *t, bool is_shared)
{
    str b = STR_INIT("usr_b");
    struct json_strs with = {&b, 1};
    assert_int_equal(
        RIG_CALL(&t->a, rig_set_sharing(t->a.store, STR(ID), is_shared, is_shared ? &with : NULL,
                                        NULL, rig_on_conv, &t->a)),
        0);
}

/* What usr_b finds in a list of hidden conversations, with the index and without. */
static int64_t seen_by_b(struct twin *t, const char *search)
{
    const struct viewer b = {.user_id = STR_INIT("usr_b")};
    twin_list(t, &(struct store_query){
                     .viewer = &b, .with_hidden = true, .search = str_from(search), .limit = 1});
    return t->a.listing.total;
}

TEST_WITH(children_are_listed_to_those_who_see_their_parent, setup, teardown)
{
    struct twin *t = *state;
    assert_int_equal(rig_create(&t->a, ID, "usr_a"), 0);
    create_child(t, "conv_c1", ID);
    create_child(t, "conv_c2", "conv_c1");
    create_child(t, "conv_c3", "conv_gone");
    assert_int_equal(seen_by_b(t, ""), 0);
    share(t, true);
    assert_int_equal(seen_by_b(t, ""), 3); /* and not the child whose parent is gone */
    agree(t);
    assert_int_equal(rig_append(&t->a, "conv_c2", USER("needle")), 0);
    assert_int_equal(seen_by_b(t, "needle"), 1);
    share(t, false);
    assert_int_equal(seen_by_b(t, ""), 0);
    assert_int_equal(seen_by_b(t, "needle"), 0);
    share(t, true);
    assert_int_equal(rig_delete(&t->a, ID, false), 0);
    assert_int_equal(seen_by_b(t, ""), 0);
    agree(t);
}

static void change(struct twin *t, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(t->db, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static int64_t ask(struct twin *t, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open(t->db, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    int64_t n = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : -1;
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

/* Lets the background reach the ends of all logs. */
static void settle(struct twin *t)
{
    static const char BEHIND[] = "SELECT count(*) FROM log WHERE text_done <> done";
    bool never = false;
    assert_int_equal(rig_list(&t->a, &(struct store_query){.limit = 1}), 0);
    for (int i = 0; i < RIG_WAIT_MS / 10 && ask(t, BEHIND) != 0; i++)
        (void)loop_run_until(t->a.loop, &never, 10);
    assert_int_equal(ask(t, BEHIND), 0);
}

/* What is changed in the index shows: nothing else was read. */
TEST_WITH(is_private, setup, teardown)
{
    struct twin *t = *state;
    struct stat st;
    fill(t, 1);
    agree(t);
    assert_int_equal(stat(t->db, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

TEST_WITH(answers_come_from_the_index, setup, teardown)
{
    struct twin *t = *state;
    fill(t, 10);
    settle(t);
    assert_int_equal(ask(t, "SELECT count(*) FROM log"), 10);
    assert_int_equal(ask(t, "SELECT count(*) FROM message"), 10);
    change(t, "UPDATE conv SET title = 'from the index'");
    assert_int_equal(rig_list(&t->a, &(struct store_query){.limit = 1}), 0);
    assert_str(t->a.listing.convs[0].title, "from the index");
    assert_int_equal(rig_search(&t->a, "hello", NULL), 0);
    assert_int_equal(t->a.hits.n, 10);
    assert_str(t->a.hits.hits[0].title, "from the index");
    change(t, "DELETE FROM message WHERE no IN (SELECT no FROM message ORDER BY no DESC LIMIT 4)");
    assert_int_equal(rig_search(&t->a, "hello", NULL), 0);
    assert_int_equal(t->a.hits.n, 6);
}

/* ---- what may happen to the file ---- */

static void spoil(struct twin *t, const char *bytes, size_t n, off_t at, bool cut)
{
    int fd = open(t->db, O_WRONLY | O_CLOEXEC | (cut ? O_TRUNC : 0));
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), n);
    close(fd);
}

TEST_WITH(deleted_while_running, setup, teardown)
{
    struct twin *t = *state;
    fill(t, 10);
    for (int i = 0; i < 5; i++) {
        agree(t);
        assert_int_equal(unlink(t->db), 0);
        if (i % 2)
            assert_int_equal(rig_append(&t->a, "conv_0000000000000003", USER("hello again")), 0);
    }
    agree(t);
    rig_wipe(t->cache_dir);
    agree(t);
    assert_int_equal(access(t->db, F_OK), 0);
}

TEST_WITH(is_not_created_again_without_its_logs, setup, teardown)
{
    struct twin *t = *state;
    char away[320];
    fill(t, 3);
    settle(t);
    (void)snprintf(away, sizeof(away), "%s.away", t->a.conv_dir);
    assert_int_equal(rename(t->a.conv_dir, away), 0);
    rig_wipe(t->cache_dir);
    (void)rig_list(&t->a, &(struct store_query){.limit = 1});
    assert_int_equal(access(t->cache_dir, F_OK), -1);
    assert_int_equal(rename(away, t->a.conv_dir), 0);
    agree(t);
    assert_int_equal(access(t->db, F_OK), 0);
}

TEST_WITH(damaged, setup, teardown)
{
    struct twin *t = *state;
    char noise[20000];
    memset(noise, 0xa5, sizeof(noise));
    fill(t, 10);
    agree(t);
    spoil(t, noise, sizeof(noise), 0, false);
    agree(t);
    twin_reopen(t);
    agree(t);
    rig_close_store(&t->a);
    spoil(t, noise, sizeof(noise), 0, true);
    twin_open(t);
    agree(t);
    rig_close_store(&t->a);
    spoil(t, "", 0, 0, true); /* an empty file is an index not yet made */
    twin_open(t);
    agree(t);
    rig_close_store(&t->a);
    spoil(t, noise, sizeof(noise), 8192, false); /* the first pages are fine */
    twin_open(t);
    agree(t);
    agree(t);
}

TEST_WITH(other_versions, setup, teardown)
{
    static const char *const changes[] = {
        "PRAGMA user_version = 999",
        "UPDATE fact SET value = '/elsewhere' WHERE name = 'scope'",
        "DROP TABLE shelf",
        "INSERT INTO price VALUES('known', 12345)",
    };
    struct twin *t = *state;
    fill(t, 10);
    agree(t);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        rig_close_store(&t->a);
        change(t, changes[i]);
        change(t, "CREATE TABLE IF NOT EXISTS old(x)");
        twin_open(t);
        agree(t);
        agree(t);
        assert_int_equal(ask(t, "SELECT count(*) FROM sqlite_schema WHERE name = 'old'"), 0);
    }
}

TEST_WITH(replaced_by_another_process, setup, teardown)
{
    struct twin *t = *state;
    fill(t, 10);
    agree(t);
    char aside[400];
    (void)snprintf(aside, sizeof(aside), "%s.aside", t->db);
    assert_int_equal(rename(t->db, aside), 0);
    fill(t, 0);
    assert_int_equal(rig_append(&t->a, "conv_0000000000000004", USER("hello later")), 0);
    agree(t);
    assert_int_equal(rename(aside, t->db), 0); /* an older one comes back */
    agree(t);
    assert_int_equal(twin_search(t, "later"), 1);
}

TEST_WITH(no_place_for_it, setup, teardown)
{
    struct twin *t = *state;
    rig_wipe(t->cache_dir);
    FILE *f = fopen(t->cache_dir, "we"); /* a file where the directory should be */
    assert_non_null(f);
    (void)fclose(f);
    fill(t, 5);
    agree(t);
    assert_int_equal(unlink(t->cache_dir), 0);
    agree(t);
    assert_int_equal(access(t->db, F_OK), 0);
}

/* ---- what may happen to the logs ---- */

TEST_WITH(logs_change_behind_our_back, setup, teardown)
{
    struct twin *t = *state;
    struct rig *r = &t->a;
    fill(t, 5);
    agree(t);
    rig_spit(r, "conv_0000000000000001.jsonl", "ae", STR(USER("hello from elsewhere") "\n"));
    agree(t);
    assert_int_equal(twin_search(t, "elsewhere"), 1);

    rig_spit(r, "conv_0000000000000001.jsonl", "ae", STR(USER("hello without an end")));
    assert_int_equal(twin_search(t, "end"), 1);
    agree(t);
    rig_spit(r, "conv_0000000000000001.jsonl", "ae", STR("\n{\"torn"));
    agree(t);

    /* Another log under the same name, and in the same inode. */
    rig_spit(r, "conv_0000000000000002.jsonl", "we",
             STR("{\"id\":\"conv_0000000000000002\",\"createdAt\":\"2020-01-01T00:00:00.000Z\"}\n"
                 "{\"type\":\"user.message\",\"ts\":\"2020-01-01T00:00:01.000Z\","
                 "\"content\":\"something else altogether, which is also longer than it was "
                 "before, because a shorter one would be easy to notice\"}\n"));
    agree(t);
    assert_int_equal(twin_search(t, "altogether"), 1);

    assert_int_equal(truncate(rig_path(r, "conv_0000000000000003.jsonl"), 60), 0);
    agree(t);
    assert_int_equal(unlink(rig_path(r, "conv_0000000000000004.jsonl")), 0);
    agree(t);
    assert_int_equal(mkdir(rig_path(r, "conv_dir.jsonl"), 0700), 0);
    rig_spit(r, "conv_empty.jsonl", "we", STR(""));
    rig_spit(r, "conv_bad.jsonl", "we", STR("\0\0\0\nnot json\n{}\n"));
    agree(t);
    twin_reopen(t);
    agree(t);
}

static void write_logs(struct twin *t, int n)
{
    for (int i = 0; i < n; i++) {
        char name[60], log[300];
        (void)snprintf(name, sizeof(name), "conv_many%04d.jsonl", i);
        int len = snprintf(log, sizeof(log),
                           "{\"id\":\"x\",\"createdAt\":\"2024-01-01T00:00:00.000Z\"}\n"
                           "{\"type\":\"user.message\",\"ts\":\"2024-01-02T00:%02d:%02d.000Z\","
                           "\"content\":\"hello %d\"}\n",
                           i / 60, i % 60, i);
        rig_spit(&t->a, name, "we", str_make(log, (size_t)len));
    }
}

/* Beyond a few hundred logs the directory is not compared on every use: writes of our own
 * are known, rows that are returned are checked, and a directory that changes is seen. */
TEST_WITH(many_logs, setup, teardown)
{
    const struct store_query page = {.limit = 5};
    const struct timespec settled = {.tv_nsec = 50 * 1000 * 1000};
    struct twin *t = *state;
    write_logs(t, 300);
    (void)nanosleep(&settled, NULL);
    twin_list(t, &page);
    assert_int_equal(t->a.listing.total, 300);
    assert_str(t->a.listing.convs[0].id, "conv_many0299");
    twin_list(t, &page);

    assert_int_equal(rig_append(&t->a, "conv_many0007", USER("hello again")), 0);
    twin_list(t, &page);
    assert_str(t->a.listing.convs[0].id, "conv_many0007");

    /* Somebody else appends to a log that is on the page. */
    rig_spit(&t->a, "conv_many0299.jsonl", "ae", STR(USER("hello") "\n" USER("hello") "\n"));
    assert_int_equal(rig_list(&t->a, &page), 0);
    assert_str(t->a.listing.convs[1].id, "conv_many0299");
    assert_int_equal(t->a.listing.convs[1].message_count, 3);
    twin_list(t, &page);

    assert_int_equal(rig_create(&t->a, ID, "usr_a"), 0);
    twin_list(t, &page);
    assert_int_equal(t->a.listing.total, 301);
    assert_int_equal(rig_delete(&t->a, "conv_many0298", false), 0);
    twin_list(t, &page);
    assert_int_equal(t->a.listing.total, 300);

    (void)nanosleep(&settled, NULL);
    rig_spit(&t->a, "conv_stranger.jsonl", "we", STR("{\"id\":\"x\",\"createdAt\":1}\n"));
    twin_list(t, &page);
    assert_int_equal(t->a.listing.total, 301);
    (void)nanosleep(&settled, NULL);
    assert_int_equal(unlink(rig_path(&t->a, "conv_many0297.jsonl")), 0);
    twin_list(t, &page);
    assert_int_equal(t->a.listing.total, 300);
    assert_int_equal(twin_search(t, "hello"), 301);
}

static int64_t listed(struct twin *t)
{
    assert_int_equal(rig_list(&t->a, &(struct store_query){.limit = 5}), 0);
    return t->a.listing.total;
}

/* A log that this process creates: true if lists did not sweep because of it, which would have
 * listed it before it was acknowledged. */
static bool create_unnoticed(struct twin *t, struct files *f, int i)
{
    char id[40], name[48];
    (void)snprintf(id, sizeof(id), "conv_flying%d", i);
    (void)snprintf(name, sizeof(name), "%s.jsonl", id);
    int64_t before = listed(t);
    dir_change_begins(&f->changes);
    rig_spit(&t->a, name, "we", STR("{\"id\":\"x\",\"createdAt\":1}\n"));
    int64_t during = listed(t);
    dir_change_ends(&f->changes);
    int64_t after = listed(t);
    index_touch(f->index, str_from(id));
    assert_int_equal(listed(t), before + 1);
    return during == before && after == before;
}

/* One of many attempts: the feed sweeps from time to time. */
TEST_WITH(own_changes_under_way_are_no_reason_to_sweep, setup, teardown)
{
    const struct timespec settled = {.tv_nsec = 50 * 1000 * 1000};
    struct twin *t = *state;
    write_logs(t, 300);
    (void)nanosleep(&settled, NULL);
    int tries = 0;
    while (!create_unnoticed(t, t->a.store->impl, tries))
        assert_true(++tries < 50);
    (void)nanosleep(&settled, NULL);
    int64_t before = listed(t);
    rig_spit(&t->a, "conv_stranger.jsonl", "we", STR("{\"id\":\"x\",\"createdAt\":1}\n"));
    assert_int_equal(listed(t), before + 1);
}

TEST_WITH(cursor_is_stable, setup, teardown)
{
    struct twin *t = *state;
    fill(t, 12);
    struct store_query q = {.limit = 4, .sort = STORE_BY_CREATED};
    twin_list(t, &q);
    char cursor[200];
    (void)snprintf(cursor, sizeof(cursor), "%.*s", STR_ARG(t->a.listing.next_cursor));
    str last = t->a.listing.convs[3].id;
    char gone[80];
    (void)snprintf(gone, sizeof(gone), "%.*s", STR_ARG(last));
    assert_int_equal(rig_delete(&t->a, gone, true), 0);
    assert_int_equal(rig_create(&t->a, ID, "usr_a"), 0);
    q.cursor = str_from(cursor);
    twin_list(t, &q);
    assert_int_equal(t->a.listing.n, 4);
    assert_int_equal(t->a.listing.total, 12);
    size_t seen = t->a.listing.n;
    while (t->a.listing.next_cursor.n) {
        (void)snprintf(cursor, sizeof(cursor), "%.*s", STR_ARG(t->a.listing.next_cursor));
        twin_list(t, &q);
        seen += t->a.listing.n;
    }
    assert_int_equal(seen, 8);
    q.cursor = STR("nonsense");
    assert_int_equal(rig_list(&t->a, &q), -EINVAL);
}

TEST_WITH(sharing, setup, teardown)
{
    struct twin *t = *state;
    fill(t, 6);
    str names[] = {STR_INIT("usr_a"), STR_INIT("usr_d")};
    struct json_strs people = {.items = names, .len = 2};
    struct viewer d = {.user_id = STR_INIT("usr_d")};
    struct store_query q = {.viewer = &d};
    twin_list(t, &q);
    assert_int_equal(t->a.listing.total, 0);
    assert_int_equal(RIG_CALL(&t->a, rig_set_sharing(t->a.store, STR("conv_0000000000000002"), true,
                                                     &people, NULL, rig_on_conv, &t->a)),
                     0);
    twin_list(t, &q);
    assert_int_equal(t->a.listing.total, 1);
    struct store_search_query find = {.text = STR("hello"), .viewer = &d};
    twin_find(t, &find);
    assert_int_equal(t->a.hits.n, 1);
    assert_int_equal(RIG_CALL(&t->a, rig_set_sharing(t->a.store, STR("conv_0000000000000002"),
                                                     false, NULL, NULL, rig_on_conv, &t->a)),
                     0);
    twin_list(t, &q);
    assert_int_equal(t->a.listing.total, 0);
    twin_find(t, &find);
    assert_int_equal(t->a.hits.n, 0);
    agree(t);
}

/* Two stores with one index, as in a server and a command beside it. */
TEST_WITH(two_handles, setup, teardown)
{
    struct twin *t = *state;
    struct rig c;
    rig_init(&c, NULL, NULL);
    struct store_conf conf = {.type = "jsonl",
                              .dir = t->a.conv_dir,
                              .cache_dir = t->cache_dir,
                              .workspace_id = "ws_test",
                              .read_only = true};
    assert_int_equal(store_open(&c.env, &conf, &c.store, NULL), 0);
    for (int i = 0; i < 30; i++) {
        char id[40];
        (void)snprintf(id, sizeof(id), "conv_%016x", i + 100);
        assert_int_equal(rig_create(&t->a, id, "usr_a"), 0);
        assert_int_equal(rig_append(&t->a, id, USER("hello both")), 0);
        assert_int_equal(rig_list(&c, &(struct store_query){.limit = 1}), 0);
        assert_int_equal(c.listing.total, i + 1);
        assert_int_equal(c.listing.convs[0].message_count, 1);
        assert_int_equal(rig_search(&c, "both", NULL), 0);
        assert_int_equal(c.hits.n, i < 20 ? i + 1 : 20);
        if (i == 10)
            assert_int_equal(unlink(t->db), 0);
        agree(t);
    }
    rig_done(&c);
}
