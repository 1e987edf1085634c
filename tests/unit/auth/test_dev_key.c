#include <errno.h>
#include <sys/stat.h>

#include "auth/dev_key.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

static struct tempdir dir;
static char path[256];

static int begin(void **state)
{
    int r = tempdir_make(&dir);
    snprintf(path, sizeof path, "%s/" DEV_KEY_FILE, dir.path);
    return r;
}

static int end(void **state)
{
    return tempdir_drop(&dir);
}

TEST_WITH(a_key_is_made_once, begin, end)
{
    char first[SECRET_CHARS + 1], again[SECRET_CHARS + 1];
    struct stat st;
    assert_int_equal(dev_key_read(dir.path, first, NULL), -ENOENT);
    assert_int_equal(dev_key_ensure(dir.path, first, NULL), 0);
    assert_int_equal(strlen(first), SECRET_CHARS);
    assert_int_equal(dev_key_ensure(dir.path, again, NULL), 0);
    assert_string_equal(first, again);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

TEST_WITH(a_new_key_replaces_the_old_one, begin, end)
{
    char first[SECRET_CHARS + 1], next[SECRET_CHARS + 1], read[SECRET_CHARS + 1];
    struct stat st;
    assert_int_equal(dev_key_ensure(dir.path, first, NULL), 0);
    assert_int_equal(dev_key_renew(dir.path, next, NULL), 0);
    assert_string_not_equal(first, next);
    assert_int_equal(dev_key_read(dir.path, read, NULL), 0);
    assert_string_equal(next, read);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

TEST_WITH(a_key_that_others_may_read_is_refused, begin, end)
{
    char key[SECRET_CHARS + 1];
    struct err e = {0};
    assert_int_equal(dev_key_ensure(dir.path, key, NULL), 0);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(dev_key_ensure(dir.path, key, &e), -EACCES);
    assert_non_null(strstr(e.msg, "Delete the file"));
}

TEST_WITH(a_damaged_key_is_refused, begin, end)
{
    static const char *const BAD[] = {"", "short", "0123456789012345678901234567890123456789 12",
                                      "01234567890123456789012345678901234567890123456789"};
    char key[SECRET_CHARS + 1];
    assert_int_equal(dev_key_ensure(dir.path, key, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        assert_int_equal(file_write_atomic(path, str_from(BAD[i]), 0600, NULL), 0);
        assert_int_equal(dev_key_ensure(dir.path, key, NULL), -EINVAL);
    }
}
