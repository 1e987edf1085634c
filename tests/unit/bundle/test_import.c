#include <errno.h>

#include "bundle/entry/import.h"
#include "unit/bundle/arena_rig.h"

static struct import_list parse(const char *text)
{
    struct import_list l;
    struct err e = {0};
    if (import_parse(&arena, str_from(text), "/srv/p/.vscode", "/home/ann", &l, &e) < 0)
        fail_msg("%s", e.msg);
    return l;
}

static void is(const struct import_server *s, const char *entry)
{
    if (!s->entry)
        fail_msg("not taken: %.*s", STR_ARG(s->notes.items[0]));
    str got = json_to_str(&arena, s->entry);
    assert_string_equal(arena_cstr(&arena, got), entry);
}

static void notes(const struct import_server *s, const char *part)
{
    for (size_t i = 0; i < s->notes.len; i++)
        if (str_find(s->notes.items[i], str_from(part), 0) >= 0)
            return;
    fail_msg("nothing is said about '%s'", part);
}

TEST(claude_desktop_and_cursor)
{
    struct import_list l = parse(
        "{ // mine\n\"mcpServers\": {"
        "\"My Files\": {\"command\":\"npx\",\"args\":[\"-y\",\"@x/fs\",\"/tmp\"],"
        "\"env\":{\"A\":\"1\",\"N\":2,},\"alwaysAllow\":[\"read\"]},"
        "\"far\": {\"url\":\"https://x.io/mcp\",\"headers\":{\"Authorization\":\"Bearer t\"}},"
        "\"near\": {\"type\":\"sse\",\"url\":\"http://localhost:3000/sse\",\"disabled\":true}"
        "}}");
    assert_int_equal(l.len, 3);
    is(&l.items[0],
       "{\"serverName\":\"my-files\",\"command\":\"npx\",\"args\":[\"-y\",\"@x/fs\",\"/tmp\"],"
       "\"env\":{\"A\":\"1\",\"N\":\"2\"},\"sandbox\":{\"network\":true}}");
    notes(&l.items[0], "named 'my-files'");
    notes(&l.items[0], "'alwaysAllow'");
    notes(&l.items[0], "network");
    notes(&l.items[0], "cannot see /tmp");
    assert_int_equal(l.items[0].bundle.kind, BUNDLE_COMMAND);
    is(&l.items[1], "{\"serverName\":\"far\",\"url\":\"https://x.io/mcp\",\"transport\":"
                    "{\"headers\":{\"Authorization\":\"Bearer t\"}}}");
    assert_int_equal(l.items[1].notes.len, 0);
    is(&l.items[2], "{\"serverName\":\"near\",\"url\":\"http://localhost:3000/sse\",\"transport\":"
                    "{\"type\":\"sse\"},\"allowPrivate\":true,\"disabled\":true}");
}

TEST(vs_code_with_inputs)
{
    struct import_list l = parse(
        "{\"inputs\":[{\"id\":\"key\",\"type\":\"promptString\",\"description\":\"The API key\"}],"
        "\"servers\":{\"s\":{\"type\":\"stdio\",\"command\":\"/bin/s\",\"args\":["
        "\"${workspaceFolder}/d\",\"${userHome}\"],\"env\":{\"KEY\":\"${input:key}\",\"TOKEN\":"
        "\"${env:TOKEN}\",\"B\":\"${B:-fallback}\"},\"envFile\":\".env\"}}}");
    is(&l.items[0], "{\"serverName\":\"s\",\"command\":\"/bin/s\",\"args\":[\"/srv/p/d\","
                    "\"/home/ann\"],\"env\":{\"B\":\"fallback\"},\"allowedEnv\":[\"TOKEN\"]}");
    notes(&l.items[0], "env.KEY asks for \"The API key\"");
    notes(&l.items[0], "envFile");
    l = parse("{\"mcp\":{\"servers\":{\"x\":{\"command\":\"x\"}}}}");
    is(&l.items[0], "{\"serverName\":\"x\",\"command\":\"x\"}");
}

TEST(what_cannot_be_used)
{
    struct import_list l = parse("{\"mcpServers\":{\"a\":{},\"b\":7,\"x/-\":{\"command\":\"x\"},"
                                 "\"c\":{\"command\":\"x\",\"args\":[\"${SECRET}\"]},"
                                 "\"d\":{\"url\":\"https://u:p@x.io\"},"
                                 "\"e\":{\"url\":\"https://${HOST}/\"}}}");
    static const char *const WHY[] = {"neither a command nor a url",
                                      "not an object",
                                      "no letter or digit",
                                      "${SECRET}",
                                      "credentials",
                                      "${HOST}"};
    assert_int_equal(l.len, ARRAY_LEN(WHY));
    for (size_t i = 0; i < l.len; i++) {
        assert_null(l.items[i].entry);
        notes(&l.items[i], WHY[i]);
    }
}

TEST(reserved_names_give_way)
{
    struct import_list l = parse("{\"mcpServers\":{\"Conversations\":{\"command\":\"x\"}}}");
    is(&l.items[0], "{\"serverName\":\"imported-conversations\",\"command\":\"x\"}");
    notes(&l.items[0], "it is named 'imported-conversations' in nb");
}

TEST(what_is_no_such_file)
{
    struct import_list l;
    struct err e = {0};
    assert_int_equal(import_parse(&arena, STR("{}"), "/", NULL, &l, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "mcpServers"));
    assert_int_equal(import_parse(&arena, STR("{\"mcpServers\":"), "/", NULL, &l, &e), -EINVAL);
    assert_int_equal(import_parse(&arena, STR("{\"mcpServers\":[]}"), "/", NULL, &l, &e), -EINVAL);
}

TESTS_SHARE(setup, teardown)
