/* What indexes hold while they sweep a directory. */
#include <stdio.h>

#include "index_rig.h"
#include "store/index/index_impl.h"
#include "support/heap_count.h"

enum { FEW = 1500, MANY = 6000 };

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
