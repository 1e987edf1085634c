/* unit.h - unit tests that register themselves.
 *
 *     TEST(a_number_ends_at_a_space)
 *     {
 *         assert_int_equal(...);
 *     }
 *
 *     TEST_WITH(a_file_is_replaced, make_dir, remove_dir) { ... uses *state ... }
 *
 * There is no list of tests and no main: every test program links unit_main.c. A program that has
 * to do something before its tests defines main and calls run_unit_tests. With a word as argument a
 * test program runs only the tests whose names contain it.
 *
 * Include this header instead of <cmocka.h>, which does not include what it needs. */
#pragma once

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define TEST(name) TEST_WITH(name, NULL, NULL)
/* set_up and tear_down run around the test, as `int fn(void **state)`. */
#define TEST_WITH(name, set_up, tear_down)                                                         \
    static void test_##name(void **state);                                                         \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        add_test(#name, test_##name, set_up, tear_down);                                           \
    }                                                                                              \
    static void test_##name([[maybe_unused]] void **state)

/* Run once: before the first test, after the last one. */
#define TESTS_SHARE(set_up, tear_down)                                                             \
    __attribute__((constructor)) static void add_shared_fixture(void)                              \
    {                                                                                              \
        share_fixture(set_up, tear_down);                                                          \
    }

void add_test(const char *name, CMUnitTestFunction fn, CMFixtureFunction set_up,
              CMFixtureFunction tear_down);
void share_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down);
/* The number of failed tests. `only`: a part of the names to run, or NULL. */
int run_unit_tests(const char *group, const char *only);
