#include <fcntl.h>
#include <sys/stat.h>

#include "rig.h"
#include "store/glance.h"

/* Nobody can make the kernel forget a file that is open: what is checked here is that a look at
 * one says the same as stat, and that what is not there is not found. */
static void test_sees_what_stat_sees(void **state)
{
    struct rig r;
    struct stat st;
    struct glance g;
    rig_init(&r, "jsonl", NULL);
    const char *path = rig_path(&r, "a.jsonl"), *link = rig_path(&r, "link.jsonl");
    rig_spit(&r, "a.jsonl", "we", STR("twelve bytes"));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(glance(path, &g)); /* needs Linux 5.12 */
    assert_int_equal(g.size, 12);
    assert_int_equal(g.ino, st.st_ino);
    assert_int_equal(g.dev, st.st_dev);

    assert_int_equal(symlink("a.jsonl", link), 0);
    assert_true(!glance(link, &g) || g.ino != st.st_ino);
    assert_int_equal(unlink(path), 0);
    assert_false(glance(path, &g));
    close(fd);
    rig_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sees_what_stat_sees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
