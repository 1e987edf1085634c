#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/package/package_prepare.h"
#include "unit/bundle/arena_rig.h"

#define OPTIONS                                                                                    \
    "\"user_config\":{\"key\":{\"type\":\"string\",\"sensitive\":true,\"default\":\"s3cret\"},"    \
    "\"dirs\":{\"type\":\"directory\",\"multiple\":true,\"default\":[\"/a\",\"/b\"]},"             \
    "\"off\":{\"type\":\"string\"}}"

static const char *package_dir = "/opt/b", *stored_text = "{\"dirs\":[\"/a\",\"/b\"]}";

/* type and mcp_config (or "") in, a command line out. */
static int build(const char *type, const char *config, struct resolved *ret, struct err *e)
{
    struct manifest m;
    struct json *stored;
    struct user_value *values;
    assert_int_equal(json_parse(&arena, str_from(stored_text), JSON_COPY, &stored, e), 0);
    struct user_config_sources from = {.stored = stored};
    str text =
        arena_printf(&arena,
                     "{\"manifest_version\":\"0.4\",\"name\":\"m\",\"version\":\"1\",\"server\":{"
                     "\"type\":\"%s\",\"entry_point\":\"server/main\"%s%s}," OPTIONS "}",
                     type, *config ? ",\"mcp_config\":" : "", config);
    if (manifest_parse(&arena, text, &m, e) < 0)
        fail_msg("%s", e->msg);
    assert_int_equal(user_config_resolve(&arena, &m, &from, &values, e), 0);
    struct variables vars = {package_dir, "/home/ann", "/data/b", values, m.noptions};
    return command_line_build(&arena, &m, &vars, ret, e);
}

static const char *join(const char *const *list)
{
    str s = STR_NONE;
    for (; *list; list++)
        s = arena_printf(&arena, "%.*s%s%s", STR_ARG(s), s.n > 0 ? " " : "", *list);
    return s.n > 0 ? s.p : "";
}

static void is(const char *type, const char *config, const char *argv, const char *env)
{
    struct resolved c;
    struct err e = {0};
    if (build(type, config, &c, &e) < 0)
        fail_msg("%s", e.msg);
    assert_string_equal(join(c.argv), argv);
    assert_string_equal(join(c.env), env);
    assert_string_equal(c.cwd, "/opt/b");
    assert_int_equal(c.chosen_paths.len, 2);
}

static void refused(const char *config, const char *message)
{
    struct resolved c;
    struct err e = {0};
    assert_int_equal(build("node", config, &c, &e), -EINVAL);
    if (!strstr(e.msg, message))
        fail_msg("expected '%s', got '%s'", message, e.msg);
    assert_null(strstr(e.msg, "s3cret"));
}

TEST(the_usual_ones)
{
    setenv("PATH", "/nonexistent", 1);
    is("node", "", "node /opt/b/server/main", "");
    is("binary", "", "/opt/b/server/main", "");
    is("python", "", "python3 /opt/b/server/main", "PYTHONPATH=/opt/b/deps:/opt/b/src");
    is("uv", "", "uv run --directory /opt/b /opt/b/server/main",
       "UV_PROJECT_ENVIRONMENT=/data/b/.venv");
}

TEST(uv_leaves_a_lock_file_as_it_is)
{
    struct resolved c;
    struct err e = {0};
    char dir[] = "/tmp/nb-uv-XXXXXX";
    assert_non_null(mkdtemp(dir));
    const char *lock = arena_printf(&arena, "%s/uv.lock", dir).p;
    FILE *f = fopen(lock, "we");
    assert_non_null(f);
    fclose(f);
    package_dir = dir;
    assert_int_equal(build("uv", "", &c, &e), 0);
    package_dir = "/opt/b";
    unlink(lock);
    rmdir(dir);
    assert_string_equal(
        join(c.argv),
        arena_printf(&arena, "uv run --directory %s --frozen %s/server/main", dir, dir).p);
}

TEST(as_the_manifest_says)
{
    is("binary", "{\"command\":\"server/main\",\"args\":[\"-d\",\"${DATA_DIR}\"]}",
       "/opt/b/server/main -d /data/b", "");
    is("binary", "{\"command\":\"${__dirname}/x\"}", "/opt/b/x", "");
    is("node",
       "{\"command\":\"node\",\"args\":[\"${user_config.dirs}\",\"${user_config.off}\",\"-x\"]}",
       "node /a /b -x", "");
    is("node",
       "{\"command\":\"node\",\"env\":{\"K\":\"${user_config.key}\",\"O\":\"${user_config.off}\"}}",
       "node", "K=s3cret");
    is("python", "{\"command\":\"/usr/bin/python\",\"env\":{\"PYTHONPATH\":\"${__dirname}/lib\"}}",
       "/usr/bin/python", "PYTHONPATH=/opt/b/deps:/opt/b/src:/opt/b/lib");
}

TEST(only_a_person_chooses_paths)
{
    struct resolved c;
    struct err e = {0};
    const char *before = stored_text;
    stored_text = "{}";
    assert_int_equal(build("node", "", &c, &e), 0);
    assert_int_equal(c.chosen_paths.len, 0);
    stored_text = before;
    assert_int_equal(build("node", "", &c, &e), 0);
    assert_int_equal(c.chosen_paths.len, 2);
}

TEST(modules_are_those_of_the_package)
{
    struct resolved c;
    struct err e = {0};
    assert_int_equal(
        build("node", "{\"command\":\"node\",\"env\":{\"NODE_PATH\":\"${__dirname}/lib:lib\"}}", &c,
              &e),
        0);
    assert_int_equal(build("node",
                           "{\"command\":\"node\",\"env\":{\"NODE_PATH\":\"${__dirname}/../x\"}}",
                           &c, &e),
                     -EINVAL);
    assert_int_equal(
        build("python", "{\"command\":\"python\",\"env\":{\"PYTHONPATH\":\"/home/ann\"}}", &c, &e),
        -EINVAL);
}

TEST(secrets_stay_off_the_command_line)
{
    refused("{\"command\":\"node\",\"args\":[\"--key=${user_config.key}\"]}", "the secret 'key'");
    refused("{\"command\":\"node\",\"args\":[\"${user_config.key}\"]}", "the secret 'key'");
    refused("{\"command\":\"x${user_config.key}\"}", "the secret 'key'");
}

TEST(what_nobody_declared)
{
    refused("{\"command\":\"node\",\"args\":[\"${user_config.zz}\"]}", "user_config has no 'zz'");
    refused("{\"command\":\"node\",\"env\":{\"A\":\"${user_config.zz}\"}}", "has no 'zz'");
}

TESTS_SHARE(setup, teardown)
