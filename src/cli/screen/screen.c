#include "cli/screen/screen.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/term/text.h"

#define OUT_MAX      (64u * 1024 * 1024)
#define DEFAULT_ROWS 24
#define DEFAULT_COLS 80
#define MIN_COLS     10

#define HIDE_CURSOR  "\x1b[?25l"
#define SHOW_CURSOR  "\x1b[?25h"
#define CLEAR_RIGHT  "\x1b[K"
#define CLEAR_BELOW  "\x1b[J"
#define CLEAR_SCREEN "\x1b[H\x1b[2J\x1b[3J"

static void get_size(const struct screen *s, size_t *rows, size_t *cols)
{
    struct winsize w = {0};
    (void)ioctl(s->fd, TIOCGWINSZ, &w);
    *rows = w.ws_row > 1 ? w.ws_row : DEFAULT_ROWS;
    *cols = w.ws_col >= MIN_COLS ? w.ws_col : w.ws_col > 0 ? MIN_COLS : DEFAULT_COLS;
}

void screen_init(struct screen *s, int fd)
{
    *s = (struct screen){.fd = fd};
    buf_init(&s->out, OUT_MAX);
    buf_init(&s->drawn, OUT_MAX);
}

/* The last column stays empty, because terminals differ in what they do after it. */
size_t screen_width(const struct screen *s)
{
    size_t rows, cols;
    get_size(s, &rows, &cols);
    return cols - 1;
}

static void screen_flush(struct screen *s)
{
    str bytes = buf_str(&s->out);
    while (bytes.n > 0) {
        ssize_t n = write(s->fd, bytes.p, bytes.n);
        struct pollfd p = {.fd = s->fd, .events = POLLOUT};
        if (n < 0 && errno == EAGAIN)
            (void)poll(&p, 1, -1);
        else if (n < 0 && errno != EINTR)
            break; /* the terminal is gone: the next read will report it */
        bytes = str_skip(bytes, n > 0 ? (size_t)n : 0);
    }
    buf_clear(&s->out);
}

/* The number of rows that the drawn lines above the cursor take now: terminals wrap old lines again
 * when they become narrower. */
static size_t rows_above(const struct screen *s, size_t cols)
{
    assert(cols > 0 && (s->cursor == 0 || s->cursor < s->lines));
    size_t rows = s->cursor_col / cols;
    str rest = buf_str(&s->drawn), line;
    for (size_t i = 0; i < s->cursor && str_split(&rest, '\n', &line); i++) {
        size_t width = text_width(line);
        rows += width > cols ? (width + cols - 1) / cols : 1;
    }
    return rows;
}

static void go_to_top(struct screen *s, size_t cols)
{
    size_t up = rows_above(s, cols);
    buf_add_char(&s->out, '\r');
    if (up > 0)
        buf_printf(&s->out, "\x1b[%zuA", up);
}

/* A line that fills its last row leaves nothing to clear, and some terminals would erase its last
 * character. */
static void print_final(struct screen *s, str final, size_t cols)
{
    str line;
    while (str_split(&final, '\n', &line)) {
        size_t width = text_width(line);
        buf_add_str(&s->out, line);
        if (width == 0 || width % cols != 0)
            buf_add_lit(&s->out, CLEAR_RIGHT);
        buf_add_lit(&s->out, "\r\n");
    }
}

static size_t count_lines(str text)
{
    size_t n = text.n > 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static str next_line(str *rest)
{
    str line = STR_NONE;
    (void)str_split(rest, '\n', &line);
    return line;
}

/* Writes the region's lines first..first+count; skips lines that are already on the screen. Returns
 * the drawn lines in `ret`. */
static void draw_lines(struct screen *s, str text, size_t first, size_t count, size_t cols,
                       bool is_fresh, struct buf *ret)
{
    str old = buf_str(&s->drawn);
    struct buf line;
    buf_init(&line, OUT_MAX);
    for (size_t i = 0; i < first; i++)
        (void)next_line(&text);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&line);
        text_clip(&line, next_line(&text), cols - 1);
        bool is_last = i + 1 == count;
        bool is_same = !is_fresh && i < s->lines && str_eq(next_line(&old), buf_str(&line));
        if (!is_same || (is_last && s->lines > count)) {
            buf_add_str(&s->out, buf_str(&line));
            buf_add_lit(&s->out, CLEAR_RIGHT);
        }
        buf_add_lit(&s->out, is_last ? "" : "\r\n");
        buf_add_str(ret, buf_str(&line));
        buf_add_lit(ret, is_last ? "" : "\n");
    }
    buf_done(&line);
}

static size_t last_width(str text)
{
    ptrdiff_t at = str_rfind_char(text, '\n');
    return text_width(str_skip(text, (size_t)(at + 1)));
}

static void place_cursor(struct screen *s, const struct screen_region *r, size_t first)
{
    bool at_end = r->row == SCREEN_AT_END;
    assert(s->lines > 0 && (at_end || r->row >= first));
    s->cursor = at_end ? s->lines - 1 : r->row - first;
    if (s->cursor >= s->lines) /* a text that did not fit into its buffer has fewer lines */
        s->cursor = s->lines - 1;
    s->cursor_col = at_end ? last_width(buf_str(&s->drawn)) : r->col;
    if (s->cursor + 1 < s->lines)
        buf_printf(&s->out, "\x1b[%zuA", s->lines - 1 - s->cursor);
    buf_add_char(&s->out, '\r');
    if (s->cursor_col > 0)
        buf_printf(&s->out, "\x1b[%zuC", s->cursor_col);
}

/* The visible part of a region that is taller than the screen: its end, or the part with the
 * cursor. */
static size_t first_line(const struct screen_region *r, size_t lines, size_t visible)
{
    if (lines <= visible)
        return 0;
    size_t first = lines - visible;
    return r->row < first ? r->row : first;
}

void screen_update(struct screen *s, str final, const struct screen_region *region)
{
    size_t rows, cols;
    if (s->is_plain) {
        buf_add_str(&s->out, final);
        screen_flush(s);
        return;
    }
    get_size(s, &rows, &cols);
    size_t all = count_lines(region->text);
    size_t first = first_line(region, all, rows - 1);
    size_t count = all < rows - 1 ? all : rows - 1;
    bool is_resized = s->lines > 0 && s->cols != cols;
    bool is_fresh = is_resized || final.n > 0;
    struct buf drawn;
    buf_init(&drawn, OUT_MAX);

    buf_add_lit(&s->out, HIDE_CURSOR);
    go_to_top(s, cols);
    if (is_resized)
        buf_add_lit(&s->out, CLEAR_BELOW);
    print_final(s, final, cols);
    draw_lines(s, region->text, first, count, cols, is_fresh, &drawn);
    if (count == 0 || is_fresh || s->lines > count)
        buf_add_lit(&s->out, CLEAR_BELOW);

    buf_done(&s->drawn);
    s->drawn = drawn;
    s->lines = count;
    s->cols = cols;
    s->cursor = s->cursor_col = 0;
    if (count > 0)
        place_cursor(s, region, first);
    buf_add_lit(&s->out, SHOW_CURSOR);
    screen_flush(s);
}

void screen_picture(struct screen *s, str sequence)
{
    screen_update(s, STR_NONE, &(struct screen_region){0});
    assert(s->lines == 0);
    if (!s->is_plain)
        buf_add_str(&s->out, sequence);
    screen_flush(s);
}

void screen_forget(struct screen *s)
{
    buf_clear(&s->drawn);
    s->lines = s->cursor = s->cursor_col = 0;
}

void screen_wipe(struct screen *s)
{
    if (s->is_plain)
        return;
    screen_forget(s);
    buf_add_lit(&s->out, CLEAR_SCREEN);
    screen_flush(s);
}

void screen_done(struct screen *s)
{
    if (s->lines > 0) {
        if (s->cursor + 1 < s->lines)
            buf_printf(&s->out, "\x1b[%zuB", s->lines - 1 - s->cursor);
        buf_add_lit(&s->out, "\r\n");
        screen_flush(s);
    }
    buf_done(&s->out);
    buf_done(&s->drawn);
}
