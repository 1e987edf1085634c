#include "apps/ui_placement.h"
#include "support/unit.h"

static struct arena arena;
static const struct ui_placement *found;

static int set_up(void **state)
{
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    arena_done(&arena);
    return 0;
}

static size_t read_all(const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(&arena, str_from(text), JSON_COPY, &v, NULL), 0);
    return ui_placements_read(&arena, v, STR("notes"), &found);
}

static size_t read_one(const char *members)
{
    return read_all(arena_printf(&arena, "{\"placements\":[{%s}]}", members).p);
}

#define URI ",\"resourceUri\":\"ui://notes/main\""

TEST_WITH(a_placement_has_its_members_and_defaults, set_up, tear_down)
{
    assert_int_equal(read_one("\"slot\":\"main\"" URI ",\"label\":\"My\\tnotes\",\"icon\":"
                              "\"sticky-note\",\"route\":\"notes/all\",\"priority\":7,\"size\":"
                              "\"full\""),
                     1);
    assert_true(str_eq(found->label, STR("My notes")) && str_eq(found->icon, STR("sticky-note")));
    assert_true(str_eq(found->route, STR("notes/all")) && str_eq(found->size, STR("full")));
    assert_int_equal(found->priority, 7);
    assert_int_equal(read_one("\"slot\":\"sidebar.bottom\"" URI), 1);
    assert_true(str_eq(found->label, STR("notes")) && str_eq(found->size, STR("auto")));
    assert_true(found->icon.n == 0 && found->route.n == 0);
    assert_int_equal(found->priority, 100);
    assert_int_equal(ui_placements_read(&arena, NULL, STR("x"), &found), 0);
}

TEST_WITH(the_name_of_the_app_is_the_label, set_up, tear_down)
{
    assert_int_equal(
        read_all("{\"name\":\"Notes\",\"placements\":[{\"slot\":\"settings\"" URI "}]}"), 1);
    assert_true(str_eq(found->label, STR("Notes")));
    assert_int_equal(
        read_all("{\"name\":\"Old\",\"primaryView\":{\"resourceUri\":\"ui://notes/x\"}}"), 1);
    assert_true(str_eq(found->slot, STR("main")) && str_eq(found->label, STR("Old")));
    assert_int_equal(read_all("{\"primaryView\":{\"resourceUri\":\"https://x/y\"}}"), 0);
}

TEST_WITH(unknown_slots_and_foreign_addresses_are_left_out, set_up, tear_down)
{
    static const char *const BAD[] = {
        "\"slot\":\"header\"" URI,
        "\"slot\":\"sidebar.\"" URI,
        "\"slot\":\"sidebar.a b\"" URI,
        "\"slot\":7" URI,
        "\"resourceUri\":\"ui://notes/main\"",
        "\"slot\":\"main\"",
        "\"slot\":\"main\",\"resourceUri\":\"https://notes/main\"",
        "\"slot\":\"main\",\"resourceUri\":\"ui://\"",
        "\"slot\":\"main\",\"resourceUri\":\"ui:///main\"",
        "\"slot\":\"main\",\"resourceUri\":\"ui://notes/../other\"",
        "\"slot\":\"main\",\"resourceUri\":\"ui://notes/a b\"",
        "\"slot\":\"main\",\"resourceUri\":\"ui://notes/a?b\"",
        "\"slot\":\"main\",\"resourceUri\":\"ui://notes/\\u0000\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(read_one(BAD[i]), 0);
    assert_int_equal(read_all("{\"placements\":[{\"slot\":\"main\",\"resourceUri\":\"ui://a/1\"},"
                              "{\"slot\":\"main\",\"resourceUri\":\"ui://b/1\"},7,"
                              "{\"slot\":\"sidebar.tools\",\"resourceUri\":\"ui://a/2\"}]}"),
                     2);
    assert_true(str_eq(found[1].uri, STR("ui://a/2")));
}

TEST_WITH(doubtful_members_are_left_out, set_up, tear_down)
{
    assert_int_equal(read_one("\"slot\":\"main\"" URI ",\"icon\":\"<b>\",\"route\":\"/../admin\","
                              "\"priority\":99999,\"size\":\"huge\""),
                     1);
    assert_true(found->icon.n == 0 && found->route.n == 0);
    assert_int_equal(found->priority, 1000);
    assert_true(str_eq(found->size, STR("auto")));
    assert_int_equal(read_one("\"slot\":\"main\"" URI ",\"label\":\""
                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""),
                     1);
    assert_int_equal(found->label.n, UI_LABEL_MAX);
}

TEST_WITH(an_app_has_a_limited_number_of_placements, set_up, tear_down)
{
    struct json *ui = json_new(&arena, JSON_OBJECT), *list = json_new(&arena, JSON_ARRAY), *one;
    assert_int_equal(json_parse(&arena, STR("{\"slot\":\"main\"" URI "}"), 0, &one, NULL), 0);
    for (size_t i = 0; i < UI_PLACEMENTS_MAX + 5; i++)
        json_push(&arena, list, *one);
    json_set(&arena, ui, STR("placements"), *list);
    assert_int_equal(ui_placements_read(&arena, ui, STR("x"), &found), UI_PLACEMENTS_MAX);
}
