#include "base/arena.h"
#include "base/map.h"
#include "support/unit.h"

static char X, Y;

TEST(put_get_del)
{
    struct map m;
    map_init(&m);
    assert_null(map_get(&m, STR("a")));
    assert_null(map_del(&m, STR("a")));
    assert_null(map_put(&m, STR("a"), &X));
    assert_ptr_equal(map_get(&m, STR("a")), &X);
    assert_ptr_equal(map_put(&m, STR("a"), &Y), &X);
    assert_int_equal(map_len(&m), 1);
    assert_ptr_equal(map_del(&m, STR("a")), &Y);
    assert_null(map_get(&m, STR("a")));
    assert_int_equal(map_len(&m), 0);
    map_done(&m);
    struct map zero = {0};
    map_done(&zero);
}

TEST(keys_are_copied_bytes)
{
    struct map m;
    map_init(&m);
    char key[] = "mutable";
    map_put(&m, str_from(key), &X);
    key[0] = 'M';
    assert_ptr_equal(map_get(&m, STR("mutable")), &X);
    map_put(&m, STR("a\0b"), &Y);
    assert_null(map_get(&m, STR("a")));
    assert_ptr_equal(map_get(&m, STR("a\0b")), &Y);
    map_put(&m, STR(""), &X);
    assert_ptr_equal(map_get(&m, STR_NONE), &X);
    size_t i = 0;
    assert_string_equal(map_next(&m, &i)->key.p, "mutable");
    map_done(&m);
}

TEST(every_key_length_hashes_all_its_bytes)
{
    struct map m;
    map_init(&m);
    char key[64];
    memset(key, 'k', sizeof(key));
    for (size_t n = 0; n < sizeof(key); n++)
        map_put(&m, str_make(key, n), &key[n]);
    for (size_t n = 0; n < sizeof(key); n++)
        assert_ptr_equal(map_get(&m, str_make(key, n)), &key[n]);
    map_done(&m);
}

TEST(order_survives_growth_and_removal)
{
    struct map m;
    struct arena a;
    map_init(&m);
    arena_init(&a);
    for (int i = 0; i < 5000; i++)
        map_put(&m, arena_printf(&a, "key %d", i), &X);
    for (int i = 0; i < 5000; i += 2)
        assert_ptr_equal(map_del(&m, arena_printf(&a, "key %d", i)), &X);
    map_put(&m, STR("key 0"), &Y);
    struct map_entry *e;
    int expected = 1;
    for (size_t i = 0; (e = map_next(&m, &i));) {
        str want = expected < 5000 ? arena_printf(&a, "key %d", expected) : STR("key 0");
        assert_true(str_eq(e->key, want));
        expected += 2;
    }
    assert_int_equal(expected, 5003);
    assert_int_equal(map_len(&m), 2501);
    arena_done(&a);
    map_done(&m);
}

TEST(removal_while_walking)
{
    struct map m;
    struct arena a;
    map_init(&m);
    arena_init(&a);
    for (int i = 0; i < 100; i++)
        map_put(&m, arena_printf(&a, "%d", i), &X);
    struct map_entry *e;
    size_t seen = 0;
    for (size_t i = 0; (e = map_next(&m, &i));) {
        seen++;
        map_del(&m, e->key);
    }
    assert_int_equal(seen, 100);
    assert_int_equal(map_len(&m), 0);
    arena_done(&a);
    map_done(&m);
}

TEST(churn_does_not_grow)
{
    struct map m;
    struct arena a;
    map_init(&m);
    arena_init(&a);
    for (int i = 0; i < 20000; i++) {
        map_put(&m, arena_printf(&a, "%d", i), &X);
        if (i >= 4)
            map_del(&m, arena_printf(&a, "%d", i - 4));
        arena_reset(&a);
    }
    assert_int_equal(map_len(&m), 4);
    assert_true(m.nslots <= 64);
    arena_done(&a);
    map_done(&m);
}

TEST(seeds_differ)
{
    struct map m, n;
    map_init(&m);
    map_init(&n);
    map_put(&m, STR("a"), &X);
    map_put(&n, STR("a"), &X);
    assert_true(m.entries[0].hash != n.entries[0].hash);
    map_done(&m);
    map_done(&n);
}
