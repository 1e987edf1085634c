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

/* ---- resources ---- */

TEST(metadata_of_a_resource_is_found_where_servers_put_it)
{
    static const struct {
        const char *item, *result;
        int border;
    } CASES[] = {
        {"{\"_meta\":{\"ui\":{\"prefersBorder\":true}}}",
         "{\"_meta\":{\"ui\":{\"prefersBorder\":false}}}", UI_BORDER_SHOWN},
        {"{\"meta\":{\"ui\":{\"prefersBorder\":true}}}", "{}", UI_BORDER_SHOWN},
        {"{}", "{\"_meta\":{\"ui\":{\"prefersBorder\":false}}}", UI_BORDER_NONE},
        {"{\"_meta\":{\"ui\":7}}", "{\"_meta\":{\"ui\":{\"prefersBorder\":false}}}",
         UI_BORDER_NONE},
        {"{\"_meta\":{\"ui\":{\"prefersBorder\":\"yes\"}}}", "{}", UI_BORDER_ANY},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct json *ui =
            ui_meta_find(parsed(&a, CASES[i].item), parsed(&a, CASES[i].result));
        assert_non_null(ui);
        assert_int_equal(ui_meta_read(&a, ui).border, CASES[i].border);
    }
    assert_null(ui_meta_find(parsed(&a, "{\"_meta\":{}}"), parsed(&a, "[]")));
    assert_int_equal(ui_meta_read(&a, NULL).border, UI_BORDER_ANY);
    arena_done(&a);
}

TEST(only_writing_to_the_clipboard_is_granted)
{
    struct arena a;
    struct buf out;
    struct json_writer w;
    arena_init(&a);
    struct ui_meta m = ui_meta_read(
        &a, parsed(&a, "{\"permissions\":{\"camera\":{},\"microphone\":{},\"geolocation\":{},"
                       "\"clipboardWrite\":{}}}"));
    assert_int_equal(m.permissions, UI_CLIPBOARD_WRITE);
    assert_string_equal(ui_permission_policy(m.permissions), "clipboard-write");
    assert_string_equal(ui_permission_policy(0), "");
    m = ui_meta_read(&a, parsed(&a, "{\"permissions\":{\"clipboardWrite\":true}}"));
    assert_int_equal(m.permissions, 0);
    jw_start(&w, &out, 100);
    jw_object(&w);
    ui_write_permissions(&w, "p", UI_CLIPBOARD_WRITE | UI_CAMERA);
    jw_end(&w);
    assert_string_equal(buf_cstr(&out), "{\"p\":{\"camera\":{},\"clipboardWrite\":{}}}");
    buf_done(&out);
    arena_done(&a);
}
