#include <errno.h>
#include <fcntl.h>

#include "loop/watch.h"
#include "support/tempdir.h"
#include "support/unit.h"

enum { PATIENCE_MS = 60000 };

static void note(void *ctx)
{
    *(bool *)ctx = true;
}

TEST(a_write_is_noticed)
{
    struct tempdir dir;
    struct path_watch *w;
    char path[128];
    bool is_seen = false;
    assert_int_equal(tempdir_make(&dir), 0);
    snprintf(path, sizeof path, "%s/mark", dir.path);
    struct loop *l = loop_new(NULL);
    assert_int_equal(watch_start(l, path, note, &is_seen, &w), -ENOENT);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(watch_start(l, path, note, &is_seen, &w), 0);
    assert_false(loop_run_until(l, &is_seen, 20));
    assert_int_equal(pwrite(fd, "1", 1, 0), 1);
    assert_true(loop_run_until(l, &is_seen, PATIENCE_MS));
    watch_stop(w);
    is_seen = false;
    assert_int_equal(pwrite(fd, "2", 1, 0), 1);
    assert_false(loop_run_until(l, &is_seen, 20));
    close(fd);
    watch_stop(NULL);
    loop_free(l);
    assert_int_equal(tempdir_drop(&dir), 0);
}
