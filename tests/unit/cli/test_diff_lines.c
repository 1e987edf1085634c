#include "cli/view/diff_lines.h"
#include "support/unit.h"

static const char *diff(const char *before, const char *after)
{
    static struct buf out;
    buf_done(&out);
    buf_init(&out, 1024 * 1024);
    diff_lines(&out, str_from(before), before != NULL, str_from(after));
    return buf_cstr(&out);
}

TEST(only_what_differs_is_marked)
{
    assert_string_equal(diff("a\nb\nc\n", "a\nB\nc\n"), " a\n-b\n+B\n c\n");
    assert_string_equal(diff("a", "a\nb"), " a\n+b\n");
    assert_string_equal(diff("a\nb", "b"), "-a\n b\n");
    assert_string_equal(diff("x\ny\nz", "y\nx\nz"), "-x\n y\n+x\n z\n");
    assert_string_equal(diff(NULL, "new\nfile\n"), "+new\n+file\n");
    assert_string_equal(diff("gone\n", ""), "-gone\n");
    assert_string_equal(diff("", ""), "");
    assert_string_equal(diff("a\nc", "a\nb\nc"), " a\n+b\n c\n");
    assert_string_equal(diff("a\nb\nc", "a\nc"), " a\n-b\n c\n");
    assert_string_equal(diff("a\n\nb", "a\n\nc"), " a\n \n-b\n+c\n");
}

TEST(unchanged_lines_far_from_a_change_are_left_out)
{
    assert_string_equal(diff("1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\n5\n6\n7\n8\nX"),
                        "@\n 6\n 7\n 8\n-9\n+X\n");
    assert_string_equal(diff("A\n2\n3\n4\n5\n6\n7\n8\n9", "X\n2\n3\n4\n5\n6\n7\n8\n9"),
                        "-A\n+X\n 2\n 3\n 4\n@\n");
    assert_string_equal(diff("A\n1\n2\n3\n4\n5\n6\n7\n8\nB", "a\n1\n2\n3\n4\n5\n6\n7\n8\nb"),
                        "-A\n+a\n 1\n 2\n 3\n@\n 6\n 7\n 8\n-B\n+b\n");
}

/* The lines of one side of the difference, with their marks taken away. */
static void side_of(const char *text, char other, struct buf *out)
{
    str rest = str_from(text), line;
    while (str_split(&rest, '\n', &line))
        if (line.n > 0 && line.p[0] != other)
            buf_printf(out, "%.*s\n", STR_ARG(str_skip(line, 1)));
}

TEST(both_sides_can_be_read_from_the_difference)
{
    unsigned seed = 7;
    for (int round = 0; round < 300; round++) {
        struct buf a, b, got;
        buf_init(&a, 4096);
        buf_init(&b, 4096);
        /* Few lines, so that none is left out. */
        for (int i = 0; i < 4; i++) {
            seed = seed * 1103515245u + 12345u;
            buf_printf(&a, "%c\n", 'a' + (seed >> 16) % 3);
            seed = seed * 1103515245u + 12345u;
            buf_printf(&b, "%c\n", 'a' + (seed >> 16) % 3);
        }
        const char *text = diff(buf_cstr(&a), buf_cstr(&b));
        if (!strchr(text, '@')) {
            buf_init(&got, 4096);
            side_of(text, '+', &got);
            assert_string_equal(buf_cstr(&got), buf_cstr(&a));
            buf_clear(&got);
            side_of(text, '-', &got);
            assert_string_equal(buf_cstr(&got), buf_cstr(&b));
            buf_done(&got);
        } else {
            assert_string_equal(buf_cstr(&a), buf_cstr(&b));
        }
        buf_done(&a);
        buf_done(&b);
    }
}

TEST(a_large_text_costs_no_more_than_the_limits)
{
    struct buf a, b, out;
    size_t added, removed;
    buf_init(&a, 1 << 20);
    buf_init(&b, 1 << 20);
    buf_init(&out, 4 << 20);
    for (int i = 0; i < DIFF_LINES_MAX + 10; i++) {
        buf_printf(&a, "a%d\n", i);
        buf_printf(&b, "b%d\n", i);
    }
    diff_lines(&out, buf_str(&a), true, buf_str(&b));
    diff_count(buf_str(&out), &added, &removed);
    assert_int_equal(added, DIFF_LINES_MAX);
    assert_int_equal(removed, DIFF_LINES_MAX);
    assert_true(str_ends(buf_str(&out), STR("\n@\n")));
    buf_done(&a);
    buf_done(&b);
    buf_done(&out);
}

TEST(it_is_drawn_safe_cut_or_broken_and_in_colours)
{
    struct buf out;
    buf_init(&out, 65536);
    str text = STR("-old \x1b[31m\n+new \tindented text that is long\n@\n same\n");
    assert_int_equal(diff_draw(&out, text, 14, 10, false, false), 0);
    assert_string_equal(buf_cstr(&out), "  -old ␛[31m\n  +new     in…\n  ⋯\n   same\n");
    buf_clear(&out);
    assert_int_equal(diff_draw(&out, text, 80, 1, false, true), 3);
    assert_string_equal(buf_cstr(&out), "  \x1b[0;31m-old ␛[31m\x1b[0m\n");
    buf_clear(&out);
    assert_int_equal(diff_draw(&out, STR("+one two three\n"), 12, 9, true, false), 0);
    assert_string_equal(buf_cstr(&out), "  +one two\n  three\n");
    buf_done(&out);
}
