/* gif.c - GIF87a and GIF89a: one frame on the canvas of the file.
 *
 * The codes of the compressed data grow from `least` + 1 to 12 bits; each names a string of colour
 * numbers: an earlier string and one more. */
#include "media/helper/gif.h"

#include <errno.h>

enum {
    CODES_MAX = 4096,
    CODE_BITS_MAX = 12,
    HAS_PALETTE = 0x80,
    IS_INTERLACED = 0x40,
    NO_COLOUR = -1,
};

struct gif {
    str in;
    size_t at;
    bool is_cut;
    str palette;     /* of the file, then of the frame; three bytes for each colour */
    int transparent; /* a colour number, or NO_COLOUR */
};

static unsigned next_byte(struct gif *g)
{
    if (g->at < g->in.n)
        return (unsigned char)g->in.p[g->at++];
    g->is_cut = true;
    return 0;
}

static unsigned next_short(struct gif *g)
{
    unsigned low = next_byte(g);
    return low | next_byte(g) << 8;
}

static void skip_blocks(struct gif *g)
{
    for (unsigned n = next_byte(g); n > 0 && !g->is_cut; n = next_byte(g))
        g->at += n;
}

static void read_palette(struct gif *g, unsigned flags)
{
    size_t n = (size_t)3 << ((flags & 7) + 1);
    if (!(flags & HAS_PALETTE))
        return;
    g->palette = str_slice(g->in, g->at, g->at + n);
    g->at += n;
}

static void read_extension(struct gif *g)
{
    if (next_byte(g) == 0xf9 && g->at + 5 <= g->in.n) { /* how the next frame is drawn */
        unsigned flags = (unsigned char)g->in.p[g->at + 1];
        g->transparent = flags & 1 ? (unsigned char)g->in.p[g->at + 4] : NO_COLOUR;
    }
    skip_blocks(g);
}

/* ---- where pixels go ---- */

struct gif_frame {
    struct gif *gif;
    struct picture *canvas;
    uint32_t left, top, width, height;
    uint32_t x, y;
    uint64_t left_over; /* pixels that have not come */
    bool is_interlaced;
    unsigned pass;
};

static void next_row(struct gif_frame *f)
{
    static const uint8_t FIRST[] = {0, 4, 2, 1}, STEP[] = {8, 8, 4, 2};
    f->x = 0;
    f->y += f->is_interlaced ? STEP[f->pass] : 1;
    while (f->is_interlaced && f->y >= f->height && f->pass < 3)
        f->y = FIRST[++f->pass];
}

static void put_colour(struct gif_frame *f, unsigned colour)
{
    str palette = f->gif->palette;
    uint64_t x = (uint64_t)f->left + f->x, y = (uint64_t)f->top + f->y;
    if (f->left_over == 0)
        return;
    f->left_over--;
    if (x < f->canvas->width && y < f->canvas->height && (int)colour != f->gif->transparent &&
        (size_t)colour * 3 + 3 <= palette.n) {
        uint8_t *pixel = f->canvas->pixels + y * picture_stride(f->canvas) + x * 4;
        memcpy(pixel, palette.p + (size_t)colour * 3, 3);
        pixel[3] = 255;
    }
    if (++f->x == f->width)
        next_row(f);
}

/* ---- codes ---- */

struct gif_codes {
    unsigned block; /* bytes left in the block */
    uint32_t bits;
    unsigned nbits;
    unsigned least, width, n; /* of the codes: bits of a colour, bits now, how many there are */
    uint16_t before[CODES_MAX];
    uint8_t last[CODES_MAX];
};

/* -1: the data has ended. */
static int next_code(struct gif *g, struct gif_codes *c)
{
    while (c->nbits < c->width) {
        if (c->block == 0 && (c->block = next_byte(g)) == 0)
            return -1;
        c->bits |= next_byte(g) << c->nbits;
        c->nbits += 8;
        c->block--;
        if (g->is_cut)
            return -1;
    }
    int code = (int)(c->bits & ((1u << c->width) - 1));
    c->bits >>= c->width;
    c->nbits -= c->width;
    return code;
}

static void clear_codes(struct gif_codes *c)
{
    c->width = c->least + 1;
    c->n = (1u << c->least) + 2;
}

static void put_string(struct gif_frame *f, const struct gif_codes *c, unsigned code)
{
    uint8_t string[CODES_MAX];
    size_t n = 0;
    for (; code >= (1u << c->least) && n + 1 < CODES_MAX; code = c->before[code])
        string[n++] = c->last[code];
    string[n++] = (uint8_t)code;
    for (size_t i = n; i-- > 0;)
        put_colour(f, string[i]);
}

static void add_code(struct gif_codes *c, unsigned before, unsigned colour)
{
    if (c->n >= CODES_MAX)
        return;
    c->before[c->n] = (uint16_t)before;
    c->last[c->n++] = (uint8_t)colour;
    if (c->n == 1u << c->width && c->width < CODE_BITS_MAX)
        c->width++;
}

static unsigned first_colour(const struct gif_codes *c, unsigned code)
{
    while (code >= 1u << c->least)
        code = c->before[code];
    return code;
}

static bool read_pixels(struct gif_frame *f, struct gif_codes *c)
{
    unsigned clear = 1u << c->least;
    int code, before = -1;
    clear_codes(c);
    while (f->left_over > 0 && (code = next_code(f->gif, c)) >= 0) {
        if ((unsigned)code == clear) {
            clear_codes(c);
            before = -1;
            continue;
        }
        /* the end, or a string that is made by the code before it and cannot be known yet */
        if ((unsigned)code == clear + 1 || (unsigned)code > c->n ||
            ((unsigned)code == c->n && before < 0) || (before < 0 && (unsigned)code > clear))
            break;
        if ((unsigned)code == c->n && c->n >= CODES_MAX)
            break;
        if (before >= 0)
            add_code(c, (unsigned)before,
                     first_colour(c, (unsigned)code == c->n ? (unsigned)before : (unsigned)code));
        put_string(f, c, (unsigned)code);
        before = code;
    }
    return f->left_over == 0;
}

/* ---- the file ---- */

static int read_frame(struct gif *g, struct picture *canvas, struct err *e)
{
    struct gif_frame f = {.gif = g, .canvas = canvas};
    struct gif_codes codes = {0};
    f.left = next_short(g);
    f.top = next_short(g);
    f.width = next_short(g);
    f.height = next_short(g);
    unsigned flags = next_byte(g);
    f.is_interlaced = flags & IS_INTERLACED;
    read_palette(g, flags);
    codes.least = next_byte(g);
    if (picture_check(f.width, f.height, e) < 0)
        return e->code;
    f.left_over = (uint64_t)f.width * f.height;
    if (codes.least < 2 || codes.least > 8 || !read_pixels(&f, &codes))
        return err_set(e, -EINVAL, "it is broken or incomplete");
    return 0;
}

static int find_frame(struct gif *g, struct picture *canvas, struct err *e)
{
    for (;;) {
        unsigned kind = next_byte(g);
        if (kind == 0x21)
            read_extension(g);
        else if (kind == 0x2c)
            return read_frame(g, canvas, e);
        else
            return err_set(e, -EINVAL, "it is broken or incomplete");
    }
}

int gif_decode(str file, struct picture *ret, struct err *e)
{
    struct gif g = {.in = file, .at = 6, .transparent = NO_COLOUR};
    uint32_t width = next_short(&g), height = next_short(&g);
    unsigned flags = next_byte(&g);
    g.at += 2;
    read_palette(&g, flags);
    int rc = picture_check(width, height, e);
    if (rc < 0)
        return rc;
    picture_init(ret, width, height);
    rc = find_frame(&g, ret, e);
    if (rc < 0)
        picture_done(ret);
    return rc;
}
