#include <errno.h>

#include "config/file.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/lock.h"

static void test_marks_and_exclusion(void **state)
{
    struct tempdir dir;
    struct lock a, b;
    struct err e = {0};
    assert_int_equal(tempdir_make(&dir), 0);

    /* Nobody has written yet: readers need no file and make none. */
    assert_int_equal(lock_take(&a, dir.path, false, &e), 0);
    assert_int_equal(a.fd, -1);
    assert_int_equal(lock_mark(&a), 0);
    lock_drop(&a);

    assert_int_equal(lock_take(&a, dir.path, true, &e), 0);
    assert_int_equal(lock_set_mark(&a, &e), 0);
    assert_int_equal(lock_set_mark(&a, &e), 0);
    assert_int_equal(lock_mark(&a), 2);
    lock_drop(&a);

    /* Readers share it. */
    assert_int_equal(lock_take(&a, dir.path, false, &e), 0);
    assert_int_equal(lock_take(&b, dir.path, false, &e), 0);
    assert_int_equal(lock_mark(&b), 2);
    lock_drop(&a);
    lock_drop(&b);
    assert_int_equal(tempdir_drop(&dir), 0);
}

static void test_waiting_has_an_end(void **state)
{
    struct tempdir dir;
    struct lock a, b;
    struct err e = {0};
    assert_int_equal(tempdir_make(&dir), 0);
    assert_int_equal(lock_take(&a, dir.path, true, &e), 0);
    assert_int_equal(lock_take(&b, dir.path, false, &e), -EBUSY);
    assert_non_null(strstr(e.msg, "another process"));
    lock_drop(&a);
    assert_int_equal(tempdir_drop(&dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_marks_and_exclusion),
                                       cmocka_unit_test(test_waiting_has_an_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
