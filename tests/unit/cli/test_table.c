#include "cli/term/table.h"
#include "cli/term/text.h"
#include "support/unit.h"

static const struct table_column COLUMNS[] = {
    {"ID", false, 0}, {"N", true, 0}, {"TITLE", false, 0}};

static void fill(struct table *t)
{
    table_init(t, COLUMNS, ARRAY_LEN(COLUMNS));
    table_row(t);
    table_cell(t, 0, STR("a"));
    table_cell(t, 1, STR("1000"));
    table_cell(t, 2, STR("two\nlines \x1b[31mred"));
    table_row(t);
    table_cell(t, 0, STR("漢字"));
    table_cell(t, 2, STR("a title that is rather long"));
}

static void check(size_t width, bool with_titles, const char *expected)
{
    struct table t;
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    fill(&t);
    table_print(&t, out, width, false, with_titles);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
    table_done(&t);
}

TEST(columns)
{
    check(0, true,
          "ID       N  TITLE\n"
          "a     1000  two lines ␛[31mred\n"
          "漢字        a title that is rather long\n");
}

TEST(cut_at_the_edge)
{
    check(28, false,
          "a     1000  two lines ␛[31m…\n"
          "漢字        a title that is…\n");
}

/* All of it fits, whatever column is the long one; ids and numbers stay whole. */
TEST(the_widest_columns_are_cut)
{
    static const struct table_column WIDE[] = {{"ID", false, 0, true},
                                               {"NAME", false, 0},
                                               {"N", true, 0},
                                               {"FROM", false, 0},
                                               {"STATE", false, 0}};
    for (size_t width = 52; width < 100; width++) {
        struct table t;
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        table_init(&t, WIDE, ARRAY_LEN(WIDE));
        table_row(&t);
        table_cell(&t, 0, STR("conv_0123456789abcdef"));
        table_cell(&t, 1, STR("a name that somebody gave to it"));
        table_cell(&t, 2, STR("1000"));
        table_cell(&t, 3, STR("/a/directory/that/is/deep/in/others/and/has/a/long/path"));
        table_cell(&t, 4, STR("running"));
        table_print(&t, out, width, false, false);
        fclose(out);
        assert_true(text_width(str_trim(str_from(text))) <= width);
        assert_non_null(strstr(text, "conv_0123456789abcdef"));
        assert_non_null(strstr(text, "1000"));
        assert_non_null(strstr(text, "running"));
        assert_non_null(strstr(text, "…"));
        free(text);
        table_done(&t);
    }
}

/* However narrow the terminal is, something of each column is seen. */
TEST(narrow)
{
    check(5, false,
          "a     1000  two l…\n"
          "漢字        a tit…\n");
}

TEST(many_rows)
{
    struct table t;
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (int i = 0; i < 1000; i++) {
        table_row(&t);
        char text[16];
        (void)snprintf(text, sizeof text, "%d", i);
        table_cell(&t, 1, str_from(text));
    }
    assert_int_equal(t.nrows, 1000);
    assert_true(str_eq(t.cells[999 * 3 + 1], STR("999")));
    assert_int_equal(t.cells[999 * 3].n, 0);
    table_done(&t);
}
