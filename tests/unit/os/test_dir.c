#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"
#include "support/unit.h"

/* A directory with the file "f", the directory "sub" and the link "link" to it. */
static int set_up(void **state)
{
    char *dir = strdup("/tmp/nb-dir-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    close(openat(fd, "f", O_CREAT | O_WRONLY, 0600));
    int r = mkdirat(fd, "sub", 0700) | symlinkat("sub", fd, "link");
    close(fd);
    *state = dir;
    return r;
}

static int tear_down(void **state)
{
    int fd = open(*state, O_RDONLY | O_DIRECTORY);
    int r = unlinkat(fd, "f", 0) | unlinkat(fd, "link", 0) | unlinkat(fd, "sub", AT_REMOVEDIR);
    close(fd);
    r |= rmdir(*state);
    free(*state);
    return r;
}

TEST_WITH(every_name_but_the_dots_is_returned_once, set_up, tear_down)
{
    unsigned seen = 0;
    DIR_EACH (d, *state) {
        unsigned bit = strcmp(d.name, "f") == 0      ? 1
                       : strcmp(d.name, "sub") == 0  ? 2
                       : strcmp(d.name, "link") == 0 ? 4
                                                     : 8;
        assert_int_equal(seen & bit, 0);
        assert_true(d.type == DT_UNKNOWN || (d.type == DT_DIR) == (bit == 2));
        seen |= bit;
    }
    assert_int_equal(seen, 7);
}

TEST_WITH(a_loop_may_end_early, set_up, tear_down)
{
    struct stat st;
    int fd = -1;
    DIR_EACH (d, *state) {
        assert_int_equal(fstatat(dir_fd(&d), d.name, &st, AT_SYMLINK_NOFOLLOW), 0);
        fd = dir_fd(&d);
        break;
    }
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

TEST(a_directory_that_is_not_there_has_no_names)
{
    struct dir d = dir_open("/nonexistent/nb");
    assert_int_equal(d.error, -ENOENT);
    assert_false(dir_next(&d));
    dir_close(&d);
}

TEST_WITH(links_below_are_not_followed, set_up, tear_down)
{
    struct dir d = dir_open(*state), sub = dir_open_below(dir_fd(&d), "sub");
    assert_int_equal(sub.error, 0);
    assert_false(dir_next(&sub));
    assert_null(sub.handle);
    assert_true(dir_open_below(dir_fd(&d), "link").error < 0);
    assert_int_equal(dir_open_below(dir_fd(&d), "f").error, -ENOTDIR);
    dir_close(&d);
    dir_close(&d);
}

TEST_WITH(a_descriptor_that_is_not_a_directory_is_closed, set_up, tear_down)
{
    char path[64];
    snprintf(path, sizeof path, "%s/f", (char *)*state);
    int fd = open(path, O_RDONLY);
    assert_int_equal(dir_open_fd(fd).error, -ENOTDIR);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

TEST_WITH(a_tree_is_removed_without_following_links, set_up, tear_down)
{
    struct dir d = dir_open(*state);
    int fd = dir_fd(&d);
    assert_int_equal(mkdirat(fd, "tree", 0700), 0);
    assert_int_equal(mkdirat(fd, "tree/deep", 0700), 0);
    assert_int_equal(symlinkat("../sub", fd, "tree/out"), 0);
    assert_int_equal(symlinkat("../../f", fd, "tree/deep/f"), 0);
    assert_int_equal(dir_remove_tree(fd, "tree", 1), -ENOTEMPTY); /* deeper than allowed */
    assert_int_equal(dir_remove_tree(fd, "tree", 2), 0);
    assert_int_equal(faccessat(fd, "tree", F_OK, 0), -1);
    assert_int_equal(faccessat(fd, "f", F_OK, 0), 0);
    assert_int_equal(faccessat(fd, "sub", F_OK, 0), 0);
    assert_int_equal(dir_remove_tree(fd, "tree", 2), 0); /* nothing there */
    dir_close(&d);
}
