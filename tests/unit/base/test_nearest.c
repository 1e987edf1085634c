#include "base/nearest.h"
#include "support/unit.h"

TEST(edit_distance)
{
    assert_int_equal(edit_distance(STR(""), STR("")), 0);
    assert_int_equal(edit_distance(STR("abc"), STR("")), 3);
    assert_int_equal(edit_distance(STR(""), STR("abc")), 3);
    assert_int_equal(edit_distance(STR("kitten"), STR("sitting")), 3);
    assert_int_equal(edit_distance(STR("Status"), STR("status")), 0);
}

TEST(neighbours_that_changed_places_are_one_step)
{
    assert_int_equal(edit_distance(STR("bundels"), STR("bundles")), 1);
    assert_int_equal(edit_distance(STR("ab"), STR("ba")), 1);
    assert_int_equal(edit_distance(STR("stauts"), STR("status")), 1);
}

TEST(only_the_beginning_of_a_giant_counts)
{
    char giant[NEAREST_WORD_MAX * 2];
    memset(giant, 'a', sizeof(giant));
    assert_int_equal(edit_distance(str_make(giant, sizeof(giant)), STR("")), NEAREST_WORD_MAX);
}

static const char *nearest_of(const char *wanted)
{
    static const char *const WORDS[] = {"list", "show", "search", "rename", "ls", NULL};
    struct nearest n = nearest_to(str_from(wanted));
    for (size_t i = 0; WORDS[i]; i++)
        nearest_offer(&n, WORDS[i]);
    return n.best;
}

TEST(the_nearest_wins)
{
    assert_string_equal(nearest_of("lst"), "list");
    assert_string_equal(nearest_of("serach"), "search");
    assert_string_equal(nearest_of("RENAME"), "rename");
    assert_string_equal(nearest_of("remane"), "rename");
}

TEST(nothing_is_near)
{
    assert_null(nearest_of("frobnicate"));
    assert_null(nearest_of("x"));
    assert_null(nearest_of(""));
}
