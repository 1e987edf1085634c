#include <errno.h>

#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/roster/roster_lock.h"

TEST(marks_and_exclusion)
{
    struct tempdir dir;
    struct roster_lock a, b;
    struct err e = {0};
    assert_int_equal(tempdir_make(&dir), 0);

    /* Nobody has written yet: readers need no file and make none. */
    assert_int_equal(roster_lock_take(&a, dir.path, false, &e), 0);
    assert_int_equal(a.fd, -1);
    assert_int_equal(roster_lock_mark(&a), 0);
    roster_lock_drop(&a);

    assert_int_equal(roster_lock_take(&a, dir.path, true, &e), 0);
    assert_int_equal(roster_lock_set_mark(&a, &e), 0);
    assert_int_equal(roster_lock_set_mark(&a, &e), 0);
    assert_int_equal(roster_lock_mark(&a), 2);
    roster_lock_drop(&a);

    /* Readers share it. */
    assert_int_equal(roster_lock_take(&a, dir.path, false, &e), 0);
    assert_int_equal(roster_lock_take(&b, dir.path, false, &e), 0);
    assert_int_equal(roster_lock_mark(&b), 2);
    roster_lock_drop(&a);
    roster_lock_drop(&b);
    assert_int_equal(tempdir_drop(&dir), 0);
}

TEST(waiting_has_an_end)
{
    struct tempdir dir;
    struct roster_lock a, b;
    struct err e = {0};
    assert_int_equal(tempdir_make(&dir), 0);
    assert_int_equal(roster_lock_take(&a, dir.path, true, &e), 0);
    assert_int_equal(roster_lock_take(&b, dir.path, false, &e), -EBUSY);
    assert_non_null(strstr(e.msg, "another process"));
    roster_lock_drop(&a);
    assert_int_equal(tempdir_drop(&dir), 0);
}
