#include "cli/panel/rows.h"
#include "cli/term/text.h"
#include "support/unit.h"

static const char *draw(size_t width)
{
    static struct buf b;
    struct rows r;
    buf_done(&b);
    buf_init(&b, 65536);
    rows_init(&r);
    rows_title(&r, STR("Title"));
    rows_add(&r, STR("/one"), STR("first words and more of them"));
    rows_add(&r, STR("漢字"), STR("x\x1b[31m\ny"));
    rows_say(&r, "n", "%d", 7);
    rows_draw(&r, width, false, &b);
    rows_done(&r);
    return buf_cstr(&b);
}

TEST(two_columns_that_wrap)
{
    assert_string_equal(draw(80), "Title\n"
                                  "/one  first words and more of them\n"
                                  "漢字  x␛[31m y\n"
                                  "n     7\n");
    assert_string_equal(draw(30), "Title\n"
                                  "/one  first words and more of\n"
                                  "      them\n"
                                  "漢字  x␛[31m y\n"
                                  "n     7\n");
}

TEST(a_narrow_terminal_has_the_right_side_below)
{
    assert_string_equal(draw(20), "Title\n"
                                  "/one\n"
                                  "  first words and\n"
                                  "  more of them\n"
                                  "漢字\n"
                                  "  x␛[31m y\n"
                                  "n\n"
                                  "  7\n");
}

TEST(no_line_is_wider_than_the_terminal)
{
    for (size_t width = 10; width <= 200; width++) {
        str rest = str_from(draw(width)), line;
        while (str_split(&rest, '\n', &line))
            assert_true(text_width(line) <= width);
    }
}

/* A left side that is too wide for its column does not push the others to the right. */
TEST(a_long_name_stands_alone)
{
    struct rows r;
    struct buf b;
    buf_init(&b, 65536);
    rows_init(&r);
    rows_add(&r, STR("a_name_with_far_more_than_twenty_eight_columns"), STR("its text"));
    rows_add(&r, STR("b"), STR("text"));
    rows_draw(&r, 80, false, &b);
    assert_string_equal(buf_cstr(&b), "a_name_with_far_more_than_twenty_eight_columns\n"
                                      "   its text\n"
                                      "b  text\n");
    rows_done(&r);
    buf_done(&b);
}
