#include "bundle/entry/package_command.h"
#include "support/unit.h"

static bool parse(const char *command, const char *const *args, struct package_command *ret)
{
    static str items[16];
    struct json_strs list = {items, 0};
    for (; *args; args++)
        items[list.len++] = str_from(*args);
    return package_command_parse(str_from(command), &list, ret);
}

#define PARSE(c, command, ...) parse(command, (const char *const[]){__VA_ARGS__, NULL}, c)

static void is(str s, const char *text)
{
    assert_true(str_eq(s, str_from(text)));
}

TEST(packages_of_npx_and_uvx)
{
    struct package_command c;
    assert_true(PARSE(&c, "npx", "-y", "@scope/files@^1.2", "/a", "-y"));
    is(c.name, "@scope/files");
    is(c.wanted, "^1.2");
    is(c.program, "");
    assert_true(c.source == PACKAGE_NPM && c.first_arg == 2);
    assert_true(
        PARSE(&c, "/usr/bin/npx", "--yes", "--package=some-server@latest", "--", "run", "x"));
    is(c.name, "some-server");
    is(c.program, "run");
    assert_int_equal(c.first_arg, 4);
    assert_true(PARSE(&c, "npx", "-p", "some-server", "run"));
    is(c.spec, "some-server");
    assert_true(PARSE(&c, "uvx", "--from", "some-server", "run"));
    assert_true(c.source == PACKAGE_PYPI);
}

TEST(other_command_lines)
{
    struct package_command c;
    assert_false(PARSE(&c, "node", "x.js"));
    assert_false(PARSE(&c, "npx", "-y"));
    assert_false(PARSE(&c, "npx", "-c", "some-server"));
    assert_false(PARSE(&c, "npx", "--registry=http://x", "some-server"));
    assert_false(PARSE(&c, "npx", "-p", "a", "-p", "b", "run"));
    assert_false(PARSE(&c, "npx", "./local"));
    assert_false(PARSE(&c, "npx", "/abs/path"));
    assert_false(PARSE(&c, "npx", "https://example.com/x.tgz"));
    assert_false(PARSE(&c, "npx", "github:owner/repository"));
    assert_false(PARSE(&c, "npx", "some-server@https://example.com/x.tgz"));
    assert_false(PARSE(&c, "npx", "some-server@file:../x"));
    assert_false(PARSE(&c, "npx", "some-server@"));
    assert_false(PARSE(&c, "npx", "@scope"));
    assert_false(PARSE(&c, "npx", "../../etc"));
    assert_false(PARSE(&c, "npx", "-p", "some-server", "../run"));
}
