#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/secrets/credentials.h"

static struct arena arena;
static struct tempdir tempdir;
static const char *root;
static const char *dir;

static int set(const char *key, const char *value, struct err *e)
{
    struct json v = json_of_str(str_from(value));
    return credentials_set(dir, STR("echo"), str_from(key), value ? &v : NULL, e);
}

static str get(const char *key)
{
    struct json *all;
    struct err e = {0};
    assert_int_equal(credentials_load(&arena, dir, STR("echo"), &all, &e), 0);
    return json_get_string(all, key);
}

static int setup(void **state)
{
    arena_init(&arena);
    if (tempdir_make(&tempdir) < 0)
        return -1;
    root = tempdir.path;
    dir = arena_printf(&arena, "%s/credentials", root).p;
    return 0;
}

static int teardown(void **state)
{
    arena_done(&arena);
    return tempdir_drop(&tempdir);
}

TEST_WITH(values_are_kept_for_the_owner_alone, setup, teardown)
{
    struct err e = {0};
    struct stat st;
    assert_int_equal(get("key").n, 0);
    assert_int_equal(set("key", "s3cret", &e), 0);
    assert_int_equal(set("other", "x", &e), 0);
    assert_int_equal(set("key", "again", &e), 0);
    assert_true(str_eq(get("key"), STR("again")));
    assert_true(str_eq(get("other"), STR("x")));
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(arena_printf(&arena, "%s/echo.json", dir).p, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(set("key", NULL, &e), 0);
    assert_int_equal(get("key").n, 0);
    assert_int_equal(set("key", NULL, &e), -ENOENT);
    assert_int_equal(credentials_remove(dir, STR("echo"), &e), 0);
    assert_int_equal(credentials_remove(dir, STR("echo"), &e), 0);
    assert_int_equal(get("other").n, 0);
}

TEST_WITH(a_broken_file_is_not_quoted, setup, teardown)
{
    struct err e = {0};
    struct json *all;
    assert_int_equal(set("a", "b", &e), 0);
    file_write_atomic(arena_printf(&arena, "%s/echo.json", dir).p, STR("{\"k\":s3cret"), 0600, &e);
    assert_int_equal(credentials_load(&arena, dir, STR("echo"), &all, &e), -EINVAL);
    assert_null(strstr(e.msg, "s3cret"));
    assert_int_equal(set("a", "b", &e), -EINVAL);
}

TEST_WITH(what_mpak_stored_is_read, setup, teardown)
{
    struct err e = {0};
    assert_null(credentials_of_mpak(&arena, root, STR("@a/b")));
    assert_null(credentials_of_mpak(&arena, NULL, STR("@a/b")));
    assert_int_equal(file_make_dirs(arena_printf(&arena, "%s/.mpak", root).p, &e), 0);
    file_write_atomic(arena_printf(&arena, "%s/.mpak/config.json", root).p,
                      STR("{\"packages\":{\"@a/b\":{\"k\":\"v\"},\"@a/c\":7}}"), 0600, &e);
    assert_true(
        str_eq(json_get_string(credentials_of_mpak(&arena, root, STR("@a/b")), "k"), STR("v")));
    assert_null(credentials_of_mpak(&arena, root, STR("@a/c")));
}

TEST_WITH(values_are_masked, setup, teardown)
{
    assert_true(str_eq(credentials_mask(&arena, STR("sk-abc")), STR("sk****")));
    assert_true(str_eq(credentials_mask(&arena, STR("abcd")), STR("****")));
    assert_true(str_eq(credentials_mask(&arena, STR("")), STR("****")));
}
