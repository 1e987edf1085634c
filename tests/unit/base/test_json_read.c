/* The reader: what it accepts, what it refuses, and what it says about it. */
#include <errno.h>

#include "base/json/json.h"
#include "support/unit.h"

#define OUT_MAX ((size_t)1 << 24)

struct fixture {
    struct arena arena;
    struct buf out;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    arena_init(&f->arena);
    buf_init(&f->out, OUT_MAX);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    arena_done(&f->arena);
    buf_done(&f->out);
    free(f);
    return 0;
}

/* Parses from a heap copy of exactly the right size, so that reading past the end is seen
 * by the sanitizer. */
static int parse(struct fixture *f, str text, int flags, struct json **ret, struct err *e)
{
    char *copy = malloc(text.n ? text.n : 1);
    assert_non_null(copy);
    memcpy(copy, text.p, text.n);
    int r = json_parse(&f->arena, str_make(copy, text.n), flags | JSON_COPY, ret, e);
    free(copy);
    return r;
}

static str written(struct fixture *f, const struct json *v)
{
    buf_clear(&f->out);
    assert_int_equal(json_write(&f->out, v), 0);
    return buf_str(&f->out);
}

/* y_ must be accepted, i_ is left to implementations by RFC 8259 and accepted by us. `out`
 * is what we write back; empty = the same text. */
struct accepted {
    const char *name;
    str text, out;
};

static const struct accepted ACCEPTED[] = {
    /* documents */
    {"y_top_null", STR_INIT("null"), {0}},
    {"y_top_true", STR_INIT("true"), {0}},
    {"y_top_false", STR_INIT("false"), {0}},
    {"y_top_integer", STR_INIT("42"), {0}},
    {"y_top_negative", STR_INIT("-1"), {0}},
    {"y_top_string", STR_INIT("\"text\""), {0}},
    {"y_top_empty_string", STR_INIT("\"\""), {0}},
    {"y_space_around", STR_INIT(" \t\r\n 1 \n\r\t "), STR_INIT("1")},
    {"y_newline_at_end", STR_INIT("[]\n"), STR_INIT("[]")},
    {"y_space_everywhere", STR_INIT(" { \"a\" : [ 1 , 2 ] , \"b\" : { } } "),
     STR_INIT("{\"a\":[1,2],\"b\":{}}")},
    {"y_tabs_and_returns", STR_INIT("[\t1\r,\n2]"), STR_INIT("[1,2]")},
    /* arrays */
    {"y_array_empty", STR_INIT("[]"), {0}},
    {"y_array_empty_with_space", STR_INIT("[ \n ]"), STR_INIT("[]")},
    {"y_array_one", STR_INIT("[1]"), {0}},
    {"y_array_nested_empty", STR_INIT("[[],[[]]]"), {0}},
    {"y_array_mixed", STR_INIT("[null,true,false,1,1.5,\"s\",[],{}]"), {0}},
    {"y_array_of_nulls", STR_INIT("[null,null,null]"), {0}},
    /* objects */
    {"y_object_empty", STR_INIT("{}"), {0}},
    {"y_object_one", STR_INIT("{\"a\":1}"), {0}},
    {"y_object_empty_key", STR_INIT("{\"\":0}"), {0}},
    {"y_object_order_kept", STR_INIT("{\"z\":1,\"a\":2,\"m\":3}"), {0}},
    {"y_object_duplicates_kept", STR_INIT("{\"a\":1,\"a\":2,\"a\":1}"), {0}},
    {"y_object_escaped_key", STR_INIT("{\"\\u0061\\n\":1}"), STR_INIT("{\"a\\n\":1}")},
    {"y_object_nul_in_key", STR_INIT("{\"a\\u0000b\":1}"), {0}},
    {"y_object_long_key", STR_INIT("{\"0123456789abcdef0123456789abcdef0\":1}"), {0}},
    {"y_object_nested", STR_INIT("{\"a\":{\"b\":{\"c\":[{\"d\":{}}]}}}"), {0}},
    /* numbers */
    {"y_number_zero", STR_INIT("0"), {0}},
    {"y_number_minus_zero", STR_INIT("-0"), {0}},
    {"y_number_minus_zero_fraction", STR_INIT("-0.0"), {0}},
    {"y_number_0e1", STR_INIT("0e1"), {0}},
    {"y_number_0e_plus_1", STR_INIT("0e+1"), {0}},
    {"y_number_fraction", STR_INIT("0.1"), {0}},
    {"y_number_trailing_zeros", STR_INIT("1.000"), {0}},
    {"y_number_exponent", STR_INIT("1e5"), {0}},
    {"y_number_capital_exponent", STR_INIT("1E5"), {0}},
    {"y_number_exponent_leading_zeros", STR_INIT("1e0005"), {0}},
    {"y_number_negative_exponent", STR_INIT("1.5e-10"), {0}},
    {"y_number_int64_max", STR_INIT("9223372036854775807"), {0}},
    {"y_number_int64_min", STR_INIT("-9223372036854775808"), {0}},
    {"y_number_two_to_63", STR_INIT("9223372036854775808"), {0}},
    {"y_number_below_int64", STR_INIT("-9223372036854775809"), {0}},
    {"y_number_two_to_64", STR_INIT("18446744073709551616"), {0}},
    {"y_number_wraps_if_added_up", STR_INIT("18446744073709551617"), {0}},
    {"y_number_nineteen_nines", STR_INIT("9999999999999999999"), {0}},
    {"y_number_30_digits", STR_INIT("123456789012345678901234567890"), {0}},
    {"y_number_2_to_53_plus_1", STR_INIT("9007199254740993"), {0}},
    {"y_number_long_fraction", STR_INIT("3.141592653589793238462643383279502884"), {0}},
    {"y_number_in_array", STR_INIT("[-1,-0,0,1]"), {0}},
    {"i_number_huge_exponent", STR_INIT("1e400"), {0}},
    {"i_number_tiny_exponent", STR_INIT("-1e-400"), {0}},
    {"i_number_absurd_exponent", STR_INIT("1e99999999999999999999"), {0}},
    /* strings */
    {"y_string_space", STR_INIT("\" \""), {0}},
    {"y_string_all_short_escapes", STR_INIT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
     STR_INIT("\"\\\"\\\\/\\b\\f\\n\\r\\t\"")},
    {"y_string_u_escape", STR_INIT("\"\\u0041\""), STR_INIT("\"A\"")},
    {"y_string_u_escape_both_cases", STR_INIT("\"\\u00eF\\u00Ef\""),
     STR_INIT("\"\xc3\xaf\xc3\xaf\"")},
    {"y_string_nul", STR_INIT("\"\\u0000\""), {0}},
    {"y_string_nul_inside", STR_INIT("\"a\\u0000b\""), {0}},
    {"y_string_control_as_escape", STR_INIT("\"\\u001f\""), {0}},
    {"y_string_u000a", STR_INIT("\"\\u000a\""), STR_INIT("\"\\n\"")},
    {"y_string_quote_as_u", STR_INIT("\"\\u0022\""), STR_INIT("\"\\\"\"")},
    {"y_string_backslash_as_u", STR_INIT("\"\\u005c\""), STR_INIT("\"\\\\\"")},
    {"y_string_escaped_backslash_at_end", STR_INIT("\"a\\\\\""), {0}},
    {"y_string_two_backslashes", STR_INIT("\"\\\\\\\\\""), {0}},
    {"y_string_backslash_quote", STR_INIT("\"\\\\\\\"\""), {0}},
    {"y_string_escaped_u_is_text", STR_INIT("\"\\\\u0041\""), {0}},
    {"y_string_surrogate_pair", STR_INIT("\"\\ud83d\\ude00\""), STR_INIT("\"\xf0\x9f\x98\x80\"")},
    {"y_string_first_pair", STR_INIT("\"\\uD800\\uDC00\""), STR_INIT("\"\xf0\x90\x80\x80\"")},
    {"y_string_last_pair", STR_INIT("\"\\uDBFF\\uDFFF\""), STR_INIT("\"\xf4\x8f\xbf\xbf\"")},
    {"y_string_two_pairs", STR_INIT("\"\\ud83d\\ude00\\ud83d\\ude00\""),
     STR_INIT("\"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"")},
    {"y_string_uffff", STR_INIT("\"\\uffff\""), STR_INIT("\"\xef\xbf\xbf\"")},
    {"y_string_u07ff_u0800", STR_INIT("\"\\u07ff\\u0800\""), STR_INIT("\"\xdf\xbf\xe0\xa0\x80\"")},
    {"y_string_del_raw", STR_INIT("\"\x7f\""), {0}},
    {"y_string_utf8_2", STR_INIT("\"\xc3\xa9\""), {0}},
    {"y_string_utf8_3", STR_INIT("\"\xe2\x82\xac\""), {0}},
    {"y_string_utf8_4", STR_INIT("\"\xf0\x9f\x98\x80\""), {0}},
    {"y_string_utf8_last", STR_INIT("\"\xf4\x8f\xbf\xbf\""), {0}},
    {"y_string_noncharacter", STR_INIT("\"\xef\xbf\xbe\""), {0}},
    {"y_string_line_separators_raw", STR_INIT("\"\xe2\x80\xa8\xe2\x80\xa9\""), {0}},
    {"y_string_bom_inside", STR_INIT("\"\xef\xbb\xbf\""), {0}},
    {"y_string_comment_is_text", STR_INIT("\"/* no */ // comment\""), {0}},
    {"y_string_brackets_are_text", STR_INIT("\"[{]},:\""), {0}},
    {"y_string_15", STR_INIT("\"123456789012345\""), {0}},
    {"y_string_16", STR_INIT("\"1234567890123456\""), {0}},
    {"y_string_17", STR_INIT("\"12345678901234567\""), {0}},
    {"y_string_escape_after_16", STR_INIT("\"1234567890123456\\n\""), {0}},
    {"y_string_escape_at_15", STR_INIT("\"123456789012345\\n7890123456789012345\\t\""), {0}},
    {"y_string_utf8_over_16", STR_INIT("\"12345678901234\xe2\x82\xac 890\""), {0}},
    {"y_string_utf8_and_escapes", STR_INIT("\"\xc3\xa9\\n\xc3\xa9\\t\xe2\x82\xac\""), {0}},
};

TEST_WITH(accepts, setup, teardown)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(ACCEPTED); i++) {
        const struct accepted *c = &ACCEPTED[i];
        str expected = c->out.n ? c->out : c->text;
        struct json *v;
        struct err e;
        if (parse(f, c->text, 0, &v, &e) < 0)
            fail_msg("%s: refused: %s", c->name, e.msg);
        str out = written(f, v);
        if (!str_eq(out, expected))
            fail_msg("%s: wrote %.*s", c->name, STR_ARG(out));
    }
}

/* n_ must be refused; i_ is left to implementations and refused by us. */
struct refused {
    const char *name;
    str text;
    const char *message;
};

static const struct refused REFUSED[] = {
    /* documents */
    {"n_nothing", STR_INIT(""), "line 1, column 1: unexpected end"},
    {"n_only_space", STR_INIT(" \n "), "line 2, column 2: unexpected end"},
    {"n_two_documents", STR_INIT("1 2"), "line 1, column 3: unexpected text after the document"},
    {"n_bracket_after", STR_INIT("[]]"), "line 1, column 3: unexpected text after the document"},
    {"n_comma_after", STR_INIT("{},"), "line 1, column 3: unexpected text after the document"},
    {"n_nul_after", STR_INIT("1\0"), "line 1, column 2: unexpected text after the document"},
    {"n_nul_alone", STR_INIT("\0"), "line 1, column 1: expected a value"},
    {"n_comment_block", STR_INIT("[1/* */]"), "line 1, column 3: expected ',' or ']'"},
    {"n_comment_line", STR_INIT("1 // x"), "line 1, column 3: unexpected text after the document"},
    {"n_hash_comment", STR_INIT("# x\n1"), "line 1, column 1: expected a value"},
    {"n_form_feed_space", STR_INIT("[\f1]"), "line 1, column 2: expected a value"},
    {"n_vertical_tab_space", STR_INIT("\v1"), "line 1, column 1: expected a value"},
    {"n_nbsp_space", STR_INIT("\xc2\xa0 1"), "line 1, column 1: expected a value"},
    {"i_bom", STR_INIT("\xef\xbb\xbf{}"), "line 1, column 1: expected a value"},
    {"n_utf16", STR_INIT("[\0]\0"), "line 1, column 2: expected a value"},
    {"n_invalid_byte_alone", STR_INIT("\xff"), "line 1, column 1: expected a value"},
    /* literals */
    {"n_true_capital", STR_INIT("True"), "line 1, column 1: expected a value"},
    {"n_null_capital", STR_INIT("NULL"), "line 1, column 1: expected a value"},
    {"n_true_short", STR_INIT("tru"), "line 1, column 1: expected a value"},
    {"n_true_long", STR_INIT("truee"), "line 1, column 5: unexpected text after the document"},
    {"n_nul", STR_INIT("nul"), "line 1, column 1: expected a value"},
    {"n_false_typo", STR_INIT("[flase]"), "line 1, column 2: expected a value"},
    {"n_undefined", STR_INIT("undefined"), "line 1, column 1: expected a value"},
    {"n_nan", STR_INIT("NaN"), "line 1, column 1: expected a value"},
    {"n_nan_lower", STR_INIT("nan"), "line 1, column 1: expected a value"},
    {"n_infinity", STR_INIT("Infinity"), "line 1, column 1: expected a value"},
    {"n_minus_infinity", STR_INIT("-Infinity"), "line 1, column 2: expected a digit"},
    /* arrays */
    {"n_array_open", STR_INIT("["), "line 1, column 2: unexpected end"},
    {"n_array_open_value", STR_INIT("[1"), "line 1, column 3: unexpected end"},
    {"n_array_open_comma", STR_INIT("[1,"), "line 1, column 4: unexpected end"},
    {"n_array_close", STR_INIT("]"), "line 1, column 1: expected a value"},
    {"n_array_extra_comma", STR_INIT("[1,]"), "line 1, column 4: expected a value"},
    {"n_array_leading_comma", STR_INIT("[,1]"), "line 1, column 2: expected a value"},
    {"n_array_double_comma", STR_INIT("[1,,2]"), "line 1, column 4: expected a value"},
    {"n_array_only_comma", STR_INIT("[,]"), "line 1, column 2: expected a value"},
    {"n_array_no_comma", STR_INIT("[1 2]"), "line 1, column 4: expected ',' or ']'"},
    {"n_array_colon", STR_INIT("[\"a\":1]"), "line 1, column 5: expected ',' or ']'"},
    {"n_array_wrong_close", STR_INIT("[1}"), "line 1, column 3: expected ',' or ']'"},
    {"n_array_star", STR_INIT("[*]"), "line 1, column 2: expected a value"},
    {"n_array_second_line", STR_INIT("[1,\n2,\n x]"), "line 3, column 2: expected a value"},
    /* objects */
    {"n_object_open", STR_INIT("{"), "line 1, column 2: unexpected end"},
    {"n_object_open_key", STR_INIT("{\"a\""), "line 1, column 5: unexpected end"},
    {"n_object_open_colon", STR_INIT("{\"a\":"), "line 1, column 6: unexpected end"},
    {"n_object_open_value", STR_INIT("{\"a\":1"), "line 1, column 7: unexpected end"},
    {"n_object_open_comma", STR_INIT("{\"a\":1,"), "line 1, column 8: unexpected end"},
    {"n_object_extra_comma", STR_INIT("{\"a\":1,}"),
     "line 1, column 8: expected a key in double quotes"},
    {"n_object_leading_comma", STR_INIT("{,}"),
     "line 1, column 2: expected a key in double quotes"},
    {"n_object_no_colon", STR_INIT("{\"a\" 1}"), "line 1, column 6: expected ':'"},
    {"n_object_double_colon", STR_INIT("{\"a\"::1}"), "line 1, column 6: expected a value"},
    {"n_object_comma_for_colon", STR_INIT("{\"a\",1}"), "line 1, column 5: expected ':'"},
    {"n_object_no_value", STR_INIT("{\"a\":}"), "line 1, column 6: expected a value"},
    {"n_object_no_comma", STR_INIT("{\"a\":1 \"b\":2}"), "line 1, column 8: expected ',' or '}'"},
    {"n_object_bare_key", STR_INIT("{a:1}"), "line 1, column 2: expected a key in double quotes"},
    {"n_object_single_quotes", STR_INIT("{'a':1}"),
     "line 1, column 2: expected a key in double quotes"},
    {"n_object_number_key", STR_INIT("{1:1}"), "line 1, column 2: expected a key in double quotes"},
    {"n_object_null_key", STR_INIT("{null:1}"),
     "line 1, column 2: expected a key in double quotes"},
    {"n_object_array_key", STR_INIT("{[]:1}"), "line 1, column 2: expected a key in double quotes"},
    {"n_object_wrong_close", STR_INIT("{\"a\":1]"), "line 1, column 7: expected ',' or '}'"},
    {"n_object_key_only", STR_INIT("{\"a\"}"), "line 1, column 5: expected ':'"},
    {"n_object_broken_key", STR_INIT("{\"\\x\":1}"), "line 1, column 3: unknown escape"},
    /* numbers */
    {"n_number_plus", STR_INIT("+1"), "line 1, column 1: expected a value"},
    {"n_number_minus", STR_INIT("-"), "line 1, column 2: expected a digit"},
    {"n_number_minus_space", STR_INIT("- 1"), "line 1, column 2: expected a digit"},
    {"n_number_two_minus", STR_INIT("--1"), "line 1, column 2: expected a digit"},
    {"n_number_leading_zero", STR_INIT("01"), "line 1, column 1: number with a leading zero"},
    {"n_number_two_zeros", STR_INIT("00"), "line 1, column 1: number with a leading zero"},
    {"n_number_minus_leading_zero", STR_INIT("-012"),
     "line 1, column 2: number with a leading zero"},
    {"n_number_point_first", STR_INIT(".5"), "line 1, column 1: expected a value"},
    {"n_number_minus_point", STR_INIT("-.5"), "line 1, column 2: expected a digit"},
    {"n_number_point_last", STR_INIT("1."), "line 1, column 3: expected a digit"},
    {"n_number_point_exponent", STR_INIT("1.e5"), "line 1, column 3: expected a digit"},
    {"n_number_two_points", STR_INIT("1.2.3"),
     "line 1, column 4: unexpected text after the document"},
    {"n_number_bare_exponent", STR_INIT("1e"), "line 1, column 3: expected a digit"},
    {"n_number_exponent_sign_only", STR_INIT("[1e+]"), "line 1, column 5: expected a digit"},
    {"n_number_exponent_fraction", STR_INIT("1e1.5"),
     "line 1, column 4: unexpected text after the document"},
    {"n_number_two_exponents", STR_INIT("1e1e1"),
     "line 1, column 4: unexpected text after the document"},
    {"n_number_hex", STR_INIT("0x10"), "line 1, column 2: unexpected text after the document"},
    {"n_number_underscore", STR_INIT("1_000"),
     "line 1, column 2: unexpected text after the document"},
    {"n_number_letter", STR_INIT("[1a]"), "line 1, column 3: expected ',' or ']'"},
    {"n_number_fullwidth_digit", STR_INIT("\xef\xbc\x91"), "line 1, column 1: expected a value"},
    {"n_number_space_inside", STR_INIT("[1 000]"), "line 1, column 4: expected ',' or ']'"},
    /* strings */
    {"n_string_open", STR_INIT("\""), "line 1, column 2: unexpected end inside a string"},
    {"n_string_open_text", STR_INIT("\"abc"), "line 1, column 5: unexpected end inside a string"},
    {"n_string_open_escape", STR_INIT("\"\\"), "line 1, column 3: unexpected end inside a string"},
    {"n_string_escaped_close", STR_INIT("\"\\\""),
     "line 1, column 4: unexpected end inside a string"},
    {"n_string_three_backslashes", STR_INIT("\"\\\\\\\""),
     "line 1, column 6: unexpected end inside a string"},
    {"n_string_single_quotes", STR_INIT("'a'"), "line 1, column 1: expected a value"},
    {"n_string_newline", STR_INIT("\"a\nb\""),
     "line 1, column 3: control character inside a string"},
    {"n_string_tab", STR_INIT("\"\t\""), "line 1, column 2: control character inside a string"},
    {"n_string_nul", STR_INIT("\"\0\""), "line 1, column 2: control character inside a string"},
    {"n_string_1f", STR_INIT("\"\x1f\""), "line 1, column 2: control character inside a string"},
    {"n_string_newline_after_escape", STR_INIT("\"\\n\n\""),
     "line 1, column 4: control character inside a string"},
    {"n_string_newline_behind_16", STR_INIT("\"1234567890123456\n\""),
     "line 1, column 18: control character inside a string"},
    {"n_string_escape_x", STR_INIT("\"\\x41\""), "line 1, column 2: unknown escape"},
    {"n_string_escape_a", STR_INIT("\"ab\\a\""), "line 1, column 4: unknown escape"},
    {"n_string_escape_quote", STR_INIT("\"\\'\""), "line 1, column 2: unknown escape"},
    {"n_string_escape_zero", STR_INIT("\"\\0\""), "line 1, column 2: unknown escape"},
    {"n_string_escape_capital_u", STR_INIT("\"\\U0041\""), "line 1, column 2: unknown escape"},
    {"n_string_escape_newline", STR_INIT("\"\\\n\""), "line 1, column 2: unknown escape"},
    {"n_string_escape_high_byte", STR_INIT("\"\\\xc3\xa9\""), "line 1, column 2: unknown escape"},
    {"n_string_u_short", STR_INIT("\"\\u00\""),
     "line 1, column 6: \\u needs four hexadecimal digits"},
    {"n_string_u_bare", STR_INIT("\"\\u\""), "line 1, column 4: \\u needs four hexadecimal digits"},
    {"n_string_u_letter", STR_INIT("\"\\u00g0\""),
     "line 1, column 6: \\u needs four hexadecimal digits"},
    {"n_string_u_plus", STR_INIT("\"\\u+041\""),
     "line 1, column 4: \\u needs four hexadecimal digits"},
    {"n_string_u_end", STR_INIT("\"\\u004"), "line 1, column 7: unexpected end inside a string"},
    {"i_string_high_surrogate", STR_INIT("\"\\ud800\""),
     "line 1, column 2: half of a surrogate pair"},
    {"i_string_low_surrogate", STR_INIT("\"\\udc00\""),
     "line 1, column 2: half of a surrogate pair"},
    {"i_string_swapped_pair", STR_INIT("\"\\ude00\\ud83d\""),
     "line 1, column 2: half of a surrogate pair"},
    {"i_string_two_high", STR_INIT("\"\\ud800\\ud800\""),
     "line 1, column 2: half of a surrogate pair"},
    {"i_string_high_and_letter", STR_INIT("\"\\ud800a\""),
     "line 1, column 2: half of a surrogate pair"},
    {"i_string_high_and_escape", STR_INIT("\"\\ud800\\n\""),
     "line 1, column 2: half of a surrogate pair"},
    {"i_string_high_and_bmp", STR_INIT("\"\\ud800\\u0041\""),
     "line 1, column 2: half of a surrogate pair"},
    {"n_string_pair_cut", STR_INIT("\"\\ud83d\\ude\""),
     "line 1, column 12: \\u needs four hexadecimal digits"},
    {"n_string_pair_bare_u", STR_INIT("\"\\ud83d\\u\""),
     "line 1, column 10: \\u needs four hexadecimal digits"},
    /* UTF-8 */
    {"i_utf8_ff", STR_INIT("\"\xff\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_lone_continuation", STR_INIT("\"\x80\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_overlong_slash", STR_INIT("\"\xc0\xaf\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_overlong_nul", STR_INIT("\"\xc0\x80\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_overlong_3", STR_INIT("\"\xe0\x80\xaf\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_overlong_4", STR_INIT("\"\xf0\x80\x80\xaf\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_surrogate", STR_INIT("\"\xed\xa0\x80\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_above_10ffff", STR_INIT("\"\xf4\x90\x80\x80\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_five_bytes", STR_INIT("\"\xf8\x88\x80\x80\x80\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_cut_2", STR_INIT("\"\xc3\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_cut_3", STR_INIT("\"\xe2\x82\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_cut_4", STR_INIT("\"\xf0\x9f\x98\""), "line 1, column 2: not UTF-8"},
    {"i_utf8_latin1", STR_INIT("\"caf\xe9\""), "line 1, column 5: not UTF-8"},
    {"i_utf8_bad_in_key", STR_INIT("{\"\xff\":1}"), "line 1, column 3: not UTF-8"},
    {"i_utf8_bad_after_escape", STR_INIT("\"\\n\xff\""), "line 1, column 4: not UTF-8"},
    {"i_utf8_bad_behind_16", STR_INIT("\"1234567890123456\xff\""), "line 1, column 18: not UTF-8"},
    {"i_utf8_columns_are_characters", STR_INIT("[\"\xc3\xa9\xe2\x82\xac\", x]"),
     "line 1, column 8: expected a value"},
};

TEST_WITH(refuses, setup, teardown)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++) {
        const struct refused *c = &REFUSED[i];
        struct json *v = NULL;
        struct err e = {0};
        if (parse(f, c->text, 0, &v, &e) != -EINVAL)
            fail_msg("%s: accepted", c->name);
        if (strcmp(e.msg, c->message) != 0)
            fail_msg("%s: says '%s'", c->name, e.msg);
        assert_null(v);
        assert_int_equal(json_parse(&f->arena, c->text, 0, &v, NULL), -EINVAL);
    }
}

/* Every prefix of a document is refused or is a document itself (a shorter number), and
 * none is read past its end. */
TEST_WITH(every_prefix, setup, teardown)
{
    struct fixture *f = *state;
    str doc = STR("{\"key\":[1,-2.5e+3,true,null,\"\\u00e9\\ud83d\\ude00\\n\xe2\x82\xac text that "
                  "is longer than sixteen bytes\"],\"other key\":{\"a\":\"\\\\\"}}");
    for (size_t n = 0; n < doc.n; n++) {
        struct json *v;
        assert_int_equal(parse(f, str_slice(doc, 0, n), 0, &v, NULL), -EINVAL);
    }
    struct json *v;
    assert_int_equal(parse(f, doc, 0, &v, NULL), 0);
}

TEST_WITH(integers_are_ints_only_when_lossless, setup, teardown)
{
    static const struct {
        str text;
        enum json_type type;
        int64_t value;
    } CASES[] = {
        {STR_INIT("0"), JSON_INT, 0},
        {STR_INIT("-1"), JSON_INT, -1},
        {STR_INIT("1234567890"), JSON_INT, 1234567890},
        {STR_INIT("9223372036854775807"), JSON_INT, INT64_MAX},
        {STR_INIT("-9223372036854775808"), JSON_INT, INT64_MIN},
        {STR_INIT("9223372036854775808"), JSON_NUMBER, 0},
        {STR_INIT("-9223372036854775809"), JSON_NUMBER, 0},
        {STR_INIT("99999999999999999999"), JSON_NUMBER, 0},
        {STR_INIT("-0"), JSON_NUMBER, 0},
        {STR_INIT("1.0"), JSON_NUMBER, 0},
        {STR_INIT("1e2"), JSON_NUMBER, 0},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct json *v;
        assert_int_equal(parse(f, CASES[i].text, 0, &v, NULL), 0);
        assert_int_equal(v->type, CASES[i].type);
        if (v->type == JSON_INT)
            assert_true(v->i == CASES[i].value);
        else
            assert_true(str_eq(v->s, CASES[i].text));
    }
}

static void nest(struct buf *b, char open, char close, size_t depth)
{
    buf_clear(b);
    for (size_t i = 0; i < depth; i++)
        (void)buf_add_lit(b, open == '{' && i + 1 < depth ? "{\"k\":" : open == '{' ? "{" : "[");
    for (size_t i = 0; i < depth; i++)
        (void)buf_add_char(b, close);
}

TEST_WITH(depth_has_a_ceiling, setup, teardown)
{
    struct fixture *f = *state;
    struct buf text;
    struct json *v;
    struct err e;
    buf_init(&text, OUT_MAX);
    for (int object = 0; object < 2; object++) {
        nest(&text, object ? '{' : '[', object ? '}' : ']', JSON_DEPTH_MAX);
        assert_int_equal(parse(f, buf_str(&text), 0, &v, NULL), 0);
        assert_true(str_eq(written(f, v), buf_str(&text)));
        nest(&text, object ? '{' : '[', object ? '}' : ']', JSON_DEPTH_MAX + 1);
        assert_int_equal(parse(f, buf_str(&text), 0, &v, &e), -EINVAL);
        assert_non_null(strstr(e.msg, "nested too deeply"));
    }
    /* Depth is nesting, not the number of containers. */
    buf_clear(&text);
    (void)buf_add_char(&text, '[');
    for (int i = 0; i < 1000; i++)
        (void)buf_add_lit(&text, "[{}],");
    (void)buf_add_lit(&text, "[]]");
    assert_int_equal(parse(f, buf_str(&text), 0, &v, NULL), 0);
    assert_int_equal(v->len, 1001);
    buf_clear(&text);
    for (int i = 0; i < 100000; i++)
        (void)buf_add_char(&text, '[');
    assert_int_equal(parse(f, buf_str(&text), 0, &v, NULL), -EINVAL);
    buf_done(&text);
}

TEST_WITH(size_has_a_ceiling, setup, teardown)
{
    struct fixture *f = *state;
    struct json *v;
    struct err e;
    str huge = {"[]", (size_t)UINT32_MAX + 1};
    assert_int_equal(json_parse(&f->arena, huge, 0, &v, &e), -EINVAL);
    assert_string_equal(e.msg, "line 1, column 1: larger than 4 GiB");
}

TEST_WITH(wide_containers, setup, teardown)
{
    enum { N = 20000 };
    struct fixture *f = *state;
    struct buf text;
    struct json *v;
    buf_init(&text, OUT_MAX);
    (void)buf_add_char(&text, '[');
    for (int i = 0; i < N; i++)
        (void)buf_printf(&text, "%s{\"i\":%d,\"square\":[%d]}", i ? "," : "", i, i * 2);
    (void)buf_add_char(&text, ']');
    assert_int_equal(parse(f, buf_str(&text), JSON_UNIQUE, &v, NULL), 0);
    assert_int_equal(v->len, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(json_get_int(json_at(v, (size_t)i), "i", -1), i);
        assert_int_equal(json_at(json_get(json_at(v, (size_t)i), "square"), 0)->i, i * 2);
    }
    assert_true(str_eq(written(f, v), buf_str(&text)));
    buf_done(&text);
}

TEST_WITH(strings_point_into_the_input, setup, teardown)
{
    struct fixture *f = *state;
    str text = STR("{\"plain\":\"value\",\"n\":1.5,\"e\":\"a\\nb\"}");
    struct json *v;
    assert_int_equal(json_parse(&f->arena, text, 0, &v, NULL), 0);
    assert_ptr_equal(json_get_string(v, "plain").p, text.p + 10);
    assert_ptr_equal(v->members[0].key.p, text.p + 2);
    assert_ptr_equal(json_get(v, "n")->s.p, strstr(text.p, "1.5"));
    assert_true(str_eq(json_get_string(v, "e"), STR("a\nb")));
}

TEST_WITH(copies_outlive_the_input, setup, teardown)
{
    struct fixture *f = *state;
    char text[] = "{\"plain\":\"value\",\"n\":1.5}";
    struct json *v;
    assert_int_equal(json_parse(&f->arena, str_from(text), JSON_COPY, &v, NULL), 0);
    memset(text, 'x', sizeof(text) - 1);
    assert_true(str_eq(written(f, v), STR("{\"plain\":\"value\",\"n\":1.5}")));
}

TEST_WITH(unique_keys, setup, teardown)
{
    static const struct {
        str text;
        const char *message; /* NULL = accepted */
    } CASES[] = {
        {STR_INIT("{\"a\":1,\"b\":2,\"aa\":3}"), NULL},
        {STR_INIT("[{\"a\":1},{\"a\":1}]"), NULL},
        {STR_INIT("{\"a\":{\"a\":{\"a\":1}}}"), NULL},
        {STR_INIT("{\"a\":1,\n \"a\":2}"), "line 2, column 2: duplicate key \"a\""},
        {STR_INIT("{\"\":1,\"\":2}"), "line 1, column 7: duplicate key"},
        {STR_INIT("{\"a\":1,\"\\u0061\":2}"), "line 1, column 18: duplicate key \"a\""},
        {STR_INIT("[{\"x\":{\"b\":1,\"c\":2,\"b\":3}}]"), "line 1, column 20: duplicate key \"b\""},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct json *v;
        struct err e = {0};
        int r = parse(f, CASES[i].text, JSON_UNIQUE, &v, &e);
        assert_int_equal(r, CASES[i].message ? -EINVAL : 0);
        if (CASES[i].message)
            assert_string_equal(e.msg, CASES[i].message);
    }
}

static void make_keys(struct buf *b, int n, int last)
{
    buf_clear(b);
    (void)buf_add_char(b, '{');
    for (int i = 0; i < n; i++)
        (void)buf_printf(b, "\"key%d\":0,", i);
    (void)buf_printf(b, "\"key%d\":1}", last);
}

/* Pairwise comparison of this many keys would take minutes. */
TEST_WITH(unique_keys_of_large_objects, setup, teardown)
{
    enum { N = 200000 };
    struct fixture *f = *state;
    struct buf text;
    struct json *v;
    struct err e;
    buf_init(&text, OUT_MAX);
    make_keys(&text, N, N);
    assert_int_equal(parse(f, buf_str(&text), JSON_UNIQUE, &v, NULL), 0);
    make_keys(&text, N, 777);
    assert_int_equal(parse(f, buf_str(&text), JSON_UNIQUE, &v, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "duplicate key \"key777\""));
    for (int n = 14; n < 20; n++) {
        make_keys(&text, n, n);
        assert_int_equal(parse(f, buf_str(&text), JSON_UNIQUE, &v, NULL), 0);
        make_keys(&text, n, 3);
        assert_int_equal(parse(f, buf_str(&text), JSON_UNIQUE, &v, NULL), -EINVAL);
    }
    buf_done(&text);
}

TEST_WITH(a_long_key_is_cut_in_messages, setup, teardown)
{
    struct fixture *f = *state;
    char text[600];
    memset(text, 'k', sizeof(text));
    memcpy(text, "{\"", 2);
    memcpy(text + 290, "\":1,\"", 5);
    memcpy(text + 295, text + 2, 288);
    memcpy(text + 583, "\":2}", 4);
    struct json *v;
    struct err e;
    assert_int_equal(parse(f, str_make(text, 587), JSON_UNIQUE, &v, &e), -EINVAL);
    assert_true(strlen(e.msg) < 120);
}

/* A usual message costs the arena's first chunks and nothing else. */
TEST_WITH(memory_budget, setup, teardown)
{
    struct fixture *f = *state;
    struct arena a;
    arena_init(&a);
    struct json *v;
    str text = STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"echo\",\"arguments\":{\"text\":\"hello\"}}}");
    (void)f;
    assert_int_equal(json_parse(&a, text, 0, &v, NULL), 0);
    assert_true(a.total <= 1024);
    arena_done(&a);
}
