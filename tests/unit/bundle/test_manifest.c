#include <errno.h>

#include "bundle/package/manifest.h"
#include "unit/bundle/arena_rig.h"

#define HEAD "\"manifest_version\":\"0.3\",\"name\":\"echo\",\"version\":\"1.2.0\""
#define NODE "\"server\":{\"type\":\"node\",\"entry_point\":\"server/index.js\"}"

static struct manifest good(const char *text)
{
    struct manifest m;
    struct err e = {0};
    if (manifest_parse(&arena, str_from(text), &m, &e) < 0)
        fail_msg("%s: %s", text, e.msg);
    return m;
}

static void bad(const char *text, const char *message)
{
    struct manifest m;
    struct err e = {0};
    if (manifest_parse(&arena, str_from(text), &m, &e) != -EINVAL)
        fail_msg("%s was accepted", text);
    if (!strstr(e.msg, message))
        fail_msg("%s: expected '%s', got '%s'", text, message, e.msg);
}

static void is(str s, const char *expected)
{
    assert_string_equal(arena_cstr(&arena, s), expected);
}

TEST(variables_that_load_code_are_refused)
{
    static const char *const NAMES[] = {"LD_PRELOAD", "GCONV_PATH", "OPENSSL_CONF", "BASH_ENV"};
    for (size_t i = 0; i < 2 * ARRAY_LEN(NAMES); i++) {
        const char *name = NAMES[i / 2];
        str env =
            i % 2 == 0
                ? arena_printf(&arena, "\"env\":{\"%s\":\"x\"}", name)
                : arena_printf(&arena,
                               "\"platform_overrides\":{\"linux\":{\"env\":{\"%s\":\"x\"}}}", name);
        str text = arena_printf(&arena,
                                "{" HEAD ",\"server\":{\"type\":\"node\",\"entry_point\":\"a.js\","
                                "\"mcp_config\":{\"command\":\"node\",%.*s}}}",
                                STR_ARG(env));
        bad(text.p, name);
    }
}

TEST(a_whole_manifest)
{
    struct manifest m = good(
        "{" HEAD
        ",\"display_name\":\"Echo\",\"description\":\"Says it again\",\"author\":{\"name\":"
        "\"Ann\"},\"x-unknown\":[],\"server\":{\"type\":\"python\",\"entry_point\":\"main.py\","
        "\"mcp_config\":{\"command\":\"python\",\"args\":[\"${__dirname}/main.py\"],\"env\":"
        "{\"A\":\"1\",\"B\":\"2\"},\"platform_overrides\":{\"win32\":{\"command\":\"py\"},"
        "\"linux\":{\"args\":[\"-u\"],\"env\":{\"B\":\"3\",\"C\":\"4\"}}}}},\"user_config\":"
        "{\"dirs\":{\"type\":\"directory\",\"title\":\"Dirs\",\"multiple\":true,\"default\":"
        "[\"${HOME}\"]},\"n\":{\"type\":\"number\",\"min\":1,\"max\":2.5,\"required\":true}},"
        "\"_meta\":{\"ai.nimblebrain/host\":{\"name\":\"E\"}}}");
    is(m.name, "echo");
    is(m.version, "1.2.0");
    is(m.title, "Echo");
    is(m.author, "Ann");
    assert_int_equal(m.type, SERVER_PYTHON);
    is(m.command, "python");
    assert_int_equal(m.args.len, 1);
    is(m.args.items[0], "-u");
    assert_int_equal(m.nenv, 3);
    is(m.env[0].value, "1");
    is(m.env[1].value, "3");
    is(m.env[2].key, "C");
    assert_int_equal(m.noptions, 2);
    const struct manifest_option *o = manifest_option(&m, STR("n"));
    assert_true(o->is_required);
    assert_true(o->min == 1 && o->max == 2.5);
    assert_string_equal(option_type_name(o->type), "number");
    assert_true(manifest_option(&m, STR("dirs"))->is_multiple);
    assert_null(manifest_option(&m, STR("zz")));
    is(json_get_string(m.ui, "name"), "E");
}

TEST(the_smallest_ones)
{
    struct manifest m = good("{" HEAD "," NODE "}");
    assert_int_equal(m.type, SERVER_NODE);
    assert_int_equal(m.command.n, 0);
    assert_null(m.ui);
    assert_int_equal(m.noptions, 0);
    m = good(
        "{\"dxt_version\":\"0.1\",\"name\":\"a\",\"version\":\"1\",\"author\":\"Bo\",\"server\":"
        "{\"type\":\"uv\",\"entry_point\":\"s.py\"},\"compatibility\":{\"platforms\":"
        "[\"darwin\",\"linux\"]},\"_meta\":{\"ai.nimblebrain/synapse\":{}}}");
    assert_int_equal(m.type, SERVER_UV);
    assert_string_equal(manifest_server_name(m.type), "uv");
    is(m.author, "Bo");
    assert_non_null(m.ui);
}

TEST(what_is_missing_or_wrong_is_named)
{
    bad("", "line 1");
    bad("[]", "expected an object");
    bad("{\"name\":\"a\",\"version\":\"1\"," NODE "}", "manifest_version: is missing");
    bad("{\"manifest_version\":\"2.0\",\"name\":\"a\",\"version\":\"1\"," NODE "}",
        "2.0 is not supported");
    bad("{\"manifest_version\":\"0.3\",\"version\":\"1\"," NODE "}", "name");
    bad("{\"manifest_version\":\"0.3\",\"name\":\"\",\"version\":\"1\"," NODE "}",
        "name: is empty");
    bad("{\"manifest_version\":\"0.3\",\"name\":7,\"version\":\"1\"," NODE "}",
        "name: expected string");
    bad("{" HEAD "}", "server");
    bad("{" HEAD ",\"server\":{\"entry_point\":\"a\"}}", "server.type");
    bad("{" HEAD ",\"server\":{\"type\":\"ruby\",\"entry_point\":\"a\"}}",
        "'ruby' is not one of node");
    bad("{" HEAD ",\"server\":{\"type\":\"node\",\"entry_point\":\"../a\"}}", "inside the bundle");
    bad("{" HEAD ",\"server\":{\"type\":\"node\",\"entry_point\":\"/a\"}}", "inside the bundle");
    bad("{" HEAD
        ",\"server\":{\"type\":\"node\",\"entry_point\":\"a\",\"mcp_config\":{\"args\":[1]}}}",
        "server.mcp_config.args[0]: expected string");
    bad("{" HEAD
        ",\"server\":{\"type\":\"node\",\"entry_point\":\"a\",\"mcp_config\":{\"env\":{\"A\":1}}}}",
        "server.mcp_config.env.A: expected string");
    bad("{" HEAD ",\"server\":{\"type\":\"node\",\"entry_point\":\"a\",\"mcp_config\":"
        "{\"env\":{\"A=B\":\"1\"}}}}",
        "is not a valid variable name");
    bad("{" HEAD ",\"server\":{\"type\":\"node\",\"entry_point\":\"a\",\"mcp_config\":"
        "{\"platform_overrides\":{\"linux\":[]}}}}",
        "platform_overrides.linux: expected object");
    bad("{" HEAD "," NODE ",\"compatibility\":{\"platforms\":[\"darwin\"]}}", "not for linux");
    bad("{" HEAD "," NODE ",\"user_config\":{\"k\":{\"type\":\"colour\"}}}",
        "user_config.k.type: 'colour'");
    bad("{" HEAD "," NODE ",\"user_config\":{\"k\":{}}}", "user_config.k.type");
    bad("{" HEAD "," NODE ",\"user_config\":{\"k\":[]}}", "user_config.k: expected object");
    bad("{" HEAD "," NODE ",\"user_config\":{\"a b\":{\"type\":\"string\"}}}",
        "is not a valid key");
    bad("{" HEAD "," NODE ",\"user_config\":{\"k\":{\"type\":\"string\",\"default\":[\"a\"]}}}",
        "user_config.k.default");
    bad("{" HEAD "," HEAD "," NODE "}", "");
}

TEST(too_many_options)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_add_lit(&b, "{" HEAD "," NODE ",\"user_config\":{");
    for (int i = 0; i <= MANIFEST_OPTIONS_MAX; i++)
        buf_printf(&b, "%s\"k%d\":{\"type\":\"string\"}", i ? "," : "", i);
    buf_add_lit(&b, "}}");
    bad(buf_cstr(&b), "the limit is 100");
    buf_done(&b);
}

TESTS_SHARE(setup, teardown)
