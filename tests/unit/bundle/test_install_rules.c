#include <errno.h>

#include "bundle/entry/install_rules.h"
#include "unit/bundle/arena_rig.h"

static int check(const char *text, enum install_rights rights, const struct json_strs *allowed)
{
    struct json *entry;
    struct err e = {0};
    assert_int_equal(json_parse(&arena, str_from(text), JSON_COPY, &entry, NULL), 0);
    int rc = install_check(entry, rights, allowed, &e);
    assert_true((rc < 0) == (e.msg[0] != 0));
    return rc;
}

static const struct json_strs UNSET;

TEST(admins_install_nothing_that_the_owner_has_not_listed)
{
    static const char *const ENTRIES[] = {"{\"name\":\"@a/b\"}", "{\"url\":\"https://x.io/mcp\"}",
                                          "{\"url\":\"http://x.io/mcp\"}"};
    for (size_t i = 0; i < ARRAY_LEN(ENTRIES); i++) {
        assert_int_equal(check(ENTRIES[i], INSTALL_AS_ADMIN, &UNSET), -EPERM);
        assert_int_equal(check(ENTRIES[i], INSTALL_AS_OWNER, &UNSET), 0);
    }
}

TEST(the_rest_is_for_owners)
{
    static const struct {
        const char *entry;
        enum install_rights least;
    } CASES[] = {
        {"{\"path\":\"/tmp/p\"}", INSTALL_AS_OWNER},
        {"{\"name\":\"@a/b\",\"env\":{\"LD_PRELOAD\":\"/x\"}}", INSTALL_AS_OWNER},
        {"{\"url\":\"https://x.io\",\"transport\":{\"headers\":{\"A\":\"b\"}}}", INSTALL_AS_OWNER},
        {"{\"name\":\"@a/b\",\"protected\":true}", INSTALL_AS_OWNER},
        {"{\"name\":\"@a/b\",\"unheardOf\":1}", INSTALL_AS_OWNER},
        {"{\"name\":\"@a/b\",\"memoryMb\":512}", INSTALL_AS_ADMIN},
        {"{\"name\":\"@a/b\",\"memoryMb\":1024}", INSTALL_AS_ADMIN},
        {"{\"name\":\"@a/b\",\"memoryMb\":1025}", INSTALL_AS_OWNER},
        {"{\"name\":\"@a/b\",\"diskMb\":10240}", INSTALL_AS_ADMIN},
        {"{\"name\":\"@a/b\",\"diskMb\":10241}", INSTALL_AS_OWNER},
        {"{\"command\":\"sh\"}", INSTALL_ON_MACHINE},
        {"{\"name\":\"@a/b\",\"sandbox\":\"off\"}", INSTALL_ON_MACHINE},
        {"{\"name\":\"@a/b\",\"allowedEnv\":[\"X\"]}", INSTALL_ON_MACHINE},
        {"{\"name\":\"@a/b\",\"userConfig\":{\"d\":\"/\"}}", INSTALL_ON_MACHINE},
        {"{\"url\":\"https://x.io\",\"allowPrivate\":true}", INSTALL_ON_MACHINE},
    };
    str items[] = {STR("@a/*"), STR("https://*")};
    struct json_strs listed = {items, ARRAY_LEN(items)};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        for (int rights = INSTALL_AS_ADMIN; rights <= INSTALL_ON_MACHINE; rights++)
            assert_int_equal(check(CASES[i].entry, (enum install_rights)rights, &listed),
                             rights >= (int)CASES[i].least ? 0 : -EPERM);
    }
}

TEST(the_owner_says_what_admins_may_install)
{
    str items[] = {STR("@ours/*"), STR("https://mcp.ours.io/*")};
    struct json_strs some = {items, 2}, none = {items, 0};
    assert_int_equal(check("{\"name\":\"@ours/b\"}", INSTALL_AS_ADMIN, &some), 0);
    assert_int_equal(check("{\"name\":\"@theirs/b\"}", INSTALL_AS_ADMIN, &some), -EPERM);
    assert_int_equal(check("{\"url\":\"https://mcp.ours.io/x\"}", INSTALL_AS_ADMIN, &some), 0);
    assert_int_equal(check("{\"url\":\"https://x.io/@ours/\"}", INSTALL_AS_ADMIN, &some), -EPERM);
    assert_int_equal(check("{\"name\":\"@ours/b\"}", INSTALL_AS_ADMIN, &none), -EPERM);
    assert_int_equal(check("{\"name\":\"@theirs/b\"}", INSTALL_AS_OWNER, &none), 0);
}

TESTS_SHARE(setup, teardown)
