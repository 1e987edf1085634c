#include "unit/bundle/entry_rig.h"

TEST_WITH(a_named_bundle, setup, teardown)
{
    struct bundle_entry b = good("{\"name\":\"@Scope/My_Server\"}");
    assert_int_equal(b.kind, BUNDLE_NAMED);
    is(b.server_name, "my-server");
    is(b.name, "@Scope/My_Server");
    assert_int_equal(b.version.n, 0);
    assert_int_equal(b.trust_score, -1);
    assert_false(b.sandbox.is_off);

    b = good("{\"name\":\"@a/b@1.2.3\"}");
    is(b.name, "@a/b");
    is(b.version, "1.2.3");
    is(good("{\"name\":\"@a/b\",\"version\":\"2.0.0\"}").version, "2.0.0");
    assert_int_equal(good("{\"name\":\"@a/b@latest\"}").version.n, 0);

    bad("{\"name\":\"plain\"}", "name: 'plain' is not of the form @scope/package");
    bad("{\"name\":\"@a/../../etc\"}", "@scope/package");
    bad("{\"name\":\"@a/b/c\"}", "@scope/package");
    bad("{\"name\":\"@a/b@1\",\"version\":\"1\"}", "also part of the name");
    bad("{\"name\":\"@/b\"}", "@scope/package");
}

TEST_WITH(a_local_bundle, setup, teardown)
{
    struct bundle_entry b = good("{\"path\":\"./tools/Echo.mcpb\"}");
    assert_int_equal(b.kind, BUNDLE_LOCAL);
    is(b.path, "/etc/nb/tools/Echo.mcpb");
    is(b.server_name, "echo");
    is(good("{\"path\":\"/opt/x/\"}").server_name, "x");
    bad("{\"path\":\"\"}", "path: is empty");
}

TEST_WITH(a_plain_command, setup, teardown)
{
    struct bundle_entry b =
        good("{\"command\":\"npx\",\"args\":[\"-y\",\"x\"],\"serverName\":\"Every Thing\","
             "\"env\":{\"A\":\"1\"},\"allowedEnv\":[\"HTTP_PROXY\"],\"cwd\":\"sub\"}");
    assert_int_equal(b.kind, BUNDLE_COMMAND);
    is(b.server_name, "every-thing");
    is(b.command, "npx");
    is(b.cwd, "/etc/nb/sub");
    assert_int_equal(b.args.len, 2);
    is(b.env[0].value, "1");
    is(b.allowed_env.items[0], "HTTP_PROXY");
    is(good("{\"command\":\"./bin/my-server\"}").command, "/etc/nb/bin/my-server");
    is(good("{\"command\":\"my-server\"}").server_name, "my-server");

    bad("{\"command\":\"node\",\"args\":[\"x.js\"]}", "serverName: is required");
    bad("{\"command\":\"a\",\"args\":[1]}", "args[0]: expected string");
    bad("{\"command\":\"a\",\"args\":[\"\\u0000\"]}", "NUL");
    bad("{\"command\":\"a\",\"env\":{\"A=B\":\"1\"}}", "is not a valid variable name");
    bad("{\"command\":\"a\",\"env\":{\"A\":1}}", "must be a string");
    bad("{\"command\":\"a\",\"allowedEnv\":[\"NB_API_KEY\"]}", "never passes");
}

TEST_WITH(what_it_may_touch, setup, teardown)
{
    struct bundle_entry b = good("{\"path\":\"x\",\"sandbox\":{\"network\":true,\"read\":"
                                 "[\"~/notes\"],\"write\":[\"/srv/x\"]},\"memoryMb\":64}");
    assert_true(b.sandbox.network);
    is(b.sandbox.read.items[0], "~/notes");
    is(b.sandbox.write.items[0], "/srv/x");
    assert_int_equal(b.memory_mb, 64);
    assert_true(good("{\"path\":\"x\",\"sandbox\":\"off\"}").sandbox.is_off);

    bad("{\"path\":\"x\",\"sandbox\":\"on\"}", "expected \"off\" or an object");
    bad("{\"path\":\"x\",\"sandbox\":{\"read\":[\"notes\"]}}", "must start with / or ~/");
    bad("{\"path\":\"x\",\"sandbox\":{\"reads\":[]}}", "sandbox.reads");
    bad("{\"path\":\"x\",\"memoryMb\":-1}", "memoryMb");
}

TEST_WITH(the_rest_of_an_entry, setup, teardown)
{
    struct bundle_entry b = good("{\"path\":\"x\",\"protected\":true,\"disabled\":true,"
                                 "\"trustScore\":80,\"ui\":{\"name\":\"X\"}}");
    assert_true(b.is_protected);
    assert_true(b.is_disabled);
    assert_int_equal(b.trust_score, 80);
    is(json_get_string(b.ui, "name"), "X");
    is(json_get_string(b.raw, "path"), "x");
    assert_int_equal(good("{\"path\":\"x\",\"trustScore\":null}").trust_score, -1);
    bad("{\"path\":\"x\",\"trustScore\":101}", "0 to 100");
    bad("{\"path\":\"x\",\"trustScore\":-1}", "0 to 100");
    bad("{\"path\":\"x\",\"protected\":1}", "protected: expected");
}

TEST_WITH(exactly_one_source, setup, teardown)
{
    bad("{}", "needs one of name, path, url or command");
    bad("{\"path\":\"a\",\"url\":\"https://x.io\"}", "both 'path' and 'url'");
    bad("{\"path\":\"a\",\"colour\":1}", "colour: a bundle has no such setting");
    bad("{\"path\":\"a\",\"args\":[]}", "only valid together with 'command'");
    bad("{\"name\":\"@a/b\",\"transport\":{}}", "only valid together with 'url'");
    bad("[]", "expected an object");
}

TEST_WITH(names_of_servers, setup, teardown)
{
    str name;
    struct err e = {0};
    bad("{\"path\":\"x\",\"serverName\":\"nb\"}", "the name of nb's own tools");
    bad("{\"path\":\"___\"}", "no letter or digit");
    bad("{\"path\":\"a\",\"serverName\":\"\"}", "serverName: is empty");
    bad("{\"path\":\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddX\"}", "longer than 40");
    assert_int_equal(bundle_server_name(&arena, STR("@s/-A.b-"), &name, &e), 0);
    is(name, "a-b");
    assert_string_equal(name.p, "a-b");
}

TEST_WITH(a_list_names_the_entry_that_is_wrong, setup, teardown)
{
    struct bundle_entry *all;
    struct json *v;
    struct err e = {0};
    size_t n = 7;
    json_parse(&arena, STR("[{\"path\":\"a\"},{\"path\":\"b\"}]"), JSON_COPY, &v, NULL);
    assert_int_equal(bundle_entries_decode(&arena, v, "/d", &all, &n, &e), 0);
    assert_int_equal(n, 2);
    assert_int_equal(bundle_entries_decode(&arena, NULL, "/d", &all, &n, &e), 0);
    assert_int_equal(n, 0);

    json_parse(&arena, STR("[{\"path\":\"a\"},{\"url\":7}]"), JSON_COPY, &v, NULL);
    assert_int_equal(bundle_entries_decode(&arena, v, "/d", &all, &n, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "bundles[1].url: expected string"));

    json_parse(&arena, STR("[{\"path\":\"a\"},{\"path\":\"x/a\"}]"), JSON_COPY, &v, NULL);
    assert_int_equal(bundle_entries_decode(&arena, v, "/d", &all, &n, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "'a' is taken by bundles[0]"));

    v = json_new(&arena, JSON_ARRAY);
    for (int i = 0; i <= BUNDLES_MAX; i++)
        json_push(&arena, v, json_of_null());
    assert_int_equal(bundle_entries_decode(&arena, v, "/d", &all, &n, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "the limit is"));
}

TEST_WITH(a_package_has_a_file_of_credentials_of_its_own, setup, teardown)
{
    struct bundle_entry named = {
        .kind = BUNDLE_NAMED, .name = STR("@a/b-c"), .server_name = STR("b-c")};
    struct bundle_entry local = {.kind = BUNDLE_LOCAL, .server_name = STR("b-c")};
    assert_true(str_eq(entry_credentials(&arena, &named), STR("a@b-c")));
    assert_true(str_eq(entry_credentials(&arena, &local), STR("b-c")));
}
