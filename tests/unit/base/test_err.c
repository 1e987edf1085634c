#include <errno.h>
#include <limits.h>

#include "base/err.h"
#include "base/utf8.h"
#include "support/unit.h"

TEST(set_and_clear)
{
    struct err e = {0};
    assert_int_equal(err_set(&e, -EINVAL, "line %d: %s", 3, "odd"), -EINVAL);
    assert_int_equal(e.code, -EINVAL);
    assert_string_equal(e.msg, "line 3: odd");
    err_clear(&e);
    assert_int_equal(e.code, 0);
    assert_string_equal(e.msg, "");
}

TEST(null_is_accepted)
{
    assert_int_equal(err_set(NULL, -EIO, "x"), -EIO);
    assert_int_equal(err_errno(NULL, -EIO, "cannot read", "f"), -EIO);
    err_prefix(NULL, "x");
    err_clear(NULL);
}

TEST(errno_has_words)
{
    struct err e = {0};
    assert_int_equal(err_errno(&e, -ENOSPC, "cannot write", "/a/b"), -ENOSPC);
    assert_string_equal(e.msg, "cannot write /a/b: no space left on device");
    err_errno(&e, -EACCES, "cannot bind", NULL);
    assert_string_equal(e.msg, "cannot bind: permission denied");
}

TEST(prefix)
{
    struct err e = {0};
    err_set(&e, -EINVAL, "expected string");
    err_prefix(&e, "bundles[%d].url", 2);
    assert_string_equal(e.msg, "bundles[2].url: expected string");
    assert_int_equal(e.code, -EINVAL);
}

TEST(long_messages_are_cut_between_characters)
{
    /* "ä" repeated, at both parities, so that one of them ends in the middle of an ä. */
    char text[ERR_MAX * 2];
    for (size_t i = 0; i + 1 < sizeof(text); i += 2) {
        text[i] = '\xc3';
        text[i + 1] = '\xa4';
    }
    text[sizeof(text) - 2] = '\0';
    for (int shift = 0; shift < 2; shift++) {
        struct err e = {0};
        err_set(&e, -EINVAL, "%.*s%s", shift, "x", text);
        assert_true(utf8_valid(str_from(e.msg)));
        assert_true(strlen(e.msg) >= ERR_MAX - 2);
        assert_true(strlen(e.msg) < ERR_MAX);
        err_prefix(&e, "%s", "y");
        assert_true(utf8_valid(str_from(e.msg)));
        assert_true(strlen(e.msg) >= ERR_MAX - 2);
        err_prefix(&e, "%s", text);
        assert_true(utf8_valid(str_from(e.msg)));
    }
}

TEST(reasons)
{
    assert_string_equal(err_reason(-ENOENT), "no such file or directory");
    assert_string_equal(err_reason(ENOENT), "no such file or directory");
    assert_string_equal(err_reason(-EXDEV), "Invalid cross-device link"); /* from libc */
    assert_string_equal(err_reason(-4000), "unknown error");
    assert_string_equal(err_reason(INT_MIN), "unknown error");
}
