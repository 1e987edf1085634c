#include "bundle/confine/path_list.h"
#include "support/unit.h"

TEST(below_is_a_matter_of_whole_names)
{
    assert_true(path_is_below(STR("/a/b"), STR("/a")));
    assert_false(path_is_below(STR("/ab"), STR("/a")));
    assert_false(path_is_below(STR("/a"), STR("/a")));
    assert_true(path_is_at_or_below(STR("/a"), STR("/a")));
    assert_true(path_is_below(STR("/a"), STR("/")));
    assert_false(path_is_below(STR("/"), STR("/")));
}

TEST(cleaning_follows_the_letters)
{
    static const struct {
        str path, expected;
    } CASES[] = {
        {STR_INIT("/a//b/./c/"), STR_INIT("/a/b/c")},
        {STR_INIT("/a/../../b"), STR_INIT("/b")},
        {STR_INIT("x/y"), STR_INIT("/base/x/y")},
        {STR_INIT("../x"), STR_INIT("/x")},
        {STR_INIT("~"), STR_INIT("/home/me")},
        {STR_INIT("~/notes/.."), STR_INIT("/home/me")},
        {STR_INIT("~other/x"), STR_INIT("/base/~other/x")},
        {STR_INIT("/.."), STR_INIT("/")},
        {STR_INIT(""), STR_INIT("/base")},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        str got = path_clean(&a, CASES[i].path, STR("/base"), STR("/home/me"));
        assert_true(str_eq(got, CASES[i].expected));
    }
    arena_done(&a);
}

TEST(a_list_has_each_path_once_and_a_ceiling)
{
    struct arena a;
    struct path_list l = {0};
    arena_init(&a);
    path_list_add(&a, &l, STR("/a"));
    path_list_add(&a, &l, STR("/a"));
    path_list_add(&a, &l, STR(""));
    assert_int_equal(l.n, 1);
    for (int i = 0; i < PATH_LIST_MAX + 10; i++)
        path_list_add(&a, &l, arena_printf(&a, "/x%d", i));
    assert_int_equal(l.n, PATH_LIST_MAX);
    assert_string_equal(l.at[0], "/a");
    arena_done(&a);
}
