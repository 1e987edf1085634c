#include "cli/screen/picture.h"

#include <string.h>

#include "attach/sniff.h"
#include "base/bytes/base64.h"
#include "media/helper/helper.h"

enum { CHUNK = 4096, COLUMN_PIXELS = 8, COLUMNS_MAX = 100 };

static bool is_one_of(const char *value, const char *const *names)
{
    for (; value && *names; names++)
        if (strcmp(value, *names) == 0)
            return true;
    return false;
}

static bool is_set(const char *value)
{
    return value && *value;
}

enum picture_protocol picture_protocol(char *(*get)(const char *name))
{
    static const char *const KITTY[] = {"kitty", "ghostty", NULL};
    static const char *const ITERM[] = {"iTerm.app", "WezTerm", "mintty", NULL};
    static const char *const KITTY_TERMS[] = {"xterm-kitty", "xterm-ghostty", NULL};
    const char *term = get("TERM"), *program = get("TERM_PROGRAM");
    if (is_set(get("TMUX")) || is_set(get("STY")) || !is_set(term) ||
        strncmp(term, "screen", 6) == 0 || strncmp(term, "tmux", 4) == 0)
        return PICTURE_NONE;
    if (is_one_of(term, KITTY_TERMS) || is_one_of(program, KITTY))
        return PICTURE_KITTY;
    const char *remote = get("LC_TERMINAL"); /* passes through ssh */
    if (is_one_of(program, ITERM) || (remote && strcmp(remote, "iTerm2") == 0))
        return PICTURE_ITERM;
    return PICTURE_NONE;
}

/* q=2: the terminal does not answer, because its answer would arrive as keys. */
static void add_kitty(struct buf *out, str base64, size_t columns)
{
    buf_add_lit(out, "\x1b_Ga=T,f=100,q=2");
    if (columns > 0)
        buf_printf(out, ",c=%zu", columns);
    for (bool is_first = true; is_first || base64.n > 0; is_first = false) {
        str chunk = str_slice(base64, 0, CHUNK);
        base64 = str_skip(base64, chunk.n);
        if (is_first)
            buf_printf(out, ",m=%d;", base64.n > 0);
        else
            buf_printf(out, "\x1b_Gm=%d;", base64.n > 0);
        buf_add_str(out, chunk);
        buf_add_lit(out, "\x1b\\");
    }
}

static void add_iterm(struct buf *out, str base64, size_t bytes, size_t columns)
{
    buf_printf(out, "\x1b]1337;File=inline=1;size=%zu", bytes);
    if (columns > 0)
        buf_printf(out, ";width=%zu", columns);
    buf_add_lit(out, ";preserveAspectRatio=1:");
    buf_add_str(out, base64);
    buf_add_char(out, '\a');
}

/* Columns that a picture gets; 0: its own size fits. */
static size_t fitting(uint32_t width, size_t columns)
{
    columns = columns < COLUMNS_MAX ? columns : COLUMNS_MAX;
    return width > columns * COLUMN_PIXELS ? columns : 0;
}

bool picture_may_ask(char *(*get)(const char *name))
{
    const char *term = get("TERM");
    return is_set(term) && strcmp(term, "dumb") != 0;
}

bool picture_is_drawable(str bytes)
{
    uint32_t width = 0, height = 0;
    return strncmp(sniff_type(bytes), "image/", 6) == 0 && bytes.n <= PICTURE_BYTES_MAX &&
           sniff_size(bytes, &width, &height) && width > 0 && height > 0 &&
           (uint64_t)width * height <= PICTURE_PIXELS_MAX;
}

uint32_t picture_side(size_t columns)
{
    return (uint32_t)((columns < COLUMNS_MAX ? columns : COLUMNS_MAX) * COLUMN_PIXELS);
}

bool picture_add_sixels(struct buf *out, str sixels)
{
    size_t begin = STR(SIXEL_BEGIN).n, end = STR(SIXEL_END).n;
    if (!str_starts(sixels, STR(SIXEL_BEGIN)) || !str_ends(sixels, STR(SIXEL_END)) ||
        sixels.n < begin + end)
        return false;
    for (size_t i = begin; i < sixels.n - end; i++)
        if (sixels.p[i] <= ' ' || sixels.p[i] > '~')
            return false;
    buf_add_str(out, sixels);
    buf_add_lit(out, "\r\n");
    return !buf_failed(out);
}

bool picture_add(struct buf *out, enum picture_protocol p, str bytes, size_t columns)
{
    uint32_t width = 0, height = 0;
    const char *type = sniff_type(bytes);
    bool is_taken = p == PICTURE_ITERM || (p == PICTURE_KITTY && strcmp(type, "image/png") == 0);
    if (!is_taken || !picture_is_drawable(bytes) || !sniff_size(bytes, &width, &height))
        return false;
    struct buf base64;
    buf_init(&base64, PICTURE_OUT_MAX);
    (void)base64_encode(&base64, bytes);
    if (p == PICTURE_KITTY)
        add_kitty(out, buf_str(&base64), fitting(width, columns));
    else
        add_iterm(out, buf_str(&base64), bytes.n, fitting(width, columns));
    buf_add_lit(out, "\r\n");
    buf_done(&base64);
    return true;
}
