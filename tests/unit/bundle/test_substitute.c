#include "bundle/package/user_config.h"
#include "unit/bundle/arena_rig.h"

static str ONE[] = {STR_INIT("s3${HOME}t")}, TWO[] = {STR_INIT("/a"), STR_INIT("/b")};
static struct manifest_option OPTIONS[] = {
    {.key = STR_INIT("key"), .is_sensitive = true},
    {.key = STR_INIT("dirs"), .is_multiple = true},
    {.key = STR_INIT("unset")},
};
static struct user_value VALUES[] = {
    {&OPTIONS[0], {ONE, 1}}, {&OPTIONS[1], {TWO, 2}}, {&OPTIONS[2], {NULL, 0}}};
static const struct variables VARS = {"/opt/b", "/home/ann", "/data/b", VALUES, 3};

static void becomes(const char *text, const char *expected)
{
    str got = substitute_text(&arena, str_from(text), &VARS);
    assert_string_equal(arena_cstr(&arena, got), expected);
}

TEST(variables_are_replaced)
{
    becomes("", "");
    becomes("plain $HOME $ {HOME}", "plain $HOME $ {HOME}");
    becomes("${__dirname}/x${/}y", "/opt/b/x/y");
    becomes("${HOME}|${DESKTOP}|${DOCUMENTS}|${DOWNLOADS}|${DATA_DIR}|${pathSeparator}",
            "/home/ann|/home/ann/Desktop|/home/ann/Documents|/home/ann/Downloads|/data/b|/");
    becomes("--dirs=${user_config.dirs}", "--dirs=/a,/b");
    becomes("[${user_config.unset}]", "[]");
}

TEST(what_was_put_in_is_not_looked_at_again)
{
    becomes("${user_config.key}!", "s3${HOME}t!");
}

TEST(what_is_not_known_stays)
{
    struct variables none = {0};
    becomes("${nobody} ${ ${user_config.", "${nobody} ${ ${user_config.");
    str got = substitute_text(&arena, STR("${HOME}"), &none);
    assert_string_equal(arena_cstr(&arena, got), "${HOME}");
}

TEST(questions_about_a_text)
{
    assert_ptr_equal(substitute_whole(STR("${user_config.dirs}"), &VARS), &VALUES[1]);
    assert_null(substitute_whole(STR("x${user_config.dirs}"), &VARS));
    assert_null(substitute_whole(STR("${user_config.dirs}x"), &VARS));
    assert_null(substitute_whole(STR("${HOME}"), &VARS));
    assert_ptr_equal(substitute_secret(STR("${HOME}-${user_config.key}"), &VARS), &VALUES[0]);
    assert_null(substitute_secret(STR("${user_config.dirs}"), &VARS));
    assert_true(str_eq(substitute_unknown(STR("${user_config.zz}"), &VARS), STR("zz")));
    assert_int_equal(substitute_unknown(STR("${user_config.key}${zz}"), &VARS).n, 0);
}

TESTS_SHARE(setup, teardown)
