#include <assert.h>
#include <string.h>

#include "support/unit.h"

#define TESTS_MAX 256

static struct CMUnitTest tests[TESTS_MAX];
static size_t ntests;
static CMFixtureFunction shared_set_up, shared_tear_down;

void add_test(const char *name, CMUnitTestFunction fn, CMFixtureFunction set_up,
              CMFixtureFunction tear_down)
{
    assert(ntests < TESTS_MAX);
    tests[ntests++] = (struct CMUnitTest){name, fn, set_up, tear_down, NULL};
}

void share_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    shared_set_up = set_up;
    shared_tear_down = tear_down;
}

static size_t select_tests(const char *only, struct CMUnitTest *selected)
{
    size_t n = 0;
    for (size_t i = 0; i < ntests; i++)
        if (!only || strstr(tests[i].name, only))
            selected[n++] = tests[i];
    return n;
}

int run_unit_tests(const char *group, const char *only)
{
    struct CMUnitTest selected[TESTS_MAX];
    size_t n = select_tests(only, selected);
    if (n == 0) {
        print_error("no test's name contains '%s'\n", only ? only : "");
        return 1;
    }
    return _cmocka_run_group_tests(group, selected, n, shared_set_up, shared_tear_down);
}
