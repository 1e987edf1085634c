/* What indexes hold: while they sweep a directory, between two calls, and while nobody uses them.
 */
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "index_rig.h"
#include "store/index/index_impl.h"
#include "support/heap_count.h"

enum { FEW = 1500, MANY = 6000, STORES = INDEX_OPEN_MAX + 8 };

/* ---- a sweep ---- */

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

static void write_log(struct rig *r, int i)
{
    char name[60];
    (void)snprintf(name, sizeof(name), "conv_many%04d.jsonl", i);
    rig_spit(r, name, "we", STR("{\"id\":\"x\",\"createdAt\":\"2024-01-01T00:00:00.000Z\"}\n"));
}

struct swept {
    struct arena arena;
    str *ids;
    size_t n, total;
    long most; /* bytes, at any moment */
};

/* Sweeps twice with one connection: the first time fills the cache of SQLite. */
static struct swept sweep(struct twin *t)
{
    static const atomic_bool NEVER;
    struct files *f = t->a.store->impl;
    struct index_db db;
    struct swept s = {0};
    index_db_init(&db, f->index->path, f->index->dir, &t->a.env);
    assert_true(index_db_ready(&db) >= 0);
    struct index_sync sync = {.db = &db, .store = t->a.store, .stop = &NEVER};
    for (int i = 0; i < 2; i++) {
        arena_done(&s.arena);
        heap_count_begin();
        assert_int_equal(index_sweep(&sync, &s.arena, 0, &s.ids, &s.n, &s.total), 0);
        (void)heap_count_end();
    }
    s.most = heap_count_most();
    index_db_close(&db);
    return s;
}

static long sweep_unchanged(struct twin *t, size_t total)
{
    assert_int_equal(rig_list(&t->a, &(struct store_query){.limit = 5}), 0);
    assert_int_equal(t->a.listing.total, total);
    struct swept s = sweep(t);
    assert_int_equal(s.n, 0);
    assert_int_equal(s.total, total);
    arena_done(&s.arena);
    return s.most;
}

TEST_WITH(four_times_as_many_logs_are_swept_in_the_same_memory, setup, teardown)
{
    struct twin *t = *state;
    heap_count_needed();
    for (int i = 0; i < FEW; i++)
        write_log(&t->a, i);
    long few = sweep_unchanged(t, FEW);
    for (int i = FEW; i < MANY; i++)
        write_log(&t->a, i);
    long many = sweep_unchanged(t, MANY);
    assert_true(few > 0);
    assert_true(many <= few);
}

static bool has_id(const struct swept *s, const char *id)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->ids[i], str_from(id)))
            return true;
    return false;
}

/* The directory has as many names as before. */
TEST_WITH(a_log_in_the_place_of_another_is_found, setup, teardown)
{
    struct twin *t = *state;
    char from[400], to[400];
    for (int i = 0; i < FEW; i++)
        write_log(&t->a, i);
    (void)sweep_unchanged(t, FEW);
    (void)snprintf(from, sizeof(from), "%s/conv_many0007.jsonl", t->a.conv_dir);
    (void)snprintf(to, sizeof(to), "%s/conv_another.jsonl", t->a.conv_dir);
    assert_int_equal(rename(from, to), 0);
    struct swept s = sweep(t);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.total, FEW);
    assert_true(has_id(&s, "conv_many0007") && has_id(&s, "conv_another"));
    arena_done(&s.arena);
    twin_list(t, &(struct store_query){.limit = 1000});
}

/* ---- connections between two jobs ---- */

static void run_for_a_moment(struct rig *r)
{
    bool never = false;
    (void)loop_run_until(r->loop, &never, 1);
}

/* A conversation with a row of about a kilobyte. */
static void write_titled_log(struct rig *r, int i)
{
    enum { TITLE = 800 };
    char name[60], text[TITLE + 400], title[TITLE + 1];
    memset(title, 'x', TITLE);
    title[TITLE] = 0;
    (void)snprintf(name, sizeof(name), "conv_titled%04d.jsonl", i);
    (void)snprintf(text, sizeof(text),
                   "{\"id\":\"x\",\"createdAt\":\"2024-01-01T00:00:00.000Z\"}\n"
                   "{\"ts\":\"2024-01-01T00:00:01.000Z\",\"type\":\"user.message\","
                   "\"content\":[{\"type\":\"text\",\"text\":\"number %d\"}]}\n"
                   "{\"ts\":\"2024-01-01T00:00:02.000Z\",\"type\":\"metadata.title\","
                   "\"title\":\"%s\"}\n",
                   i, title);
    rig_spit(r, name, "we", str_from(text));
}

static void assert_rests(struct index_db *db)
{
    int used = 0, most;
    if (!db->sql)
        return;
    assert_int_equal(sqlite3_db_status(db->sql, SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0), 0);
    assert_in_range(used, 0, INDEX_REST_BYTES);
}

/* Every row is read, which is more than a connection may keep. */
TEST_WITH(connections_release_the_pages_of_a_large_job, setup, teardown)
{
    struct twin *t = *state;
    struct index *ix = ((struct files *)t->a.store->impl)->index;
    uint64_t end = clock_mono_ms() + RIG_WAIT_MS;
    for (int i = 0; i < FEW; i++)
        write_titled_log(&t->a, i);
    assert_int_equal(rig_list(&t->a, &(struct store_query){.limit = 5}), 0);
    assert_int_equal(t->a.listing.total, FEW);
    assert_int_equal(rig_list(&t->a, &(struct store_query){.search = STR("not there")}), 0);
    assert_int_equal(t->a.listing.total, 0);
    while (index_is_busy(ix) && clock_mono_ms() < end)
        run_for_a_moment(&t->a);
    assert_true(ix->nidle > 0);
    for (size_t i = 0; i < ix->nidle; i++)
        assert_rests(ix->idle[i]);
    assert_rests(&ix->sync.db);
    assert_rests(&ix->feed.db);
}

/* ---- many indexes ---- */

struct many { /* stores of one process */
    struct rig rig;
    struct store *stores[STORES];
    char dirs[STORES][2][320]; /* logs, cache */
};

static int open_many(void **state)
{
    struct many *m = xcalloc(1, sizeof(*m));
    rig_init(&m->rig, NULL, NULL);
    m->rig.env.indexes = index_group_new(m->rig.loop);
    for (int i = 0; i < STORES; i++) {
        struct err e = {0};
        (void)snprintf(m->dirs[i][0], sizeof(m->dirs[i][0]), "%s/logs%d", m->rig.dir, i);
        (void)snprintf(m->dirs[i][1], sizeof(m->dirs[i][1]), "%s/cache%d", m->rig.dir, i);
        struct store_conf conf = {.type = "jsonl",
                                  .dir = m->dirs[i][0],
                                  .cache_dir = m->dirs[i][1],
                                  .workspace_id = "ws_test",
                                  .durability = STORE_NONE};
        if (store_open(&m->rig.env, &conf, &m->stores[i], &e) < 0)
            fail_msg("store_open: %s", e.msg);
    }
    *state = m;
    return 0;
}

static int close_many(void **state)
{
    struct many *m = *state;
    for (int i = 0; i < STORES; i++) {
        m->rig.store = m->stores[i];
        rig_close_store(&m->rig);
    }
    index_group_free(m->rig.env.indexes);
    rig_done(&m->rig);
    free(m);
    return 0;
}

static struct index *index_at(struct many *m, int i)
{
    return ((struct files *)m->stores[i]->impl)->index;
}

static void list_in(struct many *m, int i)
{
    m->rig.store = m->stores[i];
    assert_int_equal(rig_list(&m->rig, &(struct store_query){.limit = 5}), 0);
    m->rig.store = NULL;
}

/* Open files of databases of indexes. */
static int count_connections(void)
{
    char path[64], to[400];
    const struct dirent *e;
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%.20s", e->d_name);
        ssize_t len = readlink(path, to, sizeof(to) - 1);
        n += len > 0 && str_ends(str_make(to, (size_t)len), STR("/index.db"));
    }
    closedir(d);
    return n;
}

/* Until no index has a job under way. */
static void wait_for_jobs(struct many *m)
{
    uint64_t end = clock_mono_ms() + RIG_WAIT_MS;
    for (int i = 0; i < STORES; i++)
        while (index_is_busy(index_at(m, i)) && clock_mono_ms() < end)
            run_for_a_moment(&m->rig);
}

TEST_WITH(so_many_indexes_keep_connections_as_are_allowed, open_many, close_many)
{
    struct many *m = *state;
    struct index_group *g = m->rig.env.indexes;
    for (int i = 0; i < STORES; i++)
        list_in(m, i);
    wait_for_jobs(m);
    assert_int_equal(g->nopen, INDEX_OPEN_MAX);
    assert_true(count_connections() >= INDEX_OPEN_MAX);
    for (int i = 0; i < STORES; i++) /* closed ones are opened again */
        list_in(m, i);
    wait_for_jobs(m);
    assert_int_equal(g->nopen, INDEX_OPEN_MAX);
    assert_true(list_empty(&index_at(m, 0)->open));
    assert_null(index_at(m, 0)->sync.db.sql);
}

TEST_WITH(an_index_that_is_not_used_keeps_no_connection, open_many, close_many)
{
    struct many *m = *state;
    struct index_group *g = m->rig.env.indexes;
    uint64_t end = clock_mono_ms() + RIG_WAIT_MS;
    list_in(m, 0);
    list_in(m, 1);
    assert_true(count_connections() >= 2);
    while (g->nopen > 0 && clock_mono_ms() < end) {
        for (int i = 0; i < STORES; i++)
            index_at(m, i)->connected_ms = 0; /* as if it were long ago */
        timer_start(&g->close, 0);
        run_for_a_moment(&m->rig);
    }
    assert_int_equal(g->nopen, 0);
    assert_int_equal(count_connections(), 0);
    list_in(m, 0);
    assert_true(count_connections() > 0);
}

static int count_feeders(void)
{
    char path[64], name[32];
    const struct dirent *e;
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        (void)snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", e->d_name);
        FILE *f = fopen(path, "re");
        if (f && fgets(name, sizeof(name), f))
            n += strcmp(name, "nb-index\n") == 0;
        if (f)
            fclose(f);
    }
    closedir(d);
    return n;
}

/* All of them have text to add at the same time; each gets its turn. */
TEST_WITH(all_indexes_share_a_few_threads, open_many, close_many)
{
    struct many *m = *state;
    uint64_t end = clock_mono_ms() + RIG_WAIT_MS;
    for (int i = 0; i < STORES; i++)
        index_feed_start(index_at(m, i));
    assert_true(m->rig.env.indexes->nfeeds > 0 && !list_empty(&m->rig.env.indexes->feeds));
    for (int i = 0; i < STORES; i++)
        while (index_at(m, i)->state.swept_ms == 0 && clock_mono_ms() < end)
            run_for_a_moment(&m->rig);
    for (int i = 0; i < STORES; i++)
        assert_true(index_at(m, i)->state.swept_ms > 0);
    int n = count_feeders();
    assert_true(n >= 1 && n <= 2);
}
