/* Numbers as values: double conversion and exact equality. */
#include <math.h>

#include "base/json/json.h"
#include "support/unit.h"

static struct json *parsed(struct arena *a, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

TEST(to_double)
{
    static const struct {
        const char *text;
        double value;
    } CASES[] = {
        {"0", 0},
        {"-1", -1},
        {"0.1", 0.1},
        {"1e5", 1e5},
        {"-2.5E-3", -2.5e-3},
        {"1e400", -99},
        {"null", -99},
        {"\"1\"", -99},
        {"1e-400", 0},
        {"9223372036854775808", 9223372036854775808.0},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
         "0",
         1.2345678901234568e89},
    };
    (void)state;
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_true(json_double(parsed(&a, CASES[i].text), -99) == CASES[i].value);
    assert_true(signbit(json_double(parsed(&a, "-0"), 1)));
    assert_true(json_double(NULL, 3) == 3);
    arena_done(&a);
}

/* What json_of_double writes reads back as the same double, and as the same kind of value. */
TEST(of_double_reads_back)
{
    static const double CASES[] = {
        0.1,        1.0 / 3, 1e22, 123456789.125, 5e-324, 1e308, -1.5e-9, 100000000,
        4294967296, 1e15,    1e16, 0.3,           2.5,    1e21,  -7,      9007199254740993.0};
    (void)state;
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct json v = json_of_double(&a, CASES[i]);
        str text = json_to_str(&a, &v);
        struct json *again = parsed(&a, text.p);
        assert_true(json_double(again, NAN) == CASES[i]);
        assert_int_equal(again->type, v.type);
        assert_true(text.n <= 24);
    }
    struct json tenth = json_of_double(&a, 0.1);
    assert_string_equal(json_to_str(&a, &tenth).p, "0.1");
    struct json whole = json_of_double(&a, 3.0);
    assert_int_equal(whole.type, JSON_INT);
    struct json nan = json_of_double(&a, NAN), inf = json_of_double(&a, -INFINITY);
    assert_int_equal(nan.type, JSON_NULL);
    assert_int_equal(inf.type, JSON_NULL);
    arena_done(&a);
}

TEST(equality_is_exact)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } CASES[] = {
        {"1", "1", true},
        {"1", "2", false},
        {"1", "1.0", true},
        {"1", "10e-1", true},
        {"1", "0.1e1", true},
        {"1", "0.01E+2", true},
        {"100", "1e2", true},
        {"100", "1e3", false},
        {"120", "12e1", true},
        {"102", "12e1", false},
        {"1.20", "1.2", true},
        {"1.02", "1.2", false},
        {"0.5", "5e-1", true},
        {"0.05", "5e-1", false},
        {"0.0050", "50e-4", true},
        {"-1", "1", false},
        {"-1.0", "-1", true},
        {"0", "-0", true},
        {"0", "0.000", true},
        {"0", "0e99", true},
        {"0", "1e-99", false},
        {"9223372036854775807", "9223372036854775808", false},
        {"9223372036854775808", "9223372036854775809", false},
        {"9223372036854775808", "9223372036854775808.0", true},
        {"9007199254740993", "9007199254740992.0", false},
        {"1e400", "1e401", false},
        {"1e400", "10e399", true},
        {"0.1", "0.10000000000000001", false},
        {"1e99999999999999999999", "1e99999999999999999999", true},
        {"1e99999999999999999999", "1e99999999999999999998", false},
        {"1", "\"1\"", false},
        {"1", "true", false},
        {"0", "null", false},
    };
    (void)state;
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct json *x = parsed(&a, CASES[i].a), *y = parsed(&a, CASES[i].b);
        if (json_equal(x, y) != CASES[i].equal || json_equal(y, x) != CASES[i].equal)
            fail_msg("%s and %s", CASES[i].a, CASES[i].b);
    }
    arena_done(&a);
}
