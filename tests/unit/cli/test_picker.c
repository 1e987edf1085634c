#include "cli/panel/picker.h"
#include "cli/term/text.h"
#include "support/unit.h"

static void fill(struct picker *p)
{
    picker_init(p, "Choose");
    picker_add(p, STR("a"), STR("Alpha talk"), STR("5 min ago"));
    picker_add(p, STR("b"), STR("Beta \x1b[31mtalk"), STR("1 h ago"));
    picker_add(p, STR("c"), STR("漢字"), STR("yesterday"));
}

static const char *draw(const struct picker *p, size_t width)
{
    static struct buf b;
    size_t col;
    buf_done(&b);
    buf_init(&b, 65536);
    picker_draw(p, width, false, &b, &col);
    assert_true(col <= width);
    return buf_cstr(&b);
}

TEST(typing_narrows_the_list_and_arrows_move)
{
    struct picker p;
    fill(&p);
    assert_string_equal(draw(&p, 40), "Choose: \n"
                                      "❯ Alpha talk                   5 min ago\n"
                                      "  Beta ␛[31mtalk                 1 h ago\n"
                                      "  漢字                         yesterday\n"
                                      "  3 of 3 · Enter chooses, Esc leaves");
    assert_int_equal(picker_keys(&p, STR("\x1b[B\x1b[B\x1b[B\x1b[A")), PICKER_OPEN);
    assert_true(str_eq(picker_value(&p), STR("b")));
    assert_int_equal(picker_keys(&p, STR("TALK alph")), PICKER_OPEN);
    assert_int_equal(p.nmatches, 1);
    assert_int_equal(picker_keys(&p, STR("\r")), PICKER_CHOSEN);
    assert_true(str_eq(picker_value(&p), STR("a")));
    picker_done(&p);
}

TEST(nothing_that_matches_cannot_be_chosen)
{
    struct picker p;
    fill(&p);
    assert_int_equal(picker_keys(&p, STR("zzz\r")), PICKER_OPEN);
    assert_int_equal(picker_value(&p).n, 0);
    assert_int_equal(picker_keys(&p, STR("\x7f\x7f\x7f字\r")), PICKER_CHOSEN);
    assert_true(str_eq(picker_value(&p), STR("c")));
    assert_int_equal(picker_keys(&p, STR("\x7f")), PICKER_OPEN); /* a character, not a byte */
    assert_int_equal(p.query.n, 0);
    picker_done(&p);
}

TEST(escape_and_control_c_leave)
{
    static const char *const KEYS[] = {"\x1b", "\x03", "\x04", "ab\x1b"};
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        struct picker p;
        fill(&p);
        assert_int_equal(picker_keys(&p, str_from(KEYS[i])), PICKER_LEFT);
        picker_done(&p);
    }
}

TEST(it_scrolls_and_has_ceilings)
{
    struct picker p;
    picker_init(&p, "Choose");
    for (int i = 0; i < PICKER_ITEMS_MAX + 5; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "item %d", i);
        picker_add(&p, str_from(name), str_from(name), STR_NONE);
    }
    assert_int_equal(p.n, PICKER_ITEMS_MAX);
    for (int i = 0; i < PICKER_LINES; i++)
        (void)picker_keys(&p, STR("\x0e"));
    assert_non_null(strstr(draw(&p, 40), "❯ item 10\n"));
    assert_null(strstr(draw(&p, 40), "  item 0\n"));
    for (int i = 0; i < 2 * PICKER_QUERY_MAX; i++)
        (void)picker_keys(&p, STR("i"));
    assert_int_equal(p.query.n, PICKER_QUERY_MAX);
    for (size_t width = 10; width <= 200; width += 5) {
        str rest = str_from(draw(&p, width)), line;
        while (str_split(&rest, '\n', &line))
            assert_true(text_width(line) <= width);
    }
    picker_done(&p);
}
