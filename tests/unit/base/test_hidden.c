#include "base/bytes/random.h"
#include "base/text/hidden.h"
#include "base/utf8.h"
#include "support/unit.h"

static struct arena arena;

TEST(what_is_hidden)
{
    static const char *const HIDDEN[] = {"a\x01",
                                         "a\x1b[2J",
                                         "a\x7f",
                                         "a\xc2\x9b",
                                         "a\xe2\x80\xae"
                                         "b",
                                         "a\xe2\x80\x8b",
                                         "\xef\xbb\xbf"
                                         "a",
                                         "a\xf3\xa0\x81\xa1",
                                         "a\xef\xb8\x8f",
                                         "a\r",
                                         "a\xe2\x80\xa8",
                                         "a\xff",
                                         "a\xe2\x80\x8d",
                                         "a\xf3\xa0\x84\x80",
                                         "\xf0\x9f\x98\x80\xef\xb8\x8f\xef\xb8\x8f"};
    for (size_t i = 0; i < ARRAY_LEN(HIDDEN); i++)
        if (!hidden_in(str_from(HIDDEN[i])))
            fail_msg("text %zu has hidden characters", i);
}

TEST(what_is_not)
{
    static const char *const SEEN[] = {"", "plain\n\ttext", "\xc3\xa4\xe4\xb8\xad",
                                       "\xe2\x9d\xa4\xef\xb8\x8f",
                                       "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"};
    for (size_t i = 0; i < ARRAY_LEN(SEEN); i++) {
        if (hidden_in(str_from(SEEN[i])))
            fail_msg("text %zu has none", i);
        assert_ptr_equal(hidden_strip(&arena, str_from(SEEN[i])).p, SEEN[i]);
    }
}

TEST(strip_and_show)
{
    str text = STR("go\xe2\x80\xaeod\x1b[2J\xf3\xa0\x81\xa1");
    assert_true(str_eq(hidden_strip(&arena, text), STR("good[2J")));
    assert_true(str_eq(hidden_show(&arena, text), STR("go\\u{202E}od\\u{1B}[2J\\u{E0061}")));
}

TEST(json_strings_and_keys)
{
    struct json *v;
    str text = STR("{\"a\":[\"x\\u200by\",{\"k\\u200b\":1}]}");
    assert_int_equal(json_parse(&arena, text, JSON_COPY, &v, NULL), 0);
    assert_true(hidden_in_json(v, false));
    assert_true(hidden_in_json(v, true));
    const struct json *clean = hidden_strip_json(&arena, v);
    assert_false(hidden_in_json(clean, false));
    assert_true(str_eq(json_at(json_get(clean, "a"), 0)->s, STR("xy")));
    assert_ptr_equal(hidden_strip_json(&arena, clean), clean);
}

TEST(random_bytes_come_out_clean)
{
    for (int round = 0; round < 2000; round++) {
        char bytes[40];
        random_bytes(bytes, sizeof bytes);
        str clean = hidden_strip(&arena, str_make(bytes, sizeof bytes));
        assert_true(utf8_valid(clean));
        assert_false(hidden_in(hidden_show(&arena, str_make(bytes, sizeof bytes))));
        arena_reset(&arena);
    }
}

int main(void)
{
    arena_init(&arena);
    int failed = run_unit_tests("tests", NULL);
    arena_done(&arena);
    return failed;
}
