#include "cli/term/styled.h"
#include "support/unit.h"

/* The lines of a text, joined by '|'. */
static const char *wrapped(str text, size_t width)
{
    static struct buf out;
    struct styled t;
    struct styled_line line;
    buf_done(&out);
    buf_init(&out, 4096);
    styled_init(&t, 4096);
    styled_add(&t, text, 0);
    for (size_t at = 0; styled_wrap(&t, &at, t.text.n, width, &line);) {
        assert_true(line.width <= width || line.to - line.from <= 4);
        assert_int_equal(line.width, styled_width(&t, line.from, line.to));
        styled_emit(&out, true, &t, line.from, line.to);
        buf_add_char(&out, '|');
    }
    styled_done(&t);
    return buf_cstr(&out);
}

TEST(breaks_at_spaces)
{
    assert_string_equal(wrapped(STR("one two three"), 7), "one two|three|");
    assert_string_equal(wrapped(STR("one two three"), 8), "one two|three|");
    assert_string_equal(wrapped(STR("one  two"), 4), "one|two|");
    assert_string_equal(wrapped(STR("one two "), 7), "one two|");
    assert_string_equal(wrapped(STR(""), 7), "");
}

TEST(breaks_long_words)
{
    assert_string_equal(wrapped(STR("abcdefghij"), 4), "abcd|efgh|ij|");
    assert_string_equal(wrapped(STR("ab cdefghij"), 4), "ab|cdef|ghij|");
}

TEST(breaks_between_wide_characters)
{
    assert_string_equal(wrapped(STR("日本語です"), 5), "日本|語で|す|");
    assert_string_equal(wrapped(STR("日本。"), 4), "日|本。|");
    assert_string_equal(wrapped(STR("日"), 1), "日|");
}

TEST(line_feeds_are_kept)
{
    assert_string_equal(wrapped(STR("a\n\nb"), 9), "a||b|");
}

TEST(styles_begin_and_end_plain)
{
    struct styled t;
    struct buf out;
    styled_init(&t, 100);
    buf_init(&out, 1000);
    styled_add(&t, STR("a"), 0);
    styled_add(&t, STR("bc"), STYLE_BOLD | STYLE_CYAN);
    styled_emit(&out, true, &t, 0, 3);
    assert_string_equal(buf_cstr(&out), "a\x1b[0;1;36mbc\x1b[0m");
    buf_clear(&out);
    styled_emit(&out, true, &t, 0, 2);
    assert_string_equal(buf_cstr(&out), "a\x1b[0;1;36mb\x1b[0m");
    buf_clear(&out);
    styled_emit(&out, false, &t, 0, 3);
    assert_string_equal(buf_cstr(&out), "abc");
    buf_done(&out);
    styled_done(&t);
}

TEST(ceiling)
{
    struct styled t;
    styled_init(&t, 8);
    styled_add(&t, STR("12345678"), 0);
    styled_add(&t, STR("9"), 0);
    assert_int_equal(t.text.n, 8);
    assert_int_equal(t.style.n, 8);
    styled_done(&t);
}
