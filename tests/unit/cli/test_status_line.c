#include "cli/panel/status_line.h"
#include "cli/term/text.h"
#include "support/unit.h"

static const char *draw(const struct status_line *s, size_t width)
{
    static struct buf b;
    buf_done(&b);
    buf_init(&b, 65536);
    status_line_draw(s, width, false, &b);
    return buf_cstr(&b);
}

TEST(what_fits_is_shown)
{
    struct status_line s = {.model = STR("demo:demo"),
                            .used = 3505,
                            .limit = 200000,
                            .cost = 0.0042,
                            .title = STR("A \x1b[31mtitle"),
                            .origin = STR("conv_1")};
    assert_string_equal(
        draw(&s, 100),
        "demo:demo · 3.5k of 200k (1%) · $0.0042 · branch of conv_1 · A ␛[31mtitle");
    assert_string_equal(draw(&s, 40), "demo:demo · 3.5k of 200k (1%) · $0.0042");
    assert_string_equal(draw(&s, 12), "demo:demo");
    for (size_t width = 1; width <= 200; width++)
        assert_true(text_width(str_from(draw(&s, width))) <= width);
}

TEST(what_is_not_known_is_left_out)
{
    struct status_line s = {.model = STR("m"), .used = 12, .cost = -1};
    assert_string_equal(draw(&s, 80), "m · 12 tokens");
    s = (struct status_line){.cost = -1};
    assert_string_equal(draw(&s, 80), "");
    s = (struct status_line){.model = STR("m"), .used = 1200000, .limit = 2000000, .cost = 1.5};
    assert_string_equal(draw(&s, 80), "m · 1.2M of 2.0M (60%) · $1.50");
}
