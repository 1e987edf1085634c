/* A directory of many logs: lists while they are read for the first time, after a restart, and
 * while conversations are created. */
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

#include "index_rig.h"
#include "store/index/index_impl.h"

enum { MANY = 300 }; /* more than INDEX_SMALL_DIR */

static_assert((int)MANY > (int)INDEX_SMALL_DIR, "the directory is large");

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

static void write_logs(struct twin *t, int from, int n)
{
    for (int i = from; i < from + n; i++) {
        char name[60], log[300];
        (void)snprintf(name, sizeof(name), "conv_many%04d.jsonl", i);
        int len = snprintf(log, sizeof(log),
                           "{\"id\":\"x\",\"createdAt\":\"2024-01-01T00:00:00.000Z\"}\n"
                           "{\"type\":\"user.message\",\"ts\":\"2024-01-02T%02d:%02d:%02d.000Z\","
                           "\"content\":\"hello %d\"}\n",
                           i / 3600, i / 60 % 60, i % 60, i);
        rig_spit(&t->a, name, "we", str_make(log, (size_t)len));
    }
}

static void wait_until_settled(void)
{
    const struct timespec settled = {.tv_nsec = 50 * 1000 * 1000};
    (void)nanosleep(&settled, NULL);
}

static struct index *index_in(struct twin *t)
{
    struct files *f = t->a.store->impl;
    return f->index;
}

static const char *mark_path(struct twin *t)
{
    static char path[400];
    (void)snprintf(path, sizeof(path), "%s/index.state", t->cache_dir);
    return path;
}

static off_t mark_size(struct twin *t)
{
    struct stat st;
    return stat(mark_path(t), &st) == 0 ? st.st_size : -1;
}

static void list_all(struct twin *t, int total)
{
    const struct store_query page = {.limit = 5, .takes_part = true};
    do
        assert_int_equal(rig_list(&t->a, &page), 0);
    while (t->a.listing.counting.total);
    assert_int_equal(t->a.listing.total, total);
}

static bool has_swept(struct twin *t)
{
    return index_in(t)->sweep.began_ms != 0;
}

/* ---- logs that are not known yet ---- */

static sqlite3 *lock_index(struct twin *t)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(t->db, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, RIG_WAIT_MS);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* Nobody can write to the index meanwhile, as if reading the new logs took long. */
TEST_WITH(a_list_that_takes_a_part_does_not_wait_for_new_logs, setup, teardown)
{
    struct twin *t = *state;
    const struct store_query part = {.limit = 5, .takes_part = true};
    const struct store_search_query words = {
        .text = STR("hello"), .limit = 1000, .takes_part = true};
    write_logs(t, 0, MANY);
    list_all(t, MANY);
    rig_close_store(&t->a);
    write_logs(t, MANY, MANY);
    sqlite3 *db = lock_index(t);
    twin_open(t);
    assert_int_equal(rig_list(&t->a, &part), 0);
    assert_int_equal(t->a.listing.counting.total, 2 * MANY);
    assert_true(t->a.listing.counting.done <= MANY);
    assert_int_equal(t->a.listing.total, MANY);
    assert_str(t->a.listing.convs[0].id, "conv_many0299");
    assert_int_equal(RIG_CALL(&t->a, store_search(t->a.store, &words, rig_on_search, &t->a)), 0);
    assert_int_equal(t->a.hits.n, MANY);
    assert_true(t->a.hits.is_partial && t->a.hits.counting.total == 2 * MANY);
    sqlite3_close(db);
    list_all(t, 2 * MANY);
    assert_str(t->a.listing.convs[0].id, "conv_many0599");
    twin_list(t, &(struct store_query){.limit = 1000});
    assert_int_equal(twin_search(t, "hello"), 2 * MANY);
}

/* Which calls may be answered early is said by the caller: totals need all conversations. */
TEST_WITH(other_calls_see_everything, setup, teardown)
{
    struct twin *t = *state;
    write_logs(t, 0, 10 * MANY);
    assert_int_equal(rig_list(&t->a, &(struct store_query){.limit = 5}), 0);
    assert_int_equal(t->a.listing.total, 10 * MANY);
    assert_int_equal(t->a.listing.counting.total, 0);
}

TEST_WITH(the_latest_are_read_first, setup, teardown)
{
    struct twin *t = *state;
    const struct store_query page = {.limit = 5, .takes_part = true};
    write_logs(t, 0, 10 * MANY);
    for (int i = 0; i < 10 * MANY; i++) { /* the time of the file is the time of its last event */
        char name[60];
        (void)snprintf(name, sizeof(name), "conv_many%04d.jsonl", i);
        struct timespec times[2] = {{.tv_sec = 1700000000 + i}, {.tv_sec = 1700000000 + i}};
        assert_int_equal(utimensat(AT_FDCWD, rig_path(&t->a, name), times, 0), 0);
    }
    do { /* also while some are missing */
        assert_int_equal(rig_list(&t->a, &page), 0);
        assert_int_equal(t->a.listing.n, 5);
        assert_str(t->a.listing.convs[0].id, "conv_many2999");
        assert_str(t->a.listing.convs[4].id, "conv_many2995");
    } while (t->a.listing.counting.total);
    assert_int_equal(t->a.listing.total, 10 * MANY);
}

/* ---- a restart ---- */

TEST_WITH(a_complete_index_is_used_at_once, setup, teardown)
{
    struct twin *t = *state;
    write_logs(t, 0, MANY);
    wait_until_settled();
    list_all(t, MANY);
    assert_true(has_swept(t));
    assert_int_equal(mark_size(t), 0); /* while a process uses it, it says nothing */
    assert_int_equal(rig_create(&t->a, "conv_own", "usr_a"), 0);
    rig_close_store(&t->a); /* brings the new one into the index */
    assert_true(mark_size(t) > 0);
    for (int i = 0; i < 2; i++) { /* the second time nothing was touched */
        twin_open(t);
        list_all(t, MANY + 1);
        assert_false(has_swept(t));
        assert_int_equal(mark_size(t), 0);
        rig_close_store(&t->a);
    }
    twin_open(t);
    twin_list(t, &(struct store_query){.limit = 1000});
    assert_false(has_swept(t));
}

TEST_WITH(a_process_that_was_killed_leaves_no_mark, setup, teardown)
{
    struct twin *t = *state;
    write_logs(t, 0, MANY);
    list_all(t, MANY);
    wait_until_settled();
    twin_reopen(t);
    assert_true(mark_size(t) > 0); /* nothing has changed yet */
    assert_int_equal(rig_append(&t->a, "conv_many0007",
                                "{\"type\":\"user.message\",\"content\":\"hello again\"}"),
                     0);
    assert_int_equal(mark_size(t), 0); /* before anybody was told that it is written */
}

TEST_WITH(a_mark_that_does_not_fit_is_not_used, setup, teardown)
{
    struct twin *t = *state;
    write_logs(t, 0, MANY);
    wait_until_settled();
    list_all(t, MANY);
    rig_close_store(&t->a);
    write_logs(t, MANY, 1); /* another program */
    twin_open(t);
    list_all(t, MANY + 1);
    assert_true(has_swept(t));
    wait_until_settled();
    twin_reopen(t);
    list_all(t, MANY + 1);
    rig_close_store(&t->a);

    static const char *const WRONG[] = {"",
                                        "x",
                                        "nb-index 1 5 5 5",
                                        "nb-index 2 0 0 0\n",
                                        "nb-index 1 99999999999999999999 1 1\n",
                                        "nb-index 1 00000000-0000-0000-0000-000000000000 1 1 1\n"};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        FILE *f = fopen(mark_path(t), "we");
        assert_non_null(f);
        assert_true(fputs(WRONG[i], f) >= 0);
        (void)fclose(f);
        twin_open(t);
        list_all(t, MANY + 1);
        assert_true(has_swept(t));
        rig_close_store(&t->a);
    }
    assert_int_equal(unlink(t->db), 0); /* a mark without its database */
    twin_open(t);
    list_all(t, MANY + 1);
    assert_true(has_swept(t));
}

TEST_WITH(a_second_process_spoils_the_mark, setup, teardown)
{
    struct twin *t = *state;
    write_logs(t, 0, MANY);
    wait_until_settled();
    list_all(t, MANY);
    struct index_mark other;
    mark_init(&other);
    mark_take(&other, mark_path(t));
    assert_true(other.fd < 0 && other.is_other && !other.is_found);
    mark_done(&other);
    rig_close_store(&t->a);
    twin_open(t);
    list_all(t, MANY);
    assert_true(has_swept(t));
}

/* ---- while conversations are created ---- */

static int opened(int fd)
{
    char events[65536] __attribute__((aligned(8)));
    int n = 0;
    ssize_t got;
    while ((got = read(fd, events, sizeof(events))) > 0)
        for (ssize_t at = 0; at < got; n++)
            at += (ssize_t)sizeof(struct inotify_event) +
                  ((const struct inotify_event *)(events + at))->len;
    return n;
}

/* One attempt: true if the list opened the new log, and nothing else, the directory included. The
 * feed may look at more from time to time. */
static bool opens_one(struct twin *t, int fd, int i)
{
    char id[40];
    (void)snprintf(id, sizeof(id), "conv_new%d", i);
    assert_int_equal(rig_create(&t->a, id, "usr_a"), 0);
    (void)opened(fd);
    list_all(t, MANY + i + 1);
    assert_str(t->a.listing.convs[0].id, id);
    int first = opened(fd);
    list_all(t, MANY + i + 1);
    return first == 1 && opened(fd) == 0;
}

TEST_WITH(a_list_after_a_creation_opens_one_log, setup, teardown)
{
    struct twin *t = *state;
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), tries = 0;
    assert_true(fd >= 0 && inotify_add_watch(fd, t->a.conv_dir, IN_OPEN) >= 0);
    write_logs(t, 0, MANY);
    wait_until_settled();
    list_all(t, MANY);
    while (!opens_one(t, fd, tries))
        assert_true(++tries < 50);
    close(fd);
}
