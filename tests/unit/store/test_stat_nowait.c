#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "rig.h"
#include "store/event/stat_nowait.h"

/* A look may fail while somebody renames a directory on the way: it does not wait. */
static bool stat_soon(const char *path, struct file_stat *ret)
{
    for (int i = 0; i < 1000; i++)
        if (stat_nowait(path, ret))
            return true;
    return false;
}

/* Nobody can make the kernel forget a file that is open: what is checked here is that a look at
 * one says the same as stat, and that what is not there is not found. */
TEST(sees_what_stat_sees)
{
    struct rig r;
    struct stat st;
    struct file_stat g;
    rig_init(&r, "jsonl", NULL);
    const char *path = rig_path(&r, "a.jsonl"), *link = rig_path(&r, "link.jsonl");
    rig_spit(&r, "a.jsonl", "we", STR("twelve bytes"));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(stat(path, &st), 0);
    if (!stat_soon(path, &g) && (errno == ENOSYS || errno == EINVAL || errno == EPERM))
        skip(); /* Linux before 5.12, or a container that does not allow it */
    assert_true(stat_soon(path, &g));
    assert_int_equal(g.size, 12);
    assert_int_equal(g.ino, st.st_ino);
    assert_int_equal(g.dev, st.st_dev);

    assert_int_equal(symlink("a.jsonl", link), 0);
    assert_true(!stat_nowait(link, &g) || g.ino != st.st_ino);
    assert_int_equal(unlink(path), 0);
    assert_false(stat_nowait(path, &g));
    close(fd);
    rig_done(&r);
}
