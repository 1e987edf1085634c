#include "cli/term/text.h"
#include "support/unit.h"

static void check(double share, const char *expected)
{
    char out[BAR_BYTES_MAX];
    bar_text(out, share);
    assert_string_equal(out, expected);
}

TEST(shares_become_eighths)
{
    check(0, "");
    check(1.0 / (BAR_COLUMNS * 8), "▏");
    check(0.5 / BAR_COLUMNS, "▌");
    check(1.0 / BAR_COLUMNS, "█");
    check(0.25, "█████");
    check(0.975, "███████████████████▌");
}

TEST(little_is_not_nothing)
{
    check(1e-9, "▏");
}

TEST(more_than_all_is_all)
{
    check(1, "████████████████████");
    check(7, "████████████████████");
}
