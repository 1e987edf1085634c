#include "media/helper/sixel.h"

#include <errno.h>
#include <stdlib.h>

/* Colours are counted in cells of 8 x 8 x 8 values. */
enum { CELL_BITS = 5, CELLS = 1 << (3 * CELL_BITS), BAND = 6, RUN_MIN = 4 };

struct colour_cell {
    uint8_t at[3];   /* its place in each channel */
    uint8_t channel; /* by which its box is being sorted */
    uint32_t count;
    uint64_t sum[3];
};

/* Cells from..to of the list; they become one colour. */
struct colour_box {
    size_t from, to;
    uint64_t count;
    uint8_t channel, range; /* the longest side of the box */
};

struct palette {
    uint8_t rgb[SIXEL_COLOURS][3];
    size_t n;
    uint8_t of_cell[CELLS];
};

static bool is_seen(const uint8_t *pixel)
{
    return pixel[3] >= 128;
}

static size_t cell_of(const uint8_t *pixel)
{
    size_t cell = 0;
    for (int c = 0; c < 3; c++)
        cell = cell << CELL_BITS | pixel[c] >> (8 - CELL_BITS);
    return cell;
}

/* ---- colours, by median cut ---- */

static size_t count_cells(const struct picture *p, struct colour_cell *cells)
{
    size_t pixels = (size_t)p->width * p->height, n = 0;
    for (size_t i = 0; i < pixels; i++) {
        const uint8_t *pixel = p->pixels + i * 4;
        struct colour_cell *cell = &cells[cell_of(pixel)];
        for (int c = 0; is_seen(pixel) && c < 3; c++) {
            cell->at[c] = pixel[c] >> (8 - CELL_BITS);
            cell->sum[c] += pixel[c];
        }
        cell->count += is_seen(pixel);
    }
    for (size_t i = 0; i < CELLS; i++)
        if (cells[i].count > 0)
            cells[n++] = cells[i];
    return n;
}

static struct colour_box box_of(const struct colour_cell *cells, size_t from, size_t to)
{
    struct colour_box b = {.from = from, .to = to};
    for (size_t i = from; i < to; i++)
        b.count += cells[i].count;
    for (uint8_t c = 0; c < 3; c++) {
        uint8_t least = UINT8_MAX, most = 0;
        for (size_t i = from; i < to; i++) {
            least = cells[i].at[c] < least ? cells[i].at[c] : least;
            most = cells[i].at[c] > most ? cells[i].at[c] : most;
        }
        if (most - least >= b.range) {
            b.range = (uint8_t)(most - least);
            b.channel = c;
        }
    }
    return b;
}

static int by_channel(const void *x, const void *y)
{
    const struct colour_cell *a = x, *b = y;
    return (int)a->at[a->channel] - (int)b->at[b->channel];
}

/* Two boxes with about as many pixels each; both have a cell. */
static void split_box(struct colour_cell *cells, struct colour_box *b,
                      struct colour_box *ret_second)
{
    size_t from = b->from, to = b->to, middle = from + 1;
    for (size_t i = from; i < to; i++)
        cells[i].channel = b->channel;
    qsort(cells + from, to - from, sizeof(cells[0]), by_channel);
    for (uint64_t n = cells[from].count; middle + 1 < to && n < b->count / 2; middle++)
        n += cells[middle].count;
    *b = box_of(cells, from, middle);
    *ret_second = box_of(cells, middle, to);
}

static struct colour_box *worst_box(struct colour_box *boxes, size_t n)
{
    struct colour_box *worst = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        if (boxes[i].to - boxes[i].from > 1 && boxes[i].count * boxes[i].range > most) {
            most = boxes[i].count * boxes[i].range;
            worst = &boxes[i];
        }
    return worst;
}

static void set_colour(struct palette *to, const struct colour_cell *cells,
                       const struct colour_box *b)
{
    uint64_t sum[3] = {0};
    for (size_t i = b->from; i < b->to; i++) {
        const uint8_t *at = cells[i].at;
        to->of_cell[(size_t)at[0] << (2 * CELL_BITS) | (size_t)at[1] << CELL_BITS | at[2]] =
            (uint8_t)to->n;
        for (int c = 0; c < 3; c++)
            sum[c] += cells[i].sum[c];
    }
    for (int c = 0; c < 3; c++)
        to->rgb[to->n][c] = (uint8_t)(sum[c] / b->count);
    to->n++;
}

static void choose_colours(const struct picture *p, struct palette *ret)
{
    struct colour_cell *cells = xcalloc(CELLS, sizeof *cells);
    struct colour_box boxes[SIXEL_COLOURS], *worst;
    size_t ncells = count_cells(p, cells), n = ncells > 0;
    if (n > 0)
        boxes[0] = box_of(cells, 0, ncells);
    while (n > 0 && n < SIXEL_COLOURS && (worst = worst_box(boxes, n)))
        split_box(cells, worst, &boxes[n++]);
    for (size_t i = 0; i < n; i++)
        set_colour(ret, cells, &boxes[i]);
    free(cells);
}

/* ---- the sequence ---- */

static void add_run(struct buf *to, char sixel, size_t n)
{
    if (n >= RUN_MIN) {
        buf_printf(to, "!%zu%c", n, sixel);
        return;
    }
    while (n-- > 0)
        buf_add_char(to, sixel);
}

/* The pixels of one colour in six rows; `bits` has a byte for each column. */
static void add_line(struct buf *to, size_t colour, const uint8_t *bits, size_t width)
{
    buf_printf(to, "#%zu", colour);
    while (width > 0 && bits[width - 1] == 0)
        width--;
    for (size_t x = 0, end; x < width; x = end) {
        for (end = x + 1; end < width && bits[end] == bits[x]; end++)
            ;
        add_run(to, (char)('?' + bits[x]), end - x);
    }
}

static void add_band(struct buf *to, const struct picture *p, const struct palette *palette,
                     uint32_t top, uint8_t *bits)
{
    bool is_used[SIXEL_COLOURS] = {0}, is_first = true;
    memset(bits, 0, (size_t)SIXEL_COLOURS * p->width);
    for (uint32_t y = top; y < p->height && y < top + BAND; y++)
        for (uint32_t x = 0; x < p->width; x++) {
            const uint8_t *pixel = p->pixels + ((size_t)y * p->width + x) * 4;
            size_t colour = palette->of_cell[cell_of(pixel)];
            if (!is_seen(pixel))
                continue;
            is_used[colour] = true;
            bits[colour * p->width + x] |= (uint8_t)(1u << (y - top));
        }
    for (size_t i = 0; i < palette->n; i++) {
        if (!is_used[i])
            continue;
        if (!is_first)
            buf_add_char(to, '$'); /* the same rows again, in the next colour */
        is_first = false;
        add_line(to, i, bits + i * p->width, p->width);
    }
    buf_add_char(to, '-');
}

int sixel_write(const struct picture *p, struct buf *to, struct err *e)
{
    struct palette *palette = xcalloc(1, sizeof *palette);
    uint8_t *bits = xcalloc(SIXEL_COLOURS, p->width);
    choose_colours(p, palette);
    buf_printf(to, SIXEL_BEGIN "%u;%u", p->width, p->height);
    for (size_t i = 0; i < palette->n; i++) {
        const uint8_t *rgb = palette->rgb[i];
        buf_printf(to, "#%zu;2;%u;%u;%u", i, (rgb[0] * 100u + 127) / 255,
                   (rgb[1] * 100u + 127) / 255, (rgb[2] * 100u + 127) / 255);
    }
    for (uint32_t top = 0; top < p->height && !buf_failed(to); top += BAND)
        add_band(to, p, palette, top, bits);
    buf_add_lit(to, SIXEL_END);
    free(bits);
    free(palette);
    return buf_failed(to) ? err_set(e, -EFBIG, "it is too large for a terminal") : 0;
}
