#include "support/unit.h"
#include "tools/alias.h"
#include "tools/names.h"

static str make(str source, str tool)
{
    static char out[TOOL_NAME_MAX + 1];
    size_t n = tool_name_make(source, tool, out);
    assert_int_equal(n, strlen(out));
    assert_true(n <= TOOL_NAME_MAX);
    return str_make(out, n);
}

static void assert_name(str source, str tool, const char *expected)
{
    assert_string_equal(make(source, tool).p, expected);
}

TEST(plain_names_are_joined)
{
    assert_name(STR("nb"), STR("status"), "nb__status");
    assert_name(STR("web-search"), STR("find_pages"), "web-search__find_pages");
    assert_name(STR("a__b"), STR("c"), "a__b__c");
    assert_true(tool_name_is_exact(STR("nb"), STR("status")));
}

TEST(other_characters_are_mapped)
{
    assert_name(STR("files"), STR("read/all"), "files__read_all");
    assert_name(STR("files"), STR("a.b c"), "files__a_b_c");
    assert_name(STR("files"), STR("größe"), "files__gr__e");
    assert_name(STR("files"), STR("日本"), "files____");
    assert_name(STR("files"), STR("\x80\xff"), "files___");
    assert_false(tool_name_is_exact(STR("files"), STR("a.b")));
}

TEST(sixty_four_fit_and_one_more_is_hashed)
{
    char tool[100];
    memset(tool, 't', sizeof(tool));
    assert_int_equal(make(STR("src"), str_make(tool, 59)).n, 64);
    assert_true(tool_name_is_exact(STR("src"), str_make(tool, 59)));
    assert_false(tool_name_is_exact(STR("src"), str_make(tool, 60)));

    char first[TOOL_NAME_MAX + 1], second[TOOL_NAME_MAX + 1];
    tool_name_make(STR("src"), str_make(tool, 60), first);
    tool_name_make(STR("src"), str_make(tool, 61), second);
    assert_int_equal(strlen(first), 64);
    assert_int_equal(strlen(second), 64);
    assert_string_not_equal(first, second);
    assert_memory_equal(first, second, 56);
    assert_int_equal(first[64 - TOOL_NAME_HASH_LEN - 1], '_');

    char again[TOOL_NAME_MAX + 1];
    tool_name_make(STR("src"), str_make(tool, 60), again);
    assert_string_equal(first, again);
}

/* Pinned: names are stored in logs and must mean the same tool in a later version. */
TEST(the_hash_does_not_change)
{
    char out[TOOL_NAME_MAX + 1];
    tool_name_make_hashed(STR("a"), STR("b"), out);
    assert_string_equal(out, "a__b_59b271ae");
}

TEST(the_hash_sees_where_the_source_ends)
{
    char x[TOOL_NAME_MAX + 1], y[TOOL_NAME_MAX + 1];
    tool_name_make_hashed(STR("a"), STR("b__c"), x);
    tool_name_make_hashed(STR("a__b"), STR("c"), y);
    assert_string_not_equal(x, y);
}

TEST(split_by_the_longest_source)
{
    const str sources[] = {STR_INIT("a"), STR_INIT("a__b"), STR_INIT("nb")};
    str source, tool;

    assert_true(tool_name_split(STR("a__b__c"), sources, 3, &source, &tool));
    assert_true(str_eq(source, STR("a__b")) && str_eq(tool, STR("c")));
    assert_true(tool_name_split(STR("a__x__c"), sources, 3, &source, &tool));
    assert_true(str_eq(source, STR("a")) && str_eq(tool, STR("x__c")));
    assert_true(tool_name_split(STR("nb__"), sources, 3, &source, &tool));
    assert_int_equal(tool.n, 0);
    assert_false(tool_name_split(STR("nb_status"), sources, 3, &source, &tool));
    assert_false(tool_name_split(STR("other__x"), sources, 3, &source, &tool));
    assert_false(tool_name_split(STR(""), sources, 3, &source, &tool));
}

TEST(names_of_sources)
{
    char longest[TOOL_NAME_MAX + 1];
    memset(longest, 'x', sizeof(longest));
    assert_true(tool_source_name_valid(STR("my-server_2")));
    assert_true(tool_source_name_valid(str_make(longest, TOOL_NAME_MAX)));
    assert_false(tool_source_name_valid(str_make(longest, TOOL_NAME_MAX + 1)));
    assert_false(tool_source_name_valid(STR("")));
    assert_false(tool_source_name_valid(STR("a b")));
    assert_false(tool_source_name_valid(STR("a/b")));
}

TEST(system_names)
{
    assert_true(tool_name_is_system(STR("nb__status")));
    assert_false(tool_name_is_system(STR("nb_status")));
    assert_false(tool_name_is_system(STR("nbx__status")));
}

TEST(older_names)
{
    struct arena a;
    struct json *args;
    arena_init(&a);
    assert_true(
        str_eq(tool_alias(STR("manage_conversation"), NULL), STR("nb__manage_conversation")));
    assert_true(str_eq(tool_alias(STR("nb__manage_app"), NULL), STR("nb__manage_bundle")));
    assert_true(str_eq(tool_alias(STR("nb__search"), NULL), STR("nb__discover_tools")));
    assert_int_equal(json_parse(&a, STR("{\"scope\":\"registry\"}"), 0, &args, NULL), 0);
    assert_true(str_eq(tool_alias(STR("nb__search"), args), STR("nb__discover_bundles")));
    assert_true(str_eq(tool_alias(STR("nb__status"), args), STR("nb__status")));
    arena_done(&a);
}
