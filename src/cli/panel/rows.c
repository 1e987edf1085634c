#include "cli/panel/rows.h"

#include "base/utf8.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

#define CELL_BYTES 4096 /* of a text that are shown */
#define GAP        2
#define RIGHT_MIN  24 /* columns; with fewer, the right side stands below the left one */

void rows_init(struct rows *r)
{
    *r = (struct rows){0};
    arena_init(&r->arena);
}

void rows_done(struct rows *r)
{
    arena_done(&r->arena);
}

static str cell(struct rows *r, str foreign)
{
    struct buf b;
    buf_init(&b, 4 * CELL_BYTES);
    text_add_line(&b, utf8_truncate(foreign, CELL_BYTES));
    return buf_keep(&b, &r->arena);
}

static struct row *add(struct rows *r)
{
    ARENA_GROW(&r->arena, r->items, r->n, r->cap);
    return &r->items[r->n++];
}

void rows_title(struct rows *r, str text)
{
    str safe = cell(r, text);
    *add(r) = (struct row){.left = safe, .is_title = true};
}

void rows_add(struct rows *r, str left, str right)
{
    str a = cell(r, left), b = cell(r, right);
    *add(r) = (struct row){.left = a, .right = b};
}

void rows_say(struct rows *r, const char *left, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str right = arena_vprintf(&r->arena, fmt, ap);
    va_end(ap);
    rows_add(r, str_from(left), right);
}

static size_t left_columns(const struct rows *r)
{
    size_t most = 0;
    for (size_t i = 0; i < r->n; i++) {
        size_t width = r->items[i].is_title ? 0 : text_width(r->items[i].left);
        most = width > most && width <= ROWS_LEFT_MAX ? width : most;
    }
    return most;
}

/* The text from column `indent` on; the first line begins at the current one. */
static void draw_right(struct buf *out, str text, size_t indent, size_t width, bool has_color)
{
    struct styled t;
    struct styled_line line;
    size_t at = 0;
    styled_init(&t, 4 * CELL_BYTES);
    styled_add(&t, text, STYLE_DIM);
    for (bool is_first = true; styled_wrap(&t, &at, t.text.n, width, &line); is_first = false) {
        if (!is_first)
            buf_printf(out, "\n%*s", (int)indent, "");
        styled_emit(out, has_color, &t, line.from, line.to);
    }
    styled_done(&t);
}

static void draw_row(const struct row *row, size_t left, size_t width, bool has_color,
                     struct buf *out)
{
    size_t used = text_width(row->left), indent = left + GAP;
    bool is_beside = width >= indent + RIGHT_MIN;
    struct buf name;
    buf_init(&name, 4 * CELL_BYTES);
    text_clip(&name, row->left, width);
    style_add(out, has_color, row->is_title ? STYLE_BOLD : 0, buf_str(&name));
    buf_done(&name);
    indent = is_beside ? indent : GAP;
    if (row->right.n > 0 && is_beside && used <= left)
        buf_printf(out, "%*s", (int)(indent - used), "");
    else if (row->right.n > 0)
        buf_printf(out, "\n%*s", (int)indent, "");
    if (row->right.n > 0)
        draw_right(out, row->right, indent, width - indent, has_color);
    buf_add_char(out, '\n');
}

void rows_draw(const struct rows *r, size_t width, bool has_color, struct buf *out)
{
    size_t left = left_columns(r);
    for (size_t i = 0; i < r->n; i++) {
        if (r->items[i].is_title && i > 0)
            buf_add_char(out, '\n');
        draw_row(&r->items[i], left, width, has_color, out);
    }
}
