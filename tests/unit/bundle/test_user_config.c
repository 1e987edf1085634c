#include <errno.h>

#include "bundle/package/user_config.h"
#include "support/unit.h"

static struct arena arena;

static const char MANIFEST[] =
    "{\"manifest_version\":\"0.3\",\"name\":\"m\",\"version\":\"1\",\"server\":{\"type\":\"node\","
    "\"entry_point\":\"a\",\"mcp_config\":{\"command\":\"node\",\"env\":{\"KEY\":"
    "\"${user_config.key}\"}}},\"user_config\":{"
    "\"key\":{\"type\":\"string\",\"required\":true,\"sensitive\":true},"
    "\"n\":{\"type\":\"number\",\"min\":1,\"max\":9,\"default\":5},"
    "\"dirs\":{\"type\":\"directory\",\"multiple\":true,\"default\":[\"${HOME}/a\",\"/b\"]},"
    "\"on\":{\"type\":\"boolean\"},"
    "\"other\":{\"type\":\"string\",\"required\":true}}}";

static struct manifest manifest;

static struct json *object(const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(&arena, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

static const char *environment(void *ctx, const char *name)
{
    return strcmp(name, "KEY") == 0 ? "from-env" : NULL;
}

static str first(const struct user_value *all, const char *key)
{
    const struct manifest_option *o = manifest_option(&manifest, str_from(key));
    const struct user_value *v = &all[o - manifest.options];
    return v->values.len > 0 ? v->values.items[0] : STR("(none)");
}

static void is(str s, const char *expected)
{
    assert_string_equal(arena_cstr(&arena, s), expected);
}

TEST(the_order_of_places)
{
    str allowed[] = {STR("KEY")};
    struct user_value *all;
    struct err e = {0};
    struct user_config_sources from = {
        .given = object("{\"key\":\"given\"}"),
        .stored = object("{\"key\":\"stored\",\"other\":\"x\"}"),
        .mpak = object("{\"key\":\"mpak\",\"on\":true}"),
        .allowed_env = {allowed, 1},
        .getenv = environment,
        .home_dir = "/home/ann",
    };
    assert_int_equal(user_config_resolve(&arena, &manifest, &from, &all, &e), 0);
    is(first(all, "key"), "given");
    is(first(all, "n"), "5");
    is(first(all, "on"), "true");
    is(first(all, "dirs"),
       "(none)"); /* its default is a proposal: only a person shows a directory */
    assert_true(all[0].is_chosen && !all[1].is_chosen);
    from.stored = object("{\"key\":\"stored\",\"dirs\":[\"/a\",\"/b\"],\"other\":\"x\"}");
    assert_int_equal(user_config_resolve(&arena, &manifest, &from, &all, &e), 0);
    assert_int_equal(all[2].values.len, 2);
    assert_true(all[2].is_chosen);
    from.given = object("{\"key\":\"\"}"); /* empty is not given */
    assert_int_equal(user_config_resolve(&arena, &manifest, &from, &all, &e), 0);
    is(first(all, "key"), "stored");
    from.stored = object("{\"other\":\"x\"}");
    assert_int_equal(user_config_resolve(&arena, &manifest, &from, &all, &e), 0);
    is(first(all, "key"), "mpak");
    from.mpak = NULL;
    assert_int_equal(user_config_resolve(&arena, &manifest, &from, &all, &e), 0);
    is(first(all, "key"), "from-env");
    is(first(all, "on"), "(none)");
    /* A variable that the entry does not allow is not read. */
    from.allowed_env.len = 0;
    assert_int_equal(user_config_resolve(&arena, &manifest, &from, &all, &e), -ENOKEY);
}

TEST(all_that_is_missing_is_named)
{
    struct user_value *all;
    struct err e = {0};
    struct user_config_sources from = {0};
    assert_int_equal(user_config_resolve(&arena, &manifest, &from, &all, &e), -ENOKEY);
    assert_string_equal(e.msg, "m needs values that are not set: key, other");
}

static void wrong(const char *stored, const char *message)
{
    struct user_value *all;
    struct err e = {0};
    struct user_config_sources from = {.given = object("{\"key\":\"k\",\"other\":\"o\"}"),
                                       .stored = object(stored)};
    assert_int_equal(user_config_resolve(&arena, &manifest, &from, &all, &e), -EINVAL);
    if (!strstr(e.msg, message))
        fail_msg("expected '%s', got '%s'", message, e.msg);
}

TEST(values_have_types)
{
    wrong("{\"n\":\"many\"}", "must be a number");
    wrong("{\"n\":0}", "at least 1");
    wrong("{\"n\":10}", "at most 9");
    wrong("{\"on\":\"yes\"}", "true or false");
    wrong("{\"n\":[1]}", "one value, not a list");
    wrong("{\"dirs\":[{}]}", "must be a string");
    wrong("{\"dirs\":[\"a\\u0000\"]}", "NUL");
    struct err e = {0};
    assert_int_equal(user_config_check(manifest_option(&manifest, STR("n")), STR("3"), &e), 0);
}

static int setup(void **state)
{
    arena_init(&arena);
    return manifest_parse(&arena, str_from(MANIFEST), &manifest, NULL);
}

static int teardown(void **state)
{
    arena_done(&arena);
    return 0;
}

TESTS_SHARE(setup, teardown)
