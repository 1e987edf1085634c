#include "cli/panel/status_line.h"

#include "base/utf8.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

#define PIECE_BYTES 400
#define SEPARATOR   " · "

static void add_count(struct buf *out, int64_t n)
{
    if (n < 1000)
        buf_printf(out, "%lld", (long long)n);
    else if (n < 10000)
        buf_printf(out, "%.1fk", (double)n / 1000);
    else if (n < 1000000)
        buf_printf(out, "%lldk", (long long)n / 1000);
    else
        buf_printf(out, "%.1fM", (double)n / 1000000);
}

static void add_context(struct buf *out, const struct status_line *s)
{
    if (s->used <= 0)
        return;
    add_count(out, s->used);
    if (s->limit <= 0) {
        buf_add_lit(out, " tokens");
        return;
    }
    buf_add_lit(out, " of ");
    add_count(out, s->limit);
    buf_printf(out, " (%lld%%)", (long long)(s->used * 100 / s->limit));
}

static void add_cost(struct buf *out, const struct status_line *s)
{
    if (s->cost > 0)
        buf_printf(out, s->cost < 0.01 ? "$%.4f" : "$%.2f", s->cost);
}

static void add_model(struct buf *out, const struct status_line *s)
{
    text_add_line(out, utf8_truncate(s->model, PIECE_BYTES));
}

static void add_title(struct buf *out, const struct status_line *s)
{
    text_add_line(out, utf8_truncate(s->title, PIECE_BYTES));
}

static void add_origin(struct buf *out, const struct status_line *s)
{
    if (s->origin.n == 0)
        return;
    buf_add_lit(out, "branch of ");
    text_add_line(out, utf8_truncate(s->origin, PIECE_BYTES));
}

static void add_extra(struct buf *out, const struct status_line *s)
{
    text_add_line(out, utf8_truncate(s->extra, PIECE_BYTES));
}

void status_line_draw(const struct status_line *s, size_t width, bool has_color, struct buf *out)
{
    static void (*const PIECES[])(struct buf *, const struct status_line *) = {
        add_extra, add_model, add_context, add_cost, add_origin, add_title};
    struct buf line, piece;
    buf_init(&line, 16 * PIECE_BYTES);
    buf_init(&piece, 4 * PIECE_BYTES);
    for (size_t i = 0; i < ARRAY_LEN(PIECES); i++) {
        buf_clear(&piece);
        PIECES[i](&piece, s);
        size_t between = line.n > 0 ? text_width(STR(SEPARATOR)) : 0;
        if (piece.n == 0 ||
            text_width(buf_str(&line)) + between + text_width(buf_str(&piece)) > width)
            continue;
        buf_add_lit(&line, line.n > 0 ? SEPARATOR : "");
        buf_add_str(&line, buf_str(&piece));
    }
    style_add(out, has_color, STYLE_DIM, buf_str(&line));
    buf_done(&line);
    buf_done(&piece);
}
