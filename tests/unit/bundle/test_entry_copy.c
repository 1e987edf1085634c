#include "bundle/entry/entry.h"
#include "support/unit.h"

static struct bundle_entry decode(struct arena *a, const char *text)
{
    struct json *v;
    struct bundle_entry e;
    struct err err = {0};
    assert_int_equal(json_parse(a, str_from(text), JSON_COPY, &v, NULL), 0);
    if (bundle_entry_decode(a, v, "/", &e, &err) < 0)
        fail_msg("%s", err.msg);
    return e;
}

TEST(a_copy_outlives_its_source)
{
    struct arena source, copy;
    arena_init(&source);
    arena_init(&copy);
    struct bundle_entry e =
        decode(&source, "{\"serverName\":\"x\",\"command\":\"/bin/cat\",\"args\":[\"a\",\"b\"],"
                        "\"env\":{\"K\":\"V\"},\"sandbox\":{\"read\":[\"/r\"],\"network\":true},"
                        "\"ui\":{\"name\":\"X\"}}");
    struct bundle_entry c = bundle_entry_copy(&copy, &e);
    assert_true(bundle_entry_runs_alike(&c, &e));
    arena_done(&source);
    assert_true(str_eq(c.args.items[1], STR("b")));
    assert_true(str_eq(c.env[0].value, STR("V")));
    assert_true(str_eq(c.sandbox.read.items[0], STR("/r")));
    assert_true(str_eq(json_get_string(c.ui, "name"), STR("X")));
    arena_done(&copy);
}

TEST(what_matters_to_a_running_server)
{
    static const struct {
        const char *x, *y;
        bool is_alike;
    } CASES[] = {
        {"{\"serverName\":\"x\",\"command\":\"c\"}",
         "{\"serverName\":\"x\",\"command\":\"c\",\"protected\":true}", true},
        {"{\"serverName\":\"x\",\"command\":\"c\"}",
         "{\"serverName\":\"x\",\"command\":\"c\",\"trustScore\":5}", true},
        {"{\"serverName\":\"x\",\"command\":\"c\"}",
         "{\"serverName\":\"x\",\"command\":\"c\",\"args\":[\"1\"]}", false},
        {"{\"serverName\":\"x\",\"command\":\"c\"}",
         "{\"serverName\":\"x\",\"command\":\"c\",\"env\":{\"A\":\"1\"}}", false},
        {"{\"serverName\":\"x\",\"command\":\"c\"}",
         "{\"serverName\":\"x\",\"command\":\"c\",\"sandbox\":\"off\"}", false},
        {"{\"serverName\":\"x\",\"command\":\"c\"}",
         "{\"serverName\":\"x\",\"command\":\"c\",\"sandbox\":{\"write\":[\"/w\"]}}", false},
        {"{\"serverName\":\"x\",\"command\":\"c\"}",
         "{\"serverName\":\"x\",\"command\":\"c\",\"memoryMb\":64}", false},
        {"{\"serverName\":\"x\",\"command\":\"c\"}",
         "{\"serverName\":\"x\",\"url\":\"https://example.com/mcp\"}", false},
        {"{\"serverName\":\"x\",\"url\":\"https://example.com/mcp\"}",
         "{\"serverName\":\"x\",\"url\":\"https://example.com/mcp\",\"transport\":{\"headers\":{"
         "\"A\":\"b\"}}}",
         false},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct bundle_entry x = decode(&a, CASES[i].x), y = decode(&a, CASES[i].y);
        assert_int_equal(bundle_entry_runs_alike(&x, &y), CASES[i].is_alike);
        assert_int_equal(bundle_entry_runs_alike(&y, &x), CASES[i].is_alike);
    }
    arena_done(&a);
}
