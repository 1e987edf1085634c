#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/dir_grant.h"

static struct tempdir dir;
static struct arena arena;

static const char *at(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir.path, name).p;
}

static int begin(void **state)
{
    arena_init(&arena);
    return tempdir_make(&dir) || mkdir(at("project"), 0755);
}

static int end(void **state)
{
    arena_done(&arena);
    return tempdir_drop(&dir);
}

static struct dir_grant grant_of(const char *path)
{
    struct dir_grant g;
    struct err e = {0};
    assert_int_equal(dir_grant_of(&arena, path, &g, &e), 0);
    return g;
}

TEST_WITH(a_grant_names_the_directory_without_links, begin, end)
{
    struct err e = {0};
    assert_int_equal(symlink("project", at("link")), 0);
    struct dir_grant direct = grant_of(at("project")), by_link = grant_of(at("link"));
    assert_true(dir_grant_same(&direct, &by_link));
    assert_int_equal(dir_grant_check(&direct, &e), 0);
}

TEST_WITH(a_path_with_a_link_on_the_way_is_refused, begin, end)
{
    struct err e = {0};
    struct dir_grant g = grant_of(at("project"));
    assert_int_equal(symlink("project", at("link")), 0);
    g.path = str_from(at("link"));
    assert_int_equal(dir_grant_check(&g, &e), -ESTALE);
    g.path = str_from(at("project/../project"));
    assert_int_equal(dir_grant_check(&g, &e), -ESTALE);
}

TEST_WITH(a_directory_that_was_removed_or_replaced_is_refused, begin, end)
{
    struct err e = {0};
    struct dir_grant g = grant_of(at("project"));
    assert_int_equal(rename(at("project"), at("old")), 0);
    assert_int_equal(dir_grant_check(&g, &e), -ENOENT);
    assert_int_equal(mkdir(at("project"), 0755), 0);
    assert_int_equal(dir_grant_check(&g, &e), -ESTALE);
    assert_non_null(strstr(e.msg, "no longer the directory"));
}

TEST_WITH(only_absolute_plain_paths_of_directories, begin, end)
{
    static const char *const WRONG[] = {"", "project", "/a\nb", "/\x1b[31m", "/\xff"};
    struct err e = {0};
    struct dir_grant g = grant_of(at("project"));
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        g.path = str_from(WRONG[i]);
        assert_int_equal(dir_grant_check(&g, &e), -EINVAL);
    }
    g.path = STR("/etc/passwd");
    assert_int_equal(dir_grant_check(&g, &e), -ENOTDIR);
    assert_int_equal(dir_grant_of(&arena, "/etc/passwd", &g, &e), -ENOTDIR);
}
