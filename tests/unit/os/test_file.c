#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "support/unit.h"

static char dir[64];

static int make_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/nb-file-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    return rmdir(dir);
}

TEST(the_head_of_a_file)
{
    char path[128], p[4];
    snprintf(path, sizeof path, "%s/head", dir);
    assert_int_equal(file_put(path, "x"), -ENOENT); /* it makes none */
    assert_int_equal(file_head(path, p, sizeof p).n, 0);
    assert_int_equal(file_write_atomic(path, STR("123456"), 0600, NULL), 0);
    assert_true(str_eq(file_head(path, p, sizeof p), STR("1234")));
    assert_int_equal(file_put(path, "ab"), 0);
    assert_true(str_eq(file_head(path, p, sizeof p), STR("ab34")));
    assert_int_equal(unlink(path), 0);
}

TEST(write_then_read)
{
    char path[128];
    struct arena a;
    str got;
    struct stat st;
    arena_init(&a);
    snprintf(path, sizeof path, "%s/x", dir);
    assert_int_equal(file_write_atomic(path, STR("one"), 0600, NULL), 0);
    assert_int_equal(file_write_atomic(path, STR("two two"), 0600, NULL), 0);
    assert_int_equal(file_read(&a, path, 100, &got, NULL), 0);
    assert_true(str_eq(got, STR("two two")));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct err e = {0};
    assert_int_equal(file_read(&a, path, 3, &got, &e), -EFBIG);
    assert_non_null(strstr(e.msg, "limit is 3"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(file_read(&a, path, 3, &got, &e), -ENOENT);
    arena_done(&a);
}

TEST(files_that_tell_no_size)
{
    struct arena a;
    struct err e = {0};
    str got = STR_NONE;
    arena_init(&a);
    assert_int_equal(file_read(&a, "/proc/self/status", 1 << 20, &got, &e), 0);
    assert_true(str_starts(got, STR("Name:")));
    assert_int_equal(file_read(&a, "/proc/self/status", 3, &got, &e), -EFBIG);
    arena_done(&a);
}

TEST(directories)
{
    char path[128];
    struct arena a;
    struct err e = {0};
    str got;
    arena_init(&a);
    snprintf(path, sizeof path, "%s/a/b/c", dir);
    assert_int_equal(file_make_dirs(path, &e), 0);
    assert_int_equal(file_make_dirs(path, &e), 0);
    assert_int_equal(file_read(&a, path, 100, &got, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "not a regular file"));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(file_write_atomic(path, STR("file"), 0600, NULL), 0);
    assert_true(file_make_dirs(path, &e) < 0);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/a/b", dir);
    assert_int_equal(rmdir(path), 0);
    snprintf(path, sizeof path, "%s/a", dir);
    assert_int_equal(rmdir(path), 0);
    arena_done(&a);
}

TESTS_SHARE(make_dir, drop_dir)
