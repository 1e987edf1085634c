#include "http/assets.h"
#include "support/unit.h"

static const struct asset items[] = {
    {.path = STR_INIT("/assets/a.js"), .is_immutable = true},
    {.path = STR_INIT("/assets/ab.js"), .is_immutable = true},
    {.path = STR_INIT("/index.html"), .bytes = STR_INIT("<p>")},
};

static void every_path_is_found(void **state)
{
    for (size_t count = 1; count <= ARRAY_LEN(items); count++) {
        struct asset_table table = {items, count};

        for (size_t i = 0; i < count; i++)
            assert_ptr_equal(asset_table_find(&table, items[i].path), &items[i]);
    }
}

static void a_path_is_matched_whole(void **state)
{
    static const str absent[] = {STR_INIT(""),          STR_INIT("/"),
                                 STR_INIT("/assets/a"), STR_INIT("/assets/a.jsx"),
                                 STR_INIT("/zz"),       STR_INIT("/INDEX.HTML")};
    struct asset_table table = {items, ARRAY_LEN(items)};

    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        assert_null(asset_table_find(&table, absent[i]));
}

static void a_program_without_the_page_has_no_assets(void **state)
{
    assert_null(assets_find(STR("/index.html")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_is_found),
        cmocka_unit_test(a_path_is_matched_whole),
        cmocka_unit_test(a_program_without_the_page_has_no_assets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
