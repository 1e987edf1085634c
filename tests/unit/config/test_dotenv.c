/* {workDir}/.env: what is an assignment, and what is said about the rest. */
#include <errno.h>

#include "config/dotenv.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

static int load(struct arena *a, const char *text, unsigned mode, struct dotenv *ret, bool *is_open,
                struct err *e)
{
    struct tempdir dir;
    char path[80];
    assert_int_equal(tempdir_make(&dir), 0);
    snprintf(path, sizeof path, "%s/.env", dir.path);
    assert_int_equal(file_write_atomic(path, str_from(text), mode, NULL), 0);
    int r = dotenv_load(a, path, ret, is_open, e);
    tempdir_drop(&dir);
    return r;
}

TEST(assignments)
{
    struct arena a;
    struct dotenv d;
    bool is_open;
    arena_init(&a);
    const char *text = "# keys\nA=1\n\nexport B = \"two words\" \nC='x=y'\r\nA=3\nEMPTY=\n";
    assert_int_equal(load(&a, text, 0600, &d, &is_open, NULL), 0);
    assert_false(is_open);
    assert_string_equal(dotenv_get(&a, &d, "A"), "3");
    assert_string_equal(dotenv_get(&a, &d, "B"), "two words");
    assert_string_equal(dotenv_get(&a, &d, "C"), "x=y");
    assert_string_equal(dotenv_get(&a, &d, "EMPTY"), "");
    assert_null(dotenv_get(&a, &d, "D"));
    arena_done(&a);
}

TEST(a_line_that_is_none_is_named)
{
    static const char *const BAD[] = {"A=1\nnonsense\n", "A=1\n1A=2\n", "A=1\n=2\n"};
    struct arena a;
    struct dotenv d;
    bool is_open;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        struct err e = {0};
        assert_int_equal(load(&a, BAD[i], 0644, &d, &is_open, &e), -EINVAL);
        assert_non_null(strstr(e.msg, "line 2"));
        assert_true(is_open);
    }
    assert_int_equal(dotenv_load(&a, "/nonexistent/.env", &d, &is_open, NULL), 0);
    assert_null(dotenv_get(&a, &d, "A"));
    arena_done(&a);
}
