#include "cli/term/bar.h"
#include "support/unit.h"

static void check(double share, const char *expected)
{
    char out[BAR_BYTES_MAX];
    bar_text(out, share);
    assert_string_equal(out, expected);
}

static void test_shares_become_eighths(void **state)
{
    check(0, "");
    check(1.0 / (BAR_COLUMNS * 8), "▏");
    check(0.5 / BAR_COLUMNS, "▌");
    check(1.0 / BAR_COLUMNS, "█");
    check(0.25, "█████");
    check(0.975, "███████████████████▌");
}

static void test_little_is_not_nothing(void **state)
{
    check(1e-9, "▏");
}

static void test_more_than_all_is_all(void **state)
{
    check(1, "████████████████████");
    check(7, "████████████████████");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_become_eighths),
        cmocka_unit_test(test_little_is_not_nothing),
        cmocka_unit_test(test_more_than_all_is_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
