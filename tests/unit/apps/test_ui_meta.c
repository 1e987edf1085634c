#include "apps/ui_meta.h"
#include "support/unit.h"

static struct json *parsed(struct arena *a, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

TEST(the_resource_of_a_tool_is_a_ui_address)
{
    static const struct {
        const char *meta, *uri;
    } CASES[] = {
        {"{\"ui\":{\"resourceUri\":\"ui://a/b.html\"}}", "ui://a/b.html"},
        {"{\"ui/resourceUri\":\"ui://old\"}", "ui://old"},
        {"{\"ui\":{\"resourceUri\":\"ui://new\"},\"ui/resourceUri\":\"ui://old\"}", "ui://new"},
        {"{\"ui\":{\"resourceUri\":\"https://a/b\"},\"ui/resourceUri\":\"ui://old\"}", ""},
        {"{\"ui\":{\"visibility\":[\"app\"]}}", ""},
        {"{\"ui\":{\"resourceUri\":7}}", ""},
        {"{\"ui\":{\"resourceUri\":\"ui://\"}}", ""},
        {"{\"ui\":{\"resourceUri\":\"ui://a\\r\\nb\"}}", ""},
        {"{\"ui\":{\"resourceUri\":\"ui://a b\"}}", ""},
        {"{\"ui\":\"ui://a\"}", ""},
        {"[]", ""},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        str uri = ui_tool_resource(parsed(&a, CASES[i].meta));
        assert_true(str_eq(uri, str_from(CASES[i].uri)));
    }
    assert_int_equal(ui_tool_resource(NULL).n, 0);
    arena_done(&a);
}

TEST(an_address_that_is_too_long_is_none)
{
    struct arena a;
    arena_init(&a);
    char uri[UI_URI_MAX + 2];
    memset(uri, 'x', sizeof uri);
    memcpy(uri, "ui://", 5);
    struct json *ui = json_new(&a, JSON_OBJECT), *meta = json_new(&a, JSON_OBJECT);
    json_set(&a, ui, STR("resourceUri"), json_of_str(str_make(uri, UI_URI_MAX)));
    json_set(&a, meta, STR("ui"), *ui);
    assert_int_equal(ui_tool_resource(meta).n, UI_URI_MAX);
    json_set(&a, ui, STR("resourceUri"), json_of_str(str_make(uri, UI_URI_MAX + 1)));
    json_set(&a, meta, STR("ui"), *ui);
    assert_int_equal(ui_tool_resource(meta).n, 0);
    arena_done(&a);
}

TEST(a_tool_is_for_both_unless_it_says_otherwise)
{
    static const struct {
        const char *meta;
        bool is_for_models, is_for_apps;
    } CASES[] = {
        {"{}", true, true},
        {"{\"ui\":{\"visibility\":[\"model\",\"app\"]}}", true, true},
        {"{\"ui\":{\"visibility\":[\"app\"]}}", false, true},
        {"{\"ui\":{\"visibility\":[\"model\"]}}", true, false},
        {"{\"ui\":{\"visibility\":[]}}", false, false},
        {"{\"ui\":{\"visibility\":[\"Model\",7]}}", false, false},
        {"{\"ui\":{\"visibility\":\"app\"}}", true, true},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct json *meta = parsed(&a, CASES[i].meta);
        assert_int_equal(ui_tool_is_for(meta, UI_FOR_MODELS), CASES[i].is_for_models);
        assert_int_equal(ui_tool_is_for(meta, UI_FOR_APPS), CASES[i].is_for_apps);
    }
    assert_true(ui_tool_is_for(NULL, UI_FOR_MODELS) && ui_tool_is_for(NULL, UI_FOR_APPS));
    arena_done(&a);
}
