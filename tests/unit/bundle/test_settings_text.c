#include <errno.h>

#include "bundle/settings/settings.h"
#include "unit/bundle/arena_rig.h"

static str edit(const char *text, enum settings_edit what, size_t at, const char *entry)
{
    struct json *v = NULL;
    struct err e = {0};
    str out;
    if (entry)
        assert_int_equal(json_parse(&arena, str_from(entry), JSON_COPY, &v, &e), 0);
    if (settings_text_edit(&arena, str_from(text), what, at, v, &out, &e) < 0)
        fail_msg("%s", e.msg);
    return out;
}

static void expect(str got, const char *wanted)
{
    assert_string_equal(arena_cstr(&arena, got), wanted);
}

TEST(an_entry_is_added_as_the_file_is_written)
{
    expect(edit("{\n  \"version\": \"1\",\n  \"bundles\": []\n}\n", SETTINGS_ADD, 0,
                "{\"path\":\"a\"}"),
           "{\n  \"version\": \"1\",\n  \"bundles\": [\n    {\n      \"path\": \"a\"\n    }\n  "
           "]\n}\n");
    expect(edit("{\n\t\"bundles\": [\n\t\t{ \"path\":   \"a\" }\n\t],\n\t\"x\": 1.0\n}",
                SETTINGS_ADD, 0, "{\"path\":\"b\"}"),
           "{\n\t\"bundles\": [\n\t\t{ \"path\":   \"a\" },\n\t\t{\n\t\t  \"path\": "
           "\"b\"\n\t\t}\n\t],\n\t\"x\": 1.0\n}");
    expect(edit("{\"a\":1,\"bundles\":[{\"path\":\"a\"}]}", SETTINGS_ADD, 0, "{\"path\":\"b\"}"),
           "{\"a\":1,\"bundles\":[{\"path\":\"a\"}, {\"path\":\"b\"}]}");
    expect(edit("{\"a\":1,\"bundles\":[ ]}", SETTINGS_ADD, 0, "{\"path\":\"b\"}"),
           "{\"a\":1,\"bundles\":[{\"path\":\"b\"}]}");
}

TEST(the_list_is_made_when_it_is_missing)
{
    expect(edit("{\n    \"a\": {\"b\": []}\n}\n", SETTINGS_ADD, 0, "{\"path\":\"b\"}"),
           "{\n    \"a\": {\"b\": []},\n    \"bundles\": [\n        {\n          \"path\": \"b\"\n "
           "       }\n    ]\n}\n");
    expect(edit("{}", SETTINGS_ADD, 0, "{\"path\":\"b\"}"),
           "{\n  \"bundles\": [\n    {\n      \"path\": \"b\"\n    }\n  ]\n}");
    expect(edit("{\"a\":1}", SETTINGS_ADD, 0, "{\"path\":\"b\"}"),
           "{\"a\":1, \"bundles\": [{\"path\":\"b\"}]}");
}

static const char THREE[] = "{ \"k\": 1e2,\n \"bundles\": [\n  {\"path\": \"a\"},\n"
                            "  {\"path\": \"b, ]}\\\"\"},\n  {\"path\": \"c\"}\n ], \"z\": null }";

TEST(an_entry_is_removed)
{
    expect(edit(THREE, SETTINGS_REMOVE, 0, NULL),
           "{ \"k\": 1e2,\n \"bundles\": [\n  {\"path\": \"b, ]}\\\"\"},\n  {\"path\": \"c\"}\n ], "
           "\"z\": null }");
    expect(edit(THREE, SETTINGS_REMOVE, 1, NULL),
           "{ \"k\": 1e2,\n \"bundles\": [\n  {\"path\": \"a\"},\n  {\"path\": \"c\"}\n ], \"z\": "
           "null }");
    expect(edit(THREE, SETTINGS_REMOVE, 2, NULL),
           "{ \"k\": 1e2,\n \"bundles\": [\n  {\"path\": \"a\"},\n  {\"path\": \"b, ]}\\\"\"}\n ], "
           "\"z\": null }");
    expect(edit("{\"bundles\": [\n {}\n ]}", SETTINGS_REMOVE, 0, NULL), "{\"bundles\": []}");
}

TEST(an_entry_is_replaced)
{
    expect(edit(THREE, SETTINGS_REPLACE, 1, "{\"url\":\"u\"}"),
           "{ \"k\": 1e2,\n \"bundles\": [\n  {\"path\": \"a\"},\n  {\"url\":\"u\"},\n  {\"path\": "
           "\"c\"}\n ], \"z\": null }");
    expect(edit("{\"bundles\": [\n {\n }\n ]}", SETTINGS_REPLACE, 0, "{\"url\":\"u\"}"),
           "{\"bundles\": [\n {\n   \"url\": \"u\"\n }\n ]}");
}

static str set(const char *text, const char *value)
{
    struct json *v;
    struct err e = {0};
    str out;
    assert_int_equal(json_parse(&arena, str_from(value), JSON_COPY, &v, &e), 0);
    if (settings_text_set(&arena, str_from(text), "p", v, &out, &e) < 0)
        fail_msg("%s", e.msg);
    return out;
}

TEST(a_member_is_set_and_all_else_stays)
{
    expect(set("{}", "{\"a\":1}"), "{\n  \"p\": {\n    \"a\": 1\n  }\n}");
    expect(set("{ \"z\" : 1e2 }", "{\"a\":1}"), "{ \"z\" : 1e2, \"p\": {\"a\":1} }");
    expect(set("{\n    \"z\": [ 1.0 ]\n}\n", "{\"a\":1}"),
           "{\n    \"z\": [ 1.0 ],\n    \"p\": {\n      \"a\": 1\n    }\n}\n");
    expect(set("{\n  \"p\": { \"old\": {} },\n  \"z\":   1\n}", "{\"a\":1}"),
           "{\n  \"p\": {\n    \"a\": 1\n  },\n  \"z\":   1\n}");
    expect(set("{\"p\":null,\"z\":{\"p\":2}}", "3"), "{\"p\":3,\"z\":{\"p\":2}}");
}

TEST(an_escaped_key_is_found_by_meaning)
{
    struct json *v;
    str out = edit("{\"bundl\\u0065s\": [1], \"x\": 1}", SETTINGS_ADD, 0, "{\"path\":\"b\"}");
    assert_int_equal(json_parse(&arena, out, JSON_COPY | JSON_UNIQUE, &v, NULL), 0);
    assert_int_equal(json_get(v, "bundles")->len, 2);
}

TEST(what_is_no_such_document_is_refused)
{
    static const char *const BAD[] = {"", "[]", "{", "{\"bundles\":{}}", "{\"a\":1,\"a\":2}", "7"};
    struct json entry = json_of_null();
    struct err e = {0};
    str out;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(
            settings_text_edit(&arena, str_from(BAD[i]), SETTINGS_ADD, 0, &entry, &out, &e),
            -EINVAL);
    assert_int_equal(
        settings_text_edit(&arena, STR("{\"bundles\":[]}"), SETTINGS_REMOVE, 0, NULL, &out, &e),
        -ENOENT);
}

TESTS_SHARE(setup, teardown)
