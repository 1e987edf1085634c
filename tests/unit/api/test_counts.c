#include "api/ingress/counts.h"
#include "support/unit.h"

TEST(each_person_has_a_limit_of_their_own)
{
    struct person_counts c;
    counts_init(&c);
    assert_true(counts_begin(&c, STR("usr_a"), 2));
    assert_true(counts_begin(&c, STR("usr_a"), 2));
    assert_false(counts_begin(&c, STR("usr_a"), 2));
    assert_true(counts_begin(&c, STR("usr_b"), 2));
    assert_int_equal(c.total, 3); /* what was refused does not count */
    assert_true(counts_begin(&c, STR("usr_a"), SIZE_MAX));
    counts_end(&c, STR("usr_a"));
    counts_end(&c, STR("usr_a"));
    assert_true(counts_begin(&c, STR("usr_a"), 2));
    counts_done(&c);
}

TEST(people_without_work_in_progress_are_forgotten)
{
    struct person_counts c;
    counts_init(&c);
    assert_false(counts_begin(&c, STR("usr_a"), 0));
    assert_int_equal(map_len(&c.people), 0);
    for (int i = 0; i < 3; i++)
        assert_true(counts_begin(&c, STR("usr_a"), 3));
    for (int i = 0; i < 3; i++)
        counts_end(&c, STR("usr_a"));
    assert_int_equal(map_len(&c.people), 0);
    assert_int_equal(c.total, 0);
    counts_done(&c);
}
