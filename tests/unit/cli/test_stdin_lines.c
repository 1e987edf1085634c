/* Bytes become lines, whatever the pieces; a line that is too long is reported once and skipped. */
#include "cli/term/stdin_lines.h"
#include "support/unit.h"

static struct buf seen;

static void on_line(void *ctx, str line)
{
    buf_printf(&seen, "<%.*s>", STR_ARG(line));
}

static void on_too_long(void *ctx)
{
    buf_add_lit(&seen, "!");
}

static void assert_lines(const char *text, size_t max, const char *expected)
{
    static const struct line_events EVENTS = {on_line, on_too_long, NULL};
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        struct line_splitter s;
        buf_init(&seen, 4096);
        line_splitter_init(&s, max);
        for (str rest = str_from(text); rest.n > 0; rest = str_skip(rest, piece))
            line_splitter_feed(&s, str_slice(rest, 0, piece), &EVENTS, NULL);
        assert_string_equal(buf_cstr(&seen), expected);
        line_splitter_done(&s);
        buf_done(&seen);
    }
}

TEST(lines_are_trimmed_and_never_empty)
{
    assert_lines("a\n b \r\n\n  \nc", 10, "<a><b>");
    assert_lines("one\ntwo\n", 10, "<one><two>");
}

TEST(a_long_line_is_skipped_and_the_next_is_read)
{
    assert_lines("12345\n123456\n1\n", 5, "<12345>!<1>");
    assert_lines("1234567890123456789012345\nok\n", 5, "!<ok>");
    assert_lines("1234567890", 5, "!");
}
