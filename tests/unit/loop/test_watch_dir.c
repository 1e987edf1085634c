#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "loop/watch.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

enum { PATIENCE_MS = 60000, SHORT_MS = 30 };

struct seen {
    bool is_seen;
    int calls;
    char name[64];
    struct dir_watch *stop; /* in the callback */
};

static struct tempdir dir;
static struct loop *loop;

static void note(void *ctx, const char *name)
{
    struct seen *s = ctx;
    s->calls++;
    snprintf(s->name, sizeof s->name, "%s", name ? name : "(gone)");
    s->is_seen = true;
    dir_watch_stop(s->stop);
    s->stop = NULL;
}

static int setup(void **state)
{
    loop = loop_new(NULL);
    return tempdir_make(&dir);
}

static int teardown(void **state)
{
    loop_free(loop);
    return tempdir_drop(&dir);
}

static const char *at(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    return path;
}

static void await_name(struct seen *s, const char *name)
{
    do {
        s->is_seen = false;
        assert_true(loop_run_until(loop, &s->is_seen, PATIENCE_MS));
    } while (strcmp(s->name, name) != 0);
}

TEST_WITH(a_file_that_is_replaced_is_noticed, setup, teardown)
{
    struct seen s = {0};
    struct dir_watch *w = NULL;
    assert_int_equal(dir_watch_start(loop, dir.path, note, &s, &w), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(file_write_atomic(at("settings"), STR("x"), 0600, NULL), 0);
        await_name(&s, "settings");
    }
    (void)unlink(at("settings"));
    await_name(&s, "settings");
    dir_watch_stop(w);
    dir_watch_stop(NULL);
}

TEST_WITH(a_file_that_stays_open_is_noticed_when_it_is_closed, setup, teardown)
{
    struct seen s = {0};
    struct dir_watch *w = NULL;
    int fd = open(at("log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(dir_watch_start(loop, dir.path, note, &s, &w), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(write(fd, "line\n", 5), 5);
    assert_false(loop_run_until(loop, &s.is_seen, SHORT_MS));
    close(fd);
    await_name(&s, "log");
    assert_int_equal(s.calls, 1);
    dir_watch_stop(w);
}

TEST_WITH(two_watches_of_one_directory_are_independent, setup, teardown)
{
    struct seen a = {0}, b = {0};
    struct dir_watch *x = NULL, *y = NULL;
    assert_int_equal(dir_watch_start(loop, dir.path, note, &a, &x), 0);
    assert_int_equal(dir_watch_start(loop, dir.path, note, &b, &y), 0);
    a.stop = x; /* the first call of the first one */
    assert_int_equal(file_write_atomic(at("one"), STR("x"), 0600, NULL), 0);
    await_name(&b, "one");
    assert_int_equal(a.calls, 1);
    b.stop = y;
    assert_int_equal(file_write_atomic(at("two"), STR("x"), 0600, NULL), 0);
    b.is_seen = false;
    assert_true(loop_run_until(loop, &b.is_seen, PATIENCE_MS));
    assert_int_equal(a.calls, 1);
}

TEST_WITH(the_end_of_the_directory_is_reported, setup, teardown)
{
    struct seen s = {0};
    struct dir_watch *w = NULL;
    char below[256];
    snprintf(below, sizeof below, "%s", at("below"));
    assert_int_equal(dir_watch_start(loop, below, note, &s, &w), -ENOENT);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(dir_watch_start(loop, below, note, &s, &w), 0);
    s.stop = w;
    assert_int_equal(rmdir(below), 0);
    await_name(&s, "(gone)");
    assert_int_equal(s.calls, 1);
    assert_int_equal(file_write_atomic(at("file"), STR("x"), 0600, NULL), 0);
    assert_int_equal(dir_watch_start(loop, at("file"), note, &s, &w), -ENOTDIR);
}
