#include <errno.h>

#include "engine/permission.h"
#include "support/unit.h"

static struct arena arena;

static struct permission_rules rules(const char *json)
{
    struct json *conf = NULL;
    struct permission_rules r;
    struct err e = {0};
    if (json)
        assert_int_equal(json_parse(&arena, str_from(json), 0, &conf, &e), 0);
    assert_int_equal(permission_decode(&arena, conf, &r, &e), 0);
    return r;
}

static enum permission decide(const struct permission_rules *r, const char *name,
                              const char *annotations)
{
    struct json *a = NULL;
    if (annotations)
        assert_int_equal(json_parse(&arena, str_from(annotations), 0, &a, NULL), 0);
    struct tool t = {.annotations = a};
    struct toolset_item it = {.name = str_from(name), .tool = &t};
    return permission_decide(r, &it);
}

#define READS    "{\"readOnlyHint\":true}"
#define DESTROYS "{\"destructiveHint\":true}"

TEST(by_nature)
{
    struct permission_rules r = rules(NULL);
    assert_int_equal(decide(&r, "fs__read", NULL), PERMISSION_ALLOW);
    assert_int_equal(decide(&r, "fs__delete", DESTROYS), PERMISSION_ASK);
    assert_int_equal(decide(&r, "nb__status", READS), PERMISSION_ALLOW);
    assert_int_equal(decide(&r, "nb__manage_skill", NULL), PERMISSION_ASK);
    r = rules("{\"default\":\"ask\"}");
    assert_int_equal(decide(&r, "fs__read", READS), PERMISSION_ASK);
    assert_int_equal(decide(&r, "nb__status", READS), PERMISSION_ALLOW);
    assert_int_equal(decide(&r, "fs__undeclared", NULL), PERMISSION_ASK);
    assert_int_equal(decide(&r, "fs__undeclared", "{}"), PERMISSION_ASK);
    assert_int_equal(decide(&r, "fs__tame", "{\"destructiveHint\":false}"), PERMISSION_ASK);
}

TEST(unconfined_tools_ask)
{
    struct permission_rules r = rules(NULL), allowed = rules("{\"allow\":[\"bash__*\"]}");
    struct tool t = {.is_unconfined = true};
    struct toolset_item it = {.name = STR("bash__bash_exec"), .tool = &t};
    assert_int_equal(permission_decide(&r, &it), PERMISSION_ASK);
    assert_int_equal(permission_decide(&allowed, &it), PERMISSION_ALLOW);
}

TEST(rules)
{
    struct permission_rules r = rules("{\"allow\":[\"fs__*\",\"nb__manage_skill\"],\"ask\":[\"web__"
                                      "*\",\"fs__x\"],\"deny\":[\"*__rm\"]}");
    assert_int_equal(decide(&r, "fs__rm", NULL), PERMISSION_DENY);
    assert_int_equal(decide(&r, "fs__delete", DESTROYS), PERMISSION_ALLOW);
    assert_int_equal(decide(&r, "fs__x", NULL), PERMISSION_ALLOW); /* allow beats ask */
    assert_int_equal(decide(&r, "web__get", NULL), PERMISSION_ASK);
    assert_int_equal(decide(&r, "nb__manage_skill", NULL), PERMISSION_ALLOW);
}

TEST(mistakes)
{
    static const char *const BAD[] = {"{\"default\":\"deny\"}", "{\"allow\":\"x\"}",
                                      "{\"deny\":[1]}", "{\"dney\":[\"a\"]}"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        struct json *conf;
        struct permission_rules r;
        struct err e = {0};
        assert_int_equal(json_parse(&arena, str_from(BAD[i]), 0, &conf, NULL), 0);
        assert_int_equal(permission_decode(&arena, conf, &r, &e), -EINVAL);
        assert_non_null(strstr(e.msg, "permissions."));
    }
}

static int check(const char *text, struct err *e)
{
    struct json *conf;
    struct permission_rules r;
    assert_int_equal(json_parse(&arena, str_from(text), 0, &conf, NULL), 0);
    assert_int_equal(permission_decode(&arena, conf, &r, NULL), 0);
    return permission_check(&r, e);
}

TEST(globs_that_match_nothing)
{
    static const char *const BAD[] = {"", "a b", "a.b", "ü", "a/*", "a\\nb"};
    struct err e = {0};
    assert_int_equal(check("{\"allow\":[\"*\",\"files__*\"],\"deny\":[\"a-b__C_9\"]}", &e), 0);
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        const char *text = arena_printf(&arena, "{\"ask\":[\"x\",\"%s\"]}", BAD[i]).p;
        assert_int_equal(check(text, &e), -EINVAL);
        assert_non_null(strstr(e.msg, "permissions.ask"));
    }
    char long_one[PERMISSION_GLOB_MAX + 2] = {0};
    memset(long_one, 'a', PERMISSION_GLOB_MAX + 1);
    assert_int_equal(check(arena_printf(&arena, "{\"deny\":[\"%s\"]}", long_one).p, &e), -EINVAL);
    assert_int_equal(check(arena_printf(&arena, "{\"deny\":[\"%s\"]}", long_one + 1).p, &e), 0);
}

static int set_up(void **state)
{
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    arena_done(&arena);
    return 0;
}

TESTS_SHARE(set_up, tear_down)
