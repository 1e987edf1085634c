#include "cli/view/diff_lines.h"

#include <assert.h>
#include <stdlib.h>

#include "cli/term/styled.h"
#include "cli/term/text.h"

#define CONTEXT        3               /* unchanged lines around a change */
#define CELLS_MAX      (1000u * 1000u) /* pairs of lines that are compared */
#define DRAW_MAX       (16u * 1024 * 1024)
#define LINE_MAX_BYTES (64u * 1024)

struct side {
    str *lines;
    size_t n;
    size_t left_out; /* lines behind DIFF_LINES_MAX */
};

static struct side split_lines(str text)
{
    struct side s = {.lines = xcalloc(DIFF_LINES_MAX, sizeof(str))};
    str line;
    if (str_ends(text, STR("\n")))
        text.n--;
    else if (text.n == 0)
        return s;
    while (str_split(&text, '\n', &line)) {
        if (s.n < DIFF_LINES_MAX)
            s.lines[s.n++] = line;
        else
            s.left_out++;
    }
    return s;
}

/* ---- which lines stay ---- */

struct diff {
    struct side a, b;
    bool *a_kept, *b_kept; /* per line: it is in both, at the same place of the order */
};

/* The longest common subsequence of the lines between the equal ends. */
static void keep_middle(struct diff *d, size_t head, size_t a_end, size_t b_end)
{
    size_t n = a_end - head, m = b_end - head, row = m + 1;
    if (n == 0 || m == 0 || n > CELLS_MAX / row - 1)
        return;
    uint16_t *len = xcalloc((n + 1) * row, sizeof *len);
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            uint16_t down = len[(i + 1) * row + j], right = len[i * row + j + 1];
            len[i * row + j] = str_eq(d->a.lines[head + i], d->b.lines[head + j])
                                   ? (uint16_t)(len[(i + 1) * row + j + 1] + 1)
                               : down > right ? down
                                              : right;
        }
    for (size_t i = 0, j = 0; i < n && j < m;) {
        if (str_eq(d->a.lines[head + i], d->b.lines[head + j]))
            d->a_kept[head + i++] = d->b_kept[head + j++] = true;
        else if (len[(i + 1) * row + j] >= len[i * row + j + 1])
            i++;
        else
            j++;
    }
    free(len);
}

static void find_kept(struct diff *d)
{
    size_t head = 0, a_end = d->a.n, b_end = d->b.n;
    while (head < a_end && head < b_end && str_eq(d->a.lines[head], d->b.lines[head])) {
        d->a_kept[head] = d->b_kept[head] = true;
        head++;
    }
    while (a_end > head && b_end > head && str_eq(d->a.lines[a_end - 1], d->b.lines[b_end - 1]))
        d->a_kept[--a_end] = d->b_kept[--b_end] = true;
    keep_middle(d, head, a_end, b_end);
}

/* ---- as text ---- */

/* A run of unchanged lines; the middle of a long one is left out. */
static void add_unchanged(struct buf *out, const str *lines, size_t n, bool is_first, bool is_last)
{
    size_t before = is_first ? 0 : CONTEXT, after = is_last ? 0 : CONTEXT;
    for (size_t i = 0; i < n; i++) {
        bool is_shown = i < before || i + after >= n;
        if (is_shown)
            buf_printf(out, " %.*s\n", STR_ARG(lines[i]));
        else if (i == before)
            buf_add_lit(out, "@\n");
    }
}

static void write_diff(struct buf *out, const struct diff *d)
{
    size_t start = out->n;
    for (size_t i = 0, j = 0; i < d->a.n || j < d->b.n;) {
        size_t n = 0;
        for (; i < d->a.n && !d->a_kept[i]; i++)
            buf_printf(out, "-%.*s\n", STR_ARG(d->a.lines[i]));
        for (; j < d->b.n && !d->b_kept[j]; j++)
            buf_printf(out, "+%.*s\n", STR_ARG(d->b.lines[j]));
        while (i + n < d->a.n && j + n < d->b.n && d->a_kept[i + n] && d->b_kept[j + n])
            n++;
        add_unchanged(out, d->a.lines + i, n, out->n == start, i + n == d->a.n && j + n == d->b.n);
        assert(n > 0 || (i == d->a.n && j == d->b.n)); /* both keep the same lines */
        i += n;
        j += n;
    }
    if (d->a.left_out > 0 || d->b.left_out > 0)
        buf_add_lit(out, "@\n");
}

void diff_lines(struct buf *out, str before, bool has_before, str after)
{
    struct diff d = {.a = split_lines(has_before ? before : STR_NONE), .b = split_lines(after)};
    d.a_kept = xcalloc(d.a.n + 1, sizeof(bool));
    d.b_kept = xcalloc(d.b.n + 1, sizeof(bool));
    find_kept(&d);
    write_diff(out, &d);
    free(d.a.lines);
    free(d.b.lines);
    free(d.a_kept);
    free(d.b_kept);
}

void diff_count(str diff, size_t *ret_added, size_t *ret_removed)
{
    str line;
    *ret_added = *ret_removed = 0;
    while (str_split(&diff, '\n', &line)) {
        *ret_added += line.n > 0 && line.p[0] == '+';
        *ret_removed += line.n > 0 && line.p[0] == '-';
    }
}

/* ---- on the screen ---- */

static unsigned style_of_line(str line)
{
    return line.p[0] == '+' ? STYLE_GREEN : line.p[0] == '-' ? STYLE_RED : STYLE_DIM;
}

static void draw_whole(struct buf *out, str safe, unsigned style, size_t width, bool has_color)
{
    struct styled t;
    struct styled_line line;
    size_t at = 0;
    styled_init(&t, DRAW_MAX);
    styled_add(&t, safe, style);
    while (styled_wrap(&t, &at, t.text.n, width, &line)) {
        buf_add_lit(out, "  ");
        styled_emit(out, has_color, &t, line.from, line.to);
        buf_add_char(out, '\n');
    }
    styled_done(&t);
}

static void draw_line(struct buf *out, str line, size_t width, bool is_whole, bool has_color)
{
    struct buf safe, cut;
    unsigned style = style_of_line(line);
    buf_init(&safe, 4 * LINE_MAX_BYTES);
    buf_init(&cut, 4 * LINE_MAX_BYTES);
    text_add(&safe, line.p[0] == '@' ? STR("⋯") : str_slice(line, 0, LINE_MAX_BYTES));
    size_t room = width > 2 ? width - 2 : 1;
    if (is_whole) {
        draw_whole(out, buf_str(&safe), style, room, has_color);
    } else {
        text_clip(&cut, buf_str(&safe), room);
        buf_add_lit(out, "  ");
        style_add(out, has_color, style, buf_str(&cut));
        buf_add_char(out, '\n');
    }
    buf_done(&safe);
    buf_done(&cut);
}

size_t diff_draw(struct buf *out, str diff, size_t width, size_t max, bool is_whole, bool has_color)
{
    str line;
    size_t n = 0;
    while (str_split(&diff, '\n', &line)) {
        if (line.n == 0)
            continue;
        if (n++ < max)
            draw_line(out, line, width, is_whole, has_color);
    }
    return n > max ? n - max : 0;
}
