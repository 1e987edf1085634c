#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "support/unit.h"

TEST(from)
{
    assert_int_equal(str_from(NULL).n, 0);
    assert_null(str_from(NULL).p);
    assert_int_equal(str_from("abc").n, 3);
    assert_int_equal(STR("a\0b").n, 3);
}

TEST(equality)
{
    assert_true(str_eq(STR("abc"), str_from("abc")));
    assert_false(str_eq(STR("abc"), STR("abd")));
    assert_false(str_eq(STR("abc"), STR("ab")));
    assert_true(str_eq(STR_NONE, STR("")));
    assert_true(str_eq_nocase(STR("Content-TYPE"), STR("content-type")));
    assert_false(str_eq_nocase(STR("a["), STR("a{"))); /* differ by 0x20, but are no letters */
    assert_false(str_eq_nocase(STR("\xc3\x84"), STR("\xc3\xa4")));
}

TEST(order)
{
    assert_true(str_cmp(STR("ab"), STR("abc")) < 0);
    assert_true(str_cmp(STR("b"), STR("abc")) > 0);
    assert_int_equal(str_cmp(STR_NONE, STR("")), 0);
    assert_true(str_cmp(STR("\x7f"), STR("\x80")) < 0); /* bytes are unsigned */
}

TEST(prefix_and_suffix)
{
    assert_true(str_starts(STR("conv_1"), STR("conv_")));
    assert_false(str_starts(STR("con"), STR("conv_")));
    assert_true(str_starts(STR_NONE, STR_NONE));
    assert_true(str_ends(STR("a.md"), STR(".md")));
    assert_false(str_ends(STR("md"), STR(".md")));
    assert_true(str_ends(STR("x"), STR("")));
    assert_true(str_starts_nocase(STR("BEARER x"), STR("bearer ")));
}

TEST(find)
{
    str s = STR("one two one");
    assert_int_equal(str_find(s, STR("one"), 0), 0);
    assert_int_equal(str_find(s, STR("one"), 1), 8);
    assert_int_equal(str_find(s, STR("three"), 0), -1);
    assert_int_equal(str_find(s, STR(""), 4), 4);
    assert_int_equal(str_find(s, STR(""), 11), 11);
    assert_int_equal(str_find(s, STR(""), 12), -1);
    assert_int_equal(str_find(STR_NONE, STR("x"), 0), -1);
    assert_int_equal(str_find(STR_NONE, STR_NONE, 0), 0);
    assert_int_equal(str_find_char(s, 'w'), 5);
    assert_int_equal(str_find_char(STR_NONE, 'w'), -1);
    assert_int_equal(str_rfind_char(s, 'o'), 8);
    assert_int_equal(str_rfind_char(STR_NONE, 'o'), -1);
    assert_int_equal(str_find_nocase(s, STR("TWO")), 4);
    assert_int_equal(str_find_nocase(s, STR("twoo")), -1);
    assert_int_equal(str_find_nocase(STR_NONE, STR_NONE), 0);
}

TEST(slices)
{
    str s = STR("0123456789");
    assert_true(str_eq(str_slice(s, 2, 5), STR("234")));
    assert_true(str_eq(str_slice(s, 8, 100), STR("89")));
    assert_int_equal(str_slice(s, 5, 2).n, 0);
    assert_int_equal(str_slice(STR_NONE, 0, 9).n, 0);
    assert_true(str_eq(str_skip(s, 9), STR("9")));
    assert_int_equal(str_skip(s, SIZE_MAX).n, 0);
    assert_true(str_eq(str_trim(STR(" \t\r\n a b \v\f")), STR("a b")));
    assert_int_equal(str_trim(STR(" \n ")).n, 0);
    assert_int_equal(str_trim(STR_NONE).n, 0);
}

TEST(split)
{
    static const char *const want[] = {"a", "", "b"};
    str rest = STR("a,,b"), part;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_true(str_split(&rest, ',', &part));
        assert_true(str_eq(part, str_from(want[i])));
    }
    assert_false(str_split(&rest, ',', &part));

    rest = STR("line\n");
    assert_true(str_split(&rest, '\n', &part));
    assert_true(str_eq(part, STR("line")));
    assert_false(str_split(&rest, '\n', &part));

    rest = STR_NONE;
    assert_false(str_split(&rest, ',', &part));
}

TEST(parse_u64)
{
    uint64_t v = 7;
    assert_int_equal(parse_u64(STR("18446744073709551615"), &v), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(parse_u64(STR("18446744073709551616"), &v), -ERANGE);
    assert_int_equal(parse_u64(STR("99999999999999999999x"), &v), -EINVAL);
    assert_true(v == UINT64_MAX); /* untouched by failures */
    assert_int_equal(parse_u64(STR("007"), &v), 0);
    assert_int_equal(v, 7);
    static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "0x1", "1.0"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(parse_u64(str_from(bad[i]), &v), -EINVAL);
}

TEST(parse_i64)
{
    int64_t v = 7;
    assert_int_equal(parse_i64(STR("-9223372036854775808"), &v), 0);
    assert_true(v == INT64_MIN);
    assert_int_equal(parse_i64(STR("9223372036854775807"), &v), 0);
    assert_true(v == INT64_MAX);
    assert_int_equal(parse_i64(STR("9223372036854775808"), &v), -ERANGE);
    assert_int_equal(parse_i64(STR("-9223372036854775809"), &v), -ERANGE);
    assert_int_equal(parse_i64(STR("-0"), &v), 0);
    assert_int_equal(v, 0);
    static const char *const bad[] = {"", "-", "--1", "+1", "1-"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(parse_i64(str_from(bad[i]), &v), -EINVAL);
}

TEST(parse_double)
{
    double v = 7;
    assert_int_equal(parse_double(STR("-1.5e3"), &v), 0);
    assert_true(v == -1500);
    assert_int_equal(parse_double(STR(".5"), &v), 0);
    assert_true(v == 0.5);
    assert_int_equal(parse_double(STR("1e999"), &v), -ERANGE);
    assert_true(v == 0.5);
    assert_int_equal(parse_double(STR("1e-999"), &v), 0);
    assert_true(v == 0);
    char zeros[200];
    memset(zeros, '0', sizeof(zeros));
    zeros[199] = '3';
    assert_int_equal(parse_double(str_make(zeros, sizeof(zeros)), &v), 0);
    assert_true(v == 3);
    static const char *const bad[] = {"",   "-",   ".",   "1e",  "e5",   " 1", "1 ",
                                      "+1", "0x1", "nan", "inf", "1..2", "1e+"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(parse_double(str_from(bad[i]), &v), -EINVAL);
}

TEST(dup)
{
    char *copy = str_dup(str_make("abcdef", 3));
    assert_string_equal(copy, "abc");
    free(copy);
    copy = str_dup(STR_NONE);
    assert_string_equal(copy, "");
    free(copy);
}

TEST(allocation_is_zeroed_and_never_null)
{
    char *p = xcalloc(4, 4);
    for (int i = 0; i < 16; i++)
        assert_int_equal(p[i], 0);
    p = xrealloc(p, 0);
    assert_non_null(p);
    free(p);
    p = xcalloc(0, 8);
    assert_non_null(p);
    free(p);
}

TEST(a_string_is_found_in_a_list)
{
    const str list[] = {STR("a"), STR("bc"), STR("")};
    const char *const cstrs[] = {"a", "bc", NULL};
    assert_true(str_in(STR("bc"), list, 3));
    assert_true(str_in(STR_NONE, list, 3));
    assert_false(str_in(STR("b"), list, 3));
    assert_false(str_in(STR(""), list, 2));
    assert_false(str_in(STR("a"), NULL, 0));
    assert_true(str_in_cstrs(STR("bc"), cstrs));
    assert_false(str_in_cstrs(STR("abc"), cstrs));
}

TEST(an_array_grows_only_when_it_is_full)
{
    uint32_t *items = NULL;
    size_t cap = 0;
    for (uint32_t n = 0; n < 100; n++) {
        size_t before = cap;
        GROW(items, n, cap);
        assert_true(n < cap);
        assert_int_equal(cap != before, n == before);
        items[n] = n;
    }
    for (uint32_t n = 0; n < 100; n++)
        assert_int_equal(items[n], n);
    free(items);
}

TEST(names_have_positions)
{
    static const char *const NAMES[] = {[0] = "zero", [2] = "two", [3] = ""};
    assert_int_equal(STR_INDEX(STR("zero"), NAMES), 0);
    assert_int_equal(STR_INDEX(STR("two"), NAMES), 2);
    assert_int_equal(STR_INDEX(STR("tw"), NAMES), -1);
    assert_int_equal(STR_INDEX(STR_NONE, NAMES), 3); /* the hole is not an empty name */
}

TEST(made_of_letters_digits_and_others)
{
    assert_true(str_is_made_of(STR("aZ09"), ""));
    assert_true(str_is_made_of(STR("a-b_c"), "-_"));
    assert_true(str_is_made_of(STR_NONE, ""));
    assert_false(str_is_made_of(STR("a.b"), "-_"));
    assert_false(str_is_made_of(STR("a\0b"), "-_")); /* the end of `others` is not one of them */
    assert_false(str_is_made_of(STR("\xc3\xa9"), "-_"));
}
