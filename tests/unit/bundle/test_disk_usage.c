#include "bundle/confine/process_usage.h"
#include "sandbox_rig.h"

static void fill(const char *name, size_t kilobytes)
{
    char *text = xcalloc(1, kilobytes * 1024 + 1);
    memset(text, 'x', kilobytes * 1024);
    (void)make_file(name, text, 0644);
    free(text);
}

TEST_WITH(all_files_below_are_counted, rig_open, rig_close)
{
    fill("d/a", 100);
    fill("d/sub/deeper/b", 200);
    struct disk_usage u = disk_usage(at("d"));
    assert_int_equal(u.files, 4);
    assert_in_range(u.bytes, 300 * 1024, 400 * 1024);
}

/* Elsewhere is not its own, and a file with two names is one. */
TEST_WITH(links_are_not_followed, rig_open, rig_close)
{
    fill("other/big", 500);
    fill("d/a", 100);
    assert_int_equal(symlink(at("other"), at("d/link")), 0);
    assert_int_equal(link(at("d/a"), at("d/b")), 0);
    struct disk_usage u = disk_usage(at("d"));
    assert_int_equal(u.files, 3);
    assert_in_range(u.bytes, 100 * 1024, 150 * 1024);
}

TEST_WITH(a_missing_directory_holds_nothing, rig_open, rig_close)
{
    assert_int_equal(disk_usage(at("none")).files, 0);
}
