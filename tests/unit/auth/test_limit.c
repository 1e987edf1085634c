#include "auth/session/limit.h"
#include "support/unit.h"

TEST(by_key)
{
    struct limit l;
    limit_init(&l, 3, 100);
    for (int i = 0; i < 3; i++)
        assert_true(limit_take(&l, STR("a"), 1000));
    assert_false(limit_take(&l, STR("a"), 1000));
    assert_true(limit_take(&l, STR("b"), 1000));
    assert_false(limit_take(&l, STR("a"), 60999));
    assert_true(limit_take(&l, STR("a"), 61000)); /* a new window */
    limit_give_back(&l, STR("b"), 1000);
    limit_give_back(&l, STR("never"), 1000);
    for (int i = 0; i < 3; i++)
        assert_true(limit_take(&l, STR("b"), 1000));
    assert_false(limit_take(&l, STR("b"), 1000));
    limit_done(&l);
}

TEST(in_all)
{
    struct limit l;
    char key[16];
    limit_init(&l, 3, 5);
    for (int i = 0; i < 5; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_true(limit_take(&l, str_from(key), 0));
    }
    assert_false(limit_take(&l, STR("new"), 0));
    limit_give_back(&l, STR("0"), 0);
    assert_true(limit_take(&l, STR("new"), 0));
    assert_false(limit_take(&l, STR("newer"), 0));
    limit_done(&l);
}

TEST(memory_has_an_end)
{
    struct limit l;
    char key[16];
    limit_init(&l, 1, 1000000);
    for (int i = 0; i < LIMIT_KEYS_MAX + 10; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_true(limit_take(&l, str_from(key), 0));
    }
    assert_int_equal(map_len(&l.windows), LIMIT_KEYS_MAX);
    assert_true(limit_take(&l, STR("later"), 60000)); /* the old ones make room */
    assert_int_equal(map_len(&l.windows), 1);
    limit_done(&l);
}
