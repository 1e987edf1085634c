/* Text of manual pages. */
#include "cli/manual/roff.h"
#include "support/unit.h"

static struct buf page;

static int open_page(void **state)
{
    buf_init(&page, 4096);
    return 0;
}

static int close_page(void **state)
{
    buf_done(&page);
    return 0;
}

static void expect_text(const char *text, const char *expected)
{
    buf_clear(&page);
    roff_text(&page, str_from(text));
    assert_string_equal(buf_cstr(&page), expected);
}

TEST_WITH(characters_with_a_meaning_are_escaped, open_page, close_page)
{
    expect_text("a -b 'c' \"d\" ~/e \\f", "a \\-b \\(aqc\\(aq \\(dqd\\(dq \\(ti/e \\ef\n");
    expect_text(".so /etc/passwd", "\\&.so /etc/passwd\n");
    expect_text("'so x", "\\(aqso x\n");
}

TEST_WITH(a_request_cannot_begin_on_a_wrapped_line, open_page, close_page)
{
    struct buf long_line;
    buf_init(&long_line, 1024);
    for (int i = 0; i < 40; i++)
        buf_add_lit(&long_line, ".TH 'x ");
    buf_clear(&page);
    roff_text(&page, buf_str(&long_line));
    str rest = buf_str(&page), line;
    while (str_split(&rest, '\n', &line))
        assert_true(line.p[0] != '.' && line.p[0] != '\'');
    buf_done(&long_line);
}

TEST_WITH(paragraphs_and_examples_are_told_apart, open_page, close_page)
{
    expect_text("one\ntwo\n\nthree\n", "one two\n.PP\nthree\n");
    expect_text("see\n\n  nb .x\n\nend", "see\n.PP\n.EX\n\\&  nb .x\n.EE\n.PP\nend\n");
}

TEST_WITH(code_is_bold_and_links_are_their_text, open_page, close_page)
{
    expect_text("`nb serve`, see [the page](x.md#y) and [this]",
                "\\fBnb serve\\fR, see the page and [this]\n");
    struct arena a;
    arena_init(&a);
    assert_true(
        str_eq(roff_plain(&a, STR("`a` [b](c), [\"d\"] [e [f](g)")), STR("a b, [\"d\"] [e f")));
    arena_done(&a);
}
