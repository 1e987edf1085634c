/* Tables: cells are collected first, because every width depends on all of them. */
#include "cli/screen/markdown_impl.h"

#define CELLS_MAX   10000 /* md4c fills up short rows, so a few bytes can request many cells */
#define COLUMNS_MAX 64
#define COLUMN_MIN  4
#define SEPARATOR   3 /* columns of " │ " */

struct cell {
    size_t from, to; /* in md.line */
};

struct md_table {
    size_t columns, ncells;
    size_t widths[COLUMNS_MAX];
    MD_ALIGN aligns[COLUMNS_MAX];
    size_t next_column;
    struct cell cells[CELLS_MAX]; /* row by row, the head first */
};

static int md_table_begin(struct md *m, const MD_BLOCK_TABLE_DETAIL *d)
{
    size_t rows = (size_t)d->head_row_count + d->body_row_count;
    if (d->col_count == 0 || d->col_count > COLUMNS_MAX || rows > CELLS_MAX / d->col_count)
        return -1;
    m->table = xcalloc(1, sizeof *m->table);
    m->table->columns = d->col_count;
    return 0;
}

int md_table_enter(struct md *m, MD_BLOCKTYPE type, const void *detail)
{
    struct md_table *t = m->table;
    if (type == MD_BLOCK_TABLE)
        return md_table_begin(m, detail);
    if (type == MD_BLOCK_TR)
        t->next_column = 0;
    if (type != MD_BLOCK_TH && type != MD_BLOCK_TD)
        return 0;
    if (t->ncells == CELLS_MAX || t->next_column == t->columns)
        return -1;
    m->base_style = type == MD_BLOCK_TH ? STYLE_BOLD : 0;
    t->aligns[t->next_column] = ((const MD_BLOCK_TD_DETAIL *)detail)->align;
    t->cells[t->ncells].from = m->line.text.n;
    return 0;
}

static void end_cell(struct md *m)
{
    struct md_table *t = m->table;
    struct cell *c = &t->cells[t->ncells++];
    c->to = m->line.text.n;
    size_t width = styled_width(&m->line, c->from, c->to);
    if (width > t->widths[t->next_column])
        t->widths[t->next_column] = width;
    t->next_column++;
}

/* Removes columns from the widest cells until the table fits, or until all have the minimum
 * width. */
static void fit(struct md_table *t, size_t room)
{
    size_t total = (t->columns - 1) * SEPARATOR;
    for (size_t i = 0; i < t->columns; i++)
        total += t->widths[i] > 0 ? t->widths[i] : (t->widths[i] = 1);
    while (total > room) {
        size_t widest = 0;
        for (size_t i = 1; i < t->columns; i++)
            if (t->widths[i] > t->widths[widest])
                widest = i;
        if (t->widths[widest] <= COLUMN_MIN)
            return;
        t->widths[widest]--;
        total--;
    }
}

static void pad(struct buf *out, size_t n)
{
    buf_printf(out, "%*s", (int)n, "");
}

static void draw_cell_line(struct md *m, size_t column, const struct styled_line *line)
{
    const struct md_table *t = m->table;
    size_t gap = t->widths[column] > line->width ? t->widths[column] - line->width : 0;
    MD_ALIGN align = t->aligns[column];
    size_t left = align == MD_ALIGN_RIGHT ? gap : align == MD_ALIGN_CENTER ? gap / 2 : 0;
    pad(m->out, left);
    styled_emit(m->out, m->style->has_color, &m->line, line->from, line->to);
    pad(m->out, gap - left);
}

/* One row takes as many lines as its longest cell. */
static void draw_row(struct md *m, const struct cell *row)
{
    const struct md_table *t = m->table;
    size_t at[COLUMNS_MAX];
    bool has_more = true;
    for (size_t i = 0; i < t->columns; i++)
        at[i] = row[i].from;
    while (has_more) {
        has_more = false;
        md_prefix(m);
        for (size_t i = 0; i < t->columns; i++) {
            struct styled_line line = {0};
            (void)styled_wrap(&m->line, &at[i], row[i].to, t->widths[i], &line);
            if (i > 0)
                style_add(m->out, m->style->has_color, STYLE_DIM, STR(" │ "));
            draw_cell_line(m, i, &line);
            has_more = has_more || at[i] < row[i].to;
        }
        md_end_line(m);
    }
}

static void draw_divider(struct md *m)
{
    struct buf line;
    buf_init(&line, MARKDOWN_OUTPUT_MAX);
    for (size_t i = 0; i < m->table->columns; i++) {
        buf_add_lit(&line, i > 0 ? "─┼─" : "");
        for (size_t n = 0; n < m->table->widths[i]; n++)
            buf_add_lit(&line, "─");
    }
    md_prefix(m);
    style_add(m->out, m->style->has_color, STYLE_DIM, buf_str(&line));
    md_end_line(m);
    buf_done(&line);
}

static void draw(struct md *m)
{
    struct md_table *t = m->table;
    fit(t, md_width(m));
    for (size_t i = 0; i + t->columns <= t->ncells; i += t->columns) {
        draw_row(m, &t->cells[i]);
        if (i == 0)
            draw_divider(m);
    }
}

void md_table_leave(struct md *m, MD_BLOCKTYPE type)
{
    m->base_style = 0;
    if (type == MD_BLOCK_TH || type == MD_BLOCK_TD)
        end_cell(m);
    if (type != MD_BLOCK_TABLE)
        return;
    draw(m);
    styled_clear(&m->line);
    md_table_done(m);
}

void md_table_done(struct md *m)
{
    free(m->table);
    m->table = NULL;
}
