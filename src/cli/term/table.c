#include "cli/term/table.h"

#include <assert.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/term/styled.h"
#include "cli/term/text.h"

enum { GAP = 2, SHORT = 6, CELL_MAX = 64 * 1024 };

void table_init(struct table *t, const struct table_column *columns, size_t n)
{
    assert(n > 0 && n <= TABLE_COLUMNS_MAX);
    *t = (struct table){.columns = columns, .ncolumns = n};
    arena_init(&t->arena);
}

void table_done(struct table *t)
{
    arena_done(&t->arena);
    free(t->cells);
}

void table_row(struct table *t)
{
    /* A response may have more rows than that; then the latest row replaces the last. */
    if (t->nrows == TABLE_ROWS_MAX) {
        t->nrows--;
    } else if (t->nrows == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 32;
        t->cells = xrealloc(t->cells, t->cap * t->ncolumns * sizeof(str));
    }
    for (size_t i = 0; i < t->ncolumns; i++)
        t->cells[t->nrows * t->ncolumns + i] = STR_NONE;
    t->nrows++;
}

void table_cell(struct table *t, size_t column, str text)
{
    struct buf b;
    assert(t->nrows > 0 && column < t->ncolumns);
    buf_init(&b, CELL_MAX);
    text_add_line(&b, text);
    t->cells[(t->nrows - 1) * t->ncolumns + column] = buf_keep(&b, &t->arena);
}

/* The column that loses least when it is cut, or ncolumns: numbers and ids are useless in part, and
 * nothing would be left of a short column. */
static size_t widest(const struct table *t, const size_t *widths)
{
    size_t found = t->ncolumns;
    for (size_t c = 0; c < t->ncolumns; c++) {
        bool is_cut = !t->columns[c].is_right && !t->columns[c].is_whole && widths[c] > SHORT;
        if (is_cut && (found == t->ncolumns || widths[c] > widths[found]))
            found = c;
    }
    return found;
}

static void fit(const struct table *t, size_t total, size_t widths[TABLE_COLUMNS_MAX])
{
    size_t used = (t->ncolumns - 1) * GAP, c;
    for (c = 0; c < t->ncolumns; c++)
        used += widths[c];
    for (; used > total && (c = widest(t, widths)) < t->ncolumns; used--)
        widths[c]--;
}

static void measure(const struct table *t, size_t total, size_t widths[TABLE_COLUMNS_MAX])
{
    for (size_t c = 0; c < t->ncolumns; c++) {
        widths[c] = text_width(str_from(t->columns[c].title));
        for (size_t r = 0; r < t->nrows; r++) {
            size_t w = text_width(t->cells[r * t->ncolumns + c]);
            widths[c] = w > widths[c] ? w : widths[c];
        }
    }
    if (total > 0)
        fit(t, total, widths);
}

static void add_cell(struct buf *b, const struct table_column *c, str text, size_t width,
                     bool is_last, bool has_color, unsigned style)
{
    struct buf clipped;
    buf_init(&clipped, CELL_MAX);
    text_clip(&clipped, text, width);
    size_t pad = width - text_width(buf_str(&clipped));
    if (c->is_right)
        buf_printf(b, "%*s", (int)pad, "");
    style_add(b, has_color, style, buf_str(&clipped));
    if (!is_last)
        buf_printf(b, "%*s", (int)(c->is_right ? GAP : pad + GAP), "");
    buf_done(&clipped);
}

static void print_row(const struct table *t, FILE *out, const str *cells, const size_t *widths,
                      bool has_color, bool is_head)
{
    struct buf b;
    buf_init(&b, TABLE_COLUMNS_MAX * CELL_MAX * 2);
    for (size_t c = 0; c < t->ncolumns; c++) {
        const struct table_column *col = &t->columns[c];
        add_cell(&b, col, is_head ? str_from(col->title) : cells[c], widths[c],
                 c + 1 == t->ncolumns, has_color, is_head ? STYLE_DIM : col->style);
    }
    fprintf(out, "%.*s\n", STR_ARG(buf_str(&b)));
    buf_done(&b);
}

void table_print(const struct table *t, FILE *out, size_t width, bool has_color, bool with_titles)
{
    size_t widths[TABLE_COLUMNS_MAX];
    measure(t, width, widths);
    if (with_titles)
        print_row(t, out, NULL, widths, has_color, true);
    for (size_t r = 0; r < t->nrows; r++)
        print_row(t, out, &t->cells[r * t->ncolumns], widths, has_color, false);
}

size_t table_terminal_width(int fd)
{
    struct winsize w = {0};
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &w) < 0)
        return 0;
    return w.ws_col > 0 ? w.ws_col : 80;
}
