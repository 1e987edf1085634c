#include "http/assets.h"
#include "support/unit.h"

static const struct asset items[] = {
    {.path = STR_INIT("/assets/a.js"), .is_immutable = true},
    {.path = STR_INIT("/assets/ab.js"), .is_immutable = true},
    {.path = STR_INIT("/index.html"), .bytes = STR_INIT("<p>")},
};

TEST(every_path_is_found)
{
    for (size_t count = 1; count <= ARRAY_LEN(items); count++) {
        struct asset_table table = {items, count};

        for (size_t i = 0; i < count; i++)
            assert_ptr_equal(asset_table_find(&table, items[i].path), &items[i]);
    }
}

TEST(a_path_is_matched_whole)
{
    static const str absent[] = {STR_INIT(""),          STR_INIT("/"),
                                 STR_INIT("/assets/a"), STR_INIT("/assets/a.jsx"),
                                 STR_INIT("/zz"),       STR_INIT("/INDEX.HTML")};
    struct asset_table table = {items, ARRAY_LEN(items)};

    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        assert_null(asset_table_find(&table, absent[i]));
}

TEST(a_program_without_the_page_has_no_assets)
{
    assert_null(assets_find(STR("/index.html")));
}
