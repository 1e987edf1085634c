/* Help pages: rows, paragraphs and usage lines of at most HELP_WIDTH columns. */
#include <stdlib.h>

#include "cli/term/help_text.h"
#include "support/unit.h"

static char *text;
static size_t length;
static FILE *out;

static int open_page(void **state)
{
    out = open_memstream(&text, &length);
    return out ? 0 : -1;
}

static int close_page(void **state)
{
    if (out)
        fclose(out);
    free(text);
    text = NULL;
    return 0;
}

/* The finished page; no line is wider than a page. */
static const char *page(void)
{
    fclose(out);
    out = NULL;
    str rest = str_make(text, length), line;
    while (str_split(&rest, '\n', &line))
        assert_true(line.n <= HELP_WIDTH);
    return text;
}

TEST_WITH(a_row_continues_below_its_text, open_page, close_page)
{
    help_print_row(out, "--name NAME",
                   "use this name for the bundle and as prefix of its tools, wherever they appear");
    assert_string_equal(page(), "  --name NAME                use this name for the bundle and as "
                                "prefix of its\n"
                                "                             tools, wherever they appear\n");
}

TEST_WITH(a_name_that_is_too_long_has_its_own_line, open_page, close_page)
{
    help_print_row(out, "a-name-that-is-longer-than-the-column", "text");
    assert_string_equal(page(), "  a-name-that-is-longer-than-the-column\n"
                                "                             text\n");
}

TEST_WITH(lines_are_joined_and_examples_are_not, open_page, close_page)
{
    help_print_text(out, "One\nsentence.\n  nb example   --x\n\nNext.\n");
    assert_string_equal(page(), "One sentence.\n  nb example   --x\n\nNext.\n");
}

TEST_WITH(a_long_paragraph_is_wrapped_at_spaces, open_page, close_page)
{
    help_print_text(out, "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg "
                         "hhhhhhhhh iiiiiiiii\n");
    assert_string_equal(page(), "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff "
                                "ggggggggg hhhhhhhhh\niiiiiiiii\n");
}

TEST_WITH(usage_continues_below_the_words, open_page, close_page)
{
    help_print_usage(out, "bundle add [--one VALUE] [--two VALUE] [--three VALUE] [--four VALUE] "
                          "[NAME]");
    assert_string_equal(page(), "Usage: nb bundle add [--one VALUE] [--two VALUE] [--three VALUE] "
                                "[--four VALUE]\n          [NAME]\n");
}
