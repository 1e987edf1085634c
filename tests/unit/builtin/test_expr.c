#include <errno.h>
#include <math.h>

#include "builtin/expr.h"
#include "support/unit.h"

TEST(values)
{
    static const struct {
        const char *text;
        double value;
    } CASES[] = {
        {"1", 1},
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"2^3^2", 512},
        {"-2^2", -4},
        {"(-2)^2", 4},
        {"2^-1", 0.5},
        {"10/4", 2.5},
        {"7%4", 3},
        {"1e3 + .5", 1000.5},
        {"--3", 3},
        {"+3", 3},
        {"sqrt(16)", 4},
        {"min(3, 2)+max(1,5)", 7},
        {"PI", M_PI},
        {"ln(e)", 1},
        {"log(1000)", 3},
        {"round(2.5)", 3},
        {" 1 +\t2\n", 3},
        {"1.5e2", 150},
        {"2*-3", -6},
        {"abs(-4)", 4},
        {"pow(2,10)", 1024},
        {"100-1-1", 98},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        double v = 0;
        struct err e = {0};
        if (expr_eval(str_from(CASES[i].text), &v, &e) < 0)
            fail_msg("%s: %s", CASES[i].text, e.msg);
        if (fabs(v - CASES[i].value) > 1e-12)
            fail_msg("%s is %g, expected %g", CASES[i].text, v, CASES[i].value);
    }
}

TEST(errors)
{
    static const struct {
        const char *text, *message;
    } CASES[] = {
        {"", "ends too early"},      {"1+", "ends too early"},      {"(1", "expected ')'"},
        {"1 2", "unexpected text"},  {"foo", "unknown name"},       {"1/0", "division by zero"},
        {"5%0", "division by zero"}, {"2**3", "expected a number"}, {"sqrt 2", "expected '('"},
        {"min(1)", "expected ','"},  {"sqrt(-1)", "not a finite"},  {"10^400", "not a finite"},
        {"0x10", "unexpected text"}, {"1..2", "unexpected text"},   {"system(1)", "unknown name"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        double v = 0;
        struct err e = {0};
        assert_int_equal(expr_eval(str_from(CASES[i].text), &v, &e), -EINVAL);
        if (!strstr(e.msg, CASES[i].message))
            fail_msg("'%s' gives: %s", CASES[i].text, e.msg);
    }
}

TEST(bounds)
{
    char deep[EXPR_BYTES_MAX + 10];
    double v;
    struct err e = {0};
    memset(deep, '(', sizeof deep);
    assert_int_equal(expr_eval(str_make(deep, 1000), &v, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "too deeply"));
    memset(deep, '-', sizeof deep);
    assert_int_equal(expr_eval(str_make(deep, 1000), &v, &e), -EINVAL);
    assert_int_equal(expr_eval(str_make(deep, sizeof deep), &v, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "more than"));
}
