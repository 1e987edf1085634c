#include <errno.h>

#include "auth/session/password.h"
#include "base/clock.h"
#include "support/unit.h"

TEST(right_and_wrong)
{
    char a[PASSWORD_HASH_MAX], b[PASSWORD_HASH_MAX];
    struct err e = {0};
    assert_int_equal(password_hash(STR("correct horse"), a, &e), 0);
    assert_int_equal(password_hash(STR("correct horse"), b, &e), 0);
    assert_true(str_starts(str_from(a), STR("$argon2id$v=19$m=65536,t=2,p=1$")));
    assert_string_not_equal(a, b);
    assert_int_equal(password_verify(str_from(a), STR("correct horse"), &e), 0);
    assert_int_equal(password_verify(str_from(b), STR("correct horse"), &e), 0);
    assert_int_equal(password_verify(str_from(a), STR("correct horsf"), &e), -EACCES);
    assert_int_equal(password_verify(str_from(a), STR_NONE, &e), -EACCES);
    assert_int_equal(password_verify(STR("$argon2id$broken"), STR("correct horse"), &e), -EACCES);
}

/* The time that this thread has worked, whatever else the machine does. */
static uint64_t thread_us(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t time_of(str hash, int *ret)
{
    struct err e;
    uint64_t start = thread_us();
    *ret = password_verify(hash, STR("whatever it is"), &e);
    return thread_us() - start;
}

/* Not to the microsecond, but the same work: a name that does not exist must not answer at
 * once. */
TEST(nobody_takes_as_long_as_somebody)
{
    char hash[PASSWORD_HASH_MAX];
    int r;
    assert_int_equal(password_hash(STR("correct horse"), hash, NULL), 0);
    uint64_t somebody = UINT64_MAX, nobody = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t t = time_of(str_from(hash), &r);
        assert_int_equal(r, -EACCES);
        somebody = t < somebody ? t : somebody;
        t = time_of(STR_NONE, &r);
        assert_int_equal(r, -EACCES);
        nobody = t < nobody ? t : nobody;
    }
    assert_true(nobody * 2 > somebody);
}

TEST(what_may_be_a_password)
{
    static char long_one[PASSWORD_MAX + 2];
    struct err e = {0};
    memset(long_one, 'x', PASSWORD_MAX + 1);
    assert_int_equal(password_check(STR("1234567"), &e), -EINVAL);
    assert_non_null(strstr(e.msg, "at least 8"));
    assert_int_equal(password_check(STR("12345678"), &e), 0);
    assert_int_equal(password_check(STR("p\xc3\xa4sswort!"), &e), 0);
    assert_int_equal(password_check(STR("bad \xff utf-8"), &e), -EINVAL);
    assert_int_equal(password_check(str_from(long_one), &e), -EINVAL);
    assert_int_equal(password_verify(STR_NONE, str_from(long_one), &e), -EACCES);
}
