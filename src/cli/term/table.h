/* table.h - rows in columns, as wide as necessary and never wider than the terminal.
 *
 * Cells are foreign text and made safe when they are added (text.h). Everything is kept until
 * table_print, which measures it. When lines would be too long, the widest columns are cut with
 * "…"; with width 0 (no terminal) nothing is cut. One owner. */
#pragma once

#include "base/arena.h"

#define TABLE_COLUMNS_MAX 8
#define TABLE_ROWS_MAX    100000

struct table_column {
    const char *title;
    bool is_right;  /* numbers: never cut */
    unsigned style; /* styled.h */
    bool is_whole;  /* never cut: an id that people copy */
};

struct table {
    const struct table_column *columns;
    size_t ncolumns, nrows, cap;
    struct arena arena;
    str *cells; /* row by row */
};

void table_init(struct table *t, const struct table_column *columns, size_t n);
void table_done(struct table *t);

/* Starts a row and fills it from the left; missing cells stay empty. */
void table_row(struct table *t);
void table_cell(struct table *t, size_t column, str text);

/* with_titles: false for the next part of a long table. */
void table_print(const struct table *t, FILE *out, size_t width, bool has_color, bool with_titles);

/* Columns of the terminal at fd, 0 when it is not a terminal. */
size_t table_terminal_width(int fd);
