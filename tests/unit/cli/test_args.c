#include <errno.h>

#include "cli/args.h"
#include "support/unit.h"

struct opts {
    bool is_json, is_quiet;
    const char *name;
    int port;
    struct arg_list files;
};

static const struct arg TABLE[] = {
    {"json", 'j', ARG_FLAG, NULL, "JSON", offsetof(struct opts, is_json)},
    {"quiet", 'q', ARG_FLAG, NULL, "quiet", offsetof(struct opts, is_quiet)},
    {"name", 'n', ARG_STRING, "NAME", "a name", offsetof(struct opts, name)},
    {"port", 0, ARG_INT, "N", "a port", offsetof(struct opts, port)},
    {"file", 'f', ARG_LIST, "FILE", "files", offsetof(struct opts, files)},
    {0}};

#define PARSE(stop, ...)                                                                           \
    const char *words[] = {__VA_ARGS__};                                                           \
    char *argv[ARRAY_LEN(words)];                                                                  \
    memcpy(argv, words, sizeof words);                                                             \
    struct opts o = {0};                                                                           \
    struct err e = {0};                                                                            \
    int n = -1, r = args_parse(TABLE, &o, (int)ARRAY_LEN(argv), argv, stop, &n, &e)

TEST(forms)
{
    PARSE(false, "one", "--name", "x", "--port=8", "-jq", "-fA", "-f", "B", "two", "--", "--json");
    assert_int_equal(r, 0);
    assert_int_equal(n, 3);
    assert_string_equal(argv[0], "one");
    assert_string_equal(argv[1], "two");
    assert_string_equal(argv[2], "--json");
    assert_true(o.is_json && o.is_quiet);
    assert_string_equal(o.name, "x");
    assert_int_equal(o.port, 8);
    assert_int_equal(o.files.len, 2);
    assert_string_equal(o.files.items[0], "A");
    assert_string_equal(o.files.items[1], "B");
}

TEST(stops_at_operand)
{
    PARSE(true, "--json", "serve", "--port", "x");
    assert_int_equal(r, 0);
    assert_int_equal(n, 3);
    assert_string_equal(argv[0], "serve");
    assert_string_equal(argv[2], "x");
}

TEST(mistakes)
{
    {
        PARSE(false, "--nope");
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(e.msg, "--nope"));
    }
    {
        PARSE(false, "-x");
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(e.msg, "-x"));
    }
    {
        PARSE(false, "--name");
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(e.msg, "needs a value"));
    }
    {
        PARSE(false, "--json=1");
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(e.msg, "no value"));
    }
    {
        PARSE(false, "--port", "-1");
        assert_int_equal(r, -EINVAL);
    }
    {
        PARSE(false, "--port", "99999999999");
        assert_int_equal(r, -EINVAL);
    }
}
