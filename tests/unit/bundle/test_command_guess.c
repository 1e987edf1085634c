#include "bundle/entry/package_command.h"
#include "support/unit.h"

TEST(programs_that_fetch_programs)
{
    assert_true(command_fetches(STR("npx")) && command_fetches(STR("/opt/bin/uvx")));
    assert_false(command_fetches(STR("node")) || command_fetches(STR("npx-like")));
    assert_false(command_fetches(STR("/opt/npx/run")) || command_fetches(STR("")));
}

static size_t unseen(const char *entry, str ret[2])
{
    static struct arena a;
    struct json *v;
    struct bundle_entry b;
    struct err e = {0};
    arena_init(&a);
    assert_int_equal(json_parse(&a, str_from(entry), 0, &v, &e), 0);
    assert_int_equal(bundle_entry_decode(&a, v, "/", &b, &e), 0);
    struct json_strs found = command_unseen_paths(&a, &b);
    for (size_t i = 0; i < found.len && i < 2; i++)
        ret[i] = (str){found.items[i].p[0] == '~' ? "~" : "/", 1};
    size_t n = found.len;
    arena_done(&a);
    return n;
}

TEST(paths_that_are_not_shown)
{
    str is[2];
    assert_int_equal(
        unseen(
            "{\"serverName\":\"s\",\"command\":\"npx\",\"args\":[\"-y\",\"@x/fs\",\"/a\",\"~/b\"]}",
            is),
        2);
    assert_true(str_eq(is[0], STR("/")) && str_eq(is[1], STR("~")));
    assert_int_equal(
        unseen("{\"serverName\":\"s\",\"command\":\"node\",\"args\":[\"/app/x.js\",\"a/b\"]}", is),
        0);
    assert_int_equal(
        unseen("{\"serverName\":\"s\",\"command\":\"node\",\"args\":[\"x\",\"/a/b\",\"~/c/d\"],"
               "\"sandbox\":{\"read\":[\"/a/\"],\"write\":[\"~/c\"]}}",
               is),
        0);
    assert_int_equal(unseen("{\"serverName\":\"s\",\"command\":\"node\",\"args\":[\"x\",\"/"
                            "a\"],\"sandbox\":\"off\"}",
                            is),
                     0);
    assert_int_equal(unseen("{\"serverName\":\"s\",\"command\":\"node\"}", is), 0);
}
