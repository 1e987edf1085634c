/* Sixels are decoded here again: the same pixels, in as many colours as there may be. */
#include <errno.h>
#include <stdlib.h>

#include "media/helper/sixel.h"
#include "support/unit.h"

struct decoded {
    unsigned width, height, ncolours;
    unsigned percent[256][3];
    int *pixels; /* the number of a colour, or -1 */
};

static unsigned number(const char **at)
{
    unsigned n = 0;
    assert_true(**at >= '0' && **at <= '9');
    while (**at >= '0' && **at <= '9')
        n = n * 10 + (unsigned)(*(*at)++ - '0');
    return n;
}

static void expect(const char **at, char c)
{
    assert_int_equal(**at, c);
    (*at)++;
}

static void draw(struct decoded *d, unsigned x, unsigned top, char sixel, unsigned colour)
{
    assert_true(sixel >= '?' && sixel <= '~' && x < d->width);
    for (unsigned bit = 0; bit < 6; bit++)
        if ((sixel - '?') & (1 << bit)) {
            assert_true(top + bit < d->height);
            assert_int_equal(d->pixels[(top + bit) * d->width + x], -1); /* one colour each */
            d->pixels[(top + bit) * d->width + x] = (int)colour;
        }
}

static unsigned read_colour(struct decoded *d, const char **at)
{
    unsigned colour = number(at);
    assert_true(colour < SIXEL_COLOURS);
    if (**at != ';')
        return colour;
    expect(at, ';');
    assert_int_equal(number(at), 2);
    for (int c = 0; c < 3; c++) {
        expect(at, ';');
        d->percent[colour][c] = number(at);
        assert_true(d->percent[colour][c] <= 100);
    }
    d->ncolours++;
    return colour;
}

static void decode(struct decoded *d, str s)
{
    assert_true(str_starts(s, STR(SIXEL_BEGIN)) && str_ends(s, STR(SIXEL_END)));
    const char *at = s.p + sizeof SIXEL_BEGIN - 1, *end = s.p + s.n - 2;
    unsigned x = 0, top = 0, colour = 0;
    *d = (struct decoded){0};
    d->width = number(&at);
    expect(&at, ';');
    d->height = number(&at);
    d->pixels = malloc(sizeof(int) * d->width * d->height);
    for (size_t i = 0; i < (size_t)d->width * d->height; i++)
        d->pixels[i] = -1;
    while (at < end) {
        char c = *at++;
        if (c == '#') {
            colour = read_colour(d, &at);
        } else if (c == '$' || c == '-') {
            x = 0;
            top += c == '-' ? 6 : 0;
        } else if (c == '!') {
            unsigned n = number(&at);
            for (c = *at++; n > 0; n--)
                draw(d, x++, top, c, colour);
        } else {
            draw(d, x++, top, c, colour);
        }
    }
}

static void set(struct picture *p, uint32_t x, uint32_t y, uint32_t rgba)
{
    uint8_t *at = p->pixels + ((size_t)y * p->width + x) * 4;
    for (int c = 0; c < 4; c++)
        at[c] = (uint8_t)(rgba >> (24 - 8 * c));
}

static int encode(const struct picture *p, size_t max, struct buf *to)
{
    struct err e = {0};
    buf_init(to, max);
    int rc = sixel_write(p, to, &e);
    assert_true(rc == 0 || e.msg[0]);
    return rc;
}

TEST(few_colours_come_back_as_they_were)
{
    static const uint32_t COLOURS[] = {0xff0000ff, 0x00ff00ff, 0x0000ffff, 0xffffffff, 0x000000ff};
    struct picture p;
    struct buf out;
    struct decoded d;
    picture_init(&p, 37, 20); /* no multiple of six */
    for (uint32_t y = 0; y < 20; y++)
        for (uint32_t x = 0; x < 37; x++)
            set(&p, x, y, COLOURS[(x / 3 + y) % 5]);
    set(&p, 5, 5, 0x123456ff & 0xffffff00); /* transparent */
    assert_int_equal(encode(&p, 1 << 20, &out), 0);
    decode(&d, buf_str(&out));
    assert_int_equal(d.width, 37);
    assert_int_equal(d.height, 20);
    assert_int_equal(d.ncolours, 5);
    for (uint32_t y = 0; y < 20; y++)
        for (uint32_t x = 0; x < 37; x++) {
            int colour = d.pixels[y * 37 + x];
            uint32_t want = COLOURS[(x / 3 + y) % 5];
            if (x == 5 && y == 5) {
                assert_int_equal(colour, -1);
                continue;
            }
            assert_true(colour >= 0);
            for (int c = 0; c < 3; c++)
                assert_int_equal(d.percent[colour][c], (want >> (24 - 8 * c) & 255) ? 100 : 0);
        }
    free(d.pixels);
    buf_done(&out);
    picture_done(&p);
}

TEST(a_photo_gets_colours_that_are_near)
{
    struct picture p;
    struct buf out;
    struct decoded d;
    uint64_t error = 0;
    picture_init(&p, 256, 256);
    for (uint32_t y = 0; y < 256; y++)
        for (uint32_t x = 0; x < 256; x++)
            set(&p, x, y, x << 24 | y << 16 | (x ^ y) << 8 | 255);
    assert_int_equal(encode(&p, 4 << 20, &out), 0);
    decode(&d, buf_str(&out));
    assert_int_equal(d.ncolours, SIXEL_COLOURS);
    for (uint32_t i = 0; i < 256 * 256; i++) {
        assert_true(d.pixels[i] >= 0);
        for (int c = 0; c < 3; c++)
            error += (uint64_t)abs((int)(d.percent[d.pixels[i]][c] * 255 / 100) -
                                   p.pixels[i * 4 + (uint32_t)c]);
    }
    assert_true(error / (256 * 256 * 3) < 16); /* of 255; one colour for all would be 64 */
    free(d.pixels);
    buf_done(&out);
    picture_done(&p);
}

TEST(the_sequence_is_printable_and_has_a_limit)
{
    struct picture p;
    struct buf out;
    picture_init(&p, 64, 64);
    assert_int_equal(encode(&p, 1 << 16, &out), 0); /* nothing but transparent pixels */
    buf_done(&out);
    for (uint32_t i = 0; i < 64 * 64; i++)
        set(&p, i % 64, i / 64, i * 2654435761u | 255);
    assert_int_equal(encode(&p, 1 << 20, &out), 0);
    str s = buf_str(&out);
    for (size_t i = sizeof SIXEL_BEGIN - 1; i < s.n - 2; i++)
        assert_true(s.p[i] > ' ' && s.p[i] <= '~');
    buf_done(&out);
    assert_int_equal(encode(&p, 1000, &out), -EFBIG);
    buf_done(&out);
    picture_done(&p);
}
