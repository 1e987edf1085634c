#include "auth/session/token.h"
#include "support/unit.h"

TEST(shape)
{
    char a[TOKEN_MAX], b[TOKEN_MAX], s[SECRET_CHARS + 1];
    token_make(a);
    token_make(b);
    secret_make(s);
    assert_string_not_equal(a, b);
    assert_int_equal(strlen(a), TOKEN_CHARS);
    assert_int_equal(strlen(s), SECRET_CHARS);
    assert_int_equal(
        strspn(a + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        SECRET_CHARS);
    assert_true(token_looks_right(str_from(a)));
    assert_false(token_looks_right(str_from(s)));
    assert_false(token_looks_right(str_make(a, TOKEN_CHARS - 1)));
    assert_false(token_looks_right(STR_NONE));
}
