/* The screen is checked by what a terminal would show: a small one is played here. */
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/screen/screen.h"
#include "support/unit.h"

#define ROWS_MAX   64
#define COLS_MAX   128
#define CELL_BYTES 8
#define SCROLL_MAX 256

struct vt {
    size_t rows, cols, row, col;
    bool wraps_next; /* a character went into the last column */
    char cells[ROWS_MAX][COLS_MAX][CELL_BYTES];
    char scrolled[SCROLL_MAX][COLS_MAX * 4]; /* lines that left at the top */
    size_t nscrolled;
};

struct fixture {
    int master, slave;
    struct screen s;
    struct vt vt;
};

static void row_text(const struct vt *t, size_t row, char *out, size_t cap)
{
    size_t n = 0, end = 0;
    for (size_t c = 0; c < t->cols; c++) {
        const char *cell = t->cells[row][c][0] ? t->cells[row][c] : " ";
        n += (size_t)snprintf(out + n, cap - n, "%s", cell);
        if (strcmp(cell, " ") != 0)
            end = n;
    }
    out[end] = '\0';
}

static void line_feed(struct vt *t)
{
    t->wraps_next = false;
    if (t->row + 1 < t->rows) {
        t->row++;
        return;
    }
    assert_true(t->nscrolled < SCROLL_MAX);
    row_text(t, 0, t->scrolled[t->nscrolled], sizeof t->scrolled[0]);
    t->nscrolled++;
    memmove(t->cells[0], t->cells[1], (t->rows - 1) * sizeof t->cells[0]);
    memset(t->cells[t->rows - 1], 0, sizeof t->cells[0]);
}

static void clear_right(struct vt *t, size_t row, size_t from)
{
    memset(t->cells[row][from], 0, (COLS_MAX - from) * CELL_BYTES);
}

static void control(struct vt *t, char final, size_t n, bool is_private)
{
    t->wraps_next = false;
    if (final == 'A')
        t->row -= n < t->row ? n : t->row;
    else if (final == 'B')
        t->row = t->row + n < t->rows ? t->row + n : t->rows - 1;
    else if (final == 'C')
        t->col = t->col + n < t->cols ? t->col + n : t->cols - 1;
    else if (final == 'K')
        clear_right(t, t->row, t->col);
    else if (final == 'J') {
        clear_right(t, t->row, t->col);
        for (size_t r = t->row + 1; r < t->rows; r++)
            clear_right(t, r, 0);
    } else {
        assert_true(final == 'm' || (is_private && (final == 'h' || final == 'l')));
    }
}

static size_t escape(struct vt *t, str s)
{
    size_t i = 2, n = 0;
    assert_true(s.n > 2 && s.p[1] == '[');
    bool is_private = s.p[2] == '?';
    for (; i < s.n && ((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '?' || s.p[i] == ';'); i++)
        n = s.p[i] >= '0' && s.p[i] <= '9' ? n * 10 + (size_t)(s.p[i] - '0') : 0;
    assert_true(i < s.n);
    control(t, s.p[i], n, is_private);
    return i + 1;
}

static size_t character(struct vt *t, str s)
{
    uint32_t cp;
    size_t n = utf8_decode(s, &cp), width = (size_t)utf8_width(cp);
    assert_true(n > 0 && n < CELL_BYTES && width > 0);
    if (t->wraps_next || t->col + width > t->cols) {
        line_feed(t);
        t->col = 0;
    }
    memcpy(t->cells[t->row][t->col], s.p, n);
    t->cells[t->row][t->col][n] = '\0';
    t->col += width;
    if (t->col >= t->cols) {
        t->col = t->cols - 1;
        t->wraps_next = true;
    }
    return n;
}

static void play(struct vt *t, str s)
{
    for (size_t i = 0; i < s.n;) {
        if (s.p[i] == '\x1b') {
            i += escape(t, str_skip(s, i));
        } else if (s.p[i] == '\r') {
            t->col = 0, t->wraps_next = false, i++;
        } else if (s.p[i] == '\n') {
            line_feed(t), i++;
        } else {
            i += character(t, str_skip(s, i));
        }
    }
}

static void set_size(struct fixture *f, size_t rows, size_t cols)
{
    struct winsize w = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    assert_int_equal(ioctl(f->slave, TIOCSWINSZ, &w), 0);
    f->vt.rows = rows;
    f->vt.cols = cols;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct termios raw;
    assert_int_equal(openpty(&f->master, &f->slave, NULL, NULL, NULL), 0);
    assert_int_equal(tcgetattr(f->slave, &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(f->slave, TCSANOW, &raw), 0);
    assert_true(fcntl(f->master, F_SETFL, O_NONBLOCK) == 0);
    set_size(f, 6, 20);
    screen_init(&f->s, f->slave);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    screen_done(&f->s);
    close(f->master);
    close(f->slave);
    free(f);
    return 0;
}

static size_t settle(struct fixture *f)
{
    char bytes[4096];
    size_t total = 0;
    ssize_t n;
    while ((n = read(f->master, bytes, sizeof bytes)) > 0) {
        play(&f->vt, str_make(bytes, (size_t)n));
        total += (size_t)n;
    }
    return total;
}

static size_t update(struct fixture *f, const char *final, const char *region, size_t row,
                     size_t col)
{
    struct screen_region r = {.text = str_from(region), .row = row, .col = col};
    screen_update(&f->s, str_from(final), &r);
    return settle(f);
}

/* All that was ever printed, lines joined by '/'; empty lines at the end are left out. */
static const char *shown(struct fixture *f)
{
    static char out[65536];
    char line[COLS_MAX * 4];
    size_t n = 0, end = 0;
    for (size_t i = 0; i < f->vt.nscrolled; i++)
        end = n += (size_t)snprintf(out + n, sizeof out - n, "%s/", f->vt.scrolled[i]);
    for (size_t r = 0; r < f->vt.rows; r++) {
        row_text(&f->vt, r, line, sizeof line);
        n += (size_t)snprintf(out + n, sizeof out - n, "%s/", line);
        if (line[0])
            end = n;
    }
    out[end] = '\0';
    return out;
}

TEST_WITH(region_is_replaced, setup, teardown)
{
    struct fixture *f = *state;
    (void)update(f, "", "one\ntwo", SCREEN_AT_END, 0);
    assert_string_equal(shown(f), "one/two/");
    assert_true(f->vt.row == 1 && f->vt.col == 3);
    (void)update(f, "", "one\n2\nthree", 1, 1);
    assert_string_equal(shown(f), "one/2/three/");
    assert_true(f->vt.row == 1 && f->vt.col == 1);
    (void)update(f, "", "one", 0, 0);
    assert_string_equal(shown(f), "one/");
    (void)update(f, "", "", 0, 0);
    assert_string_equal(shown(f), "");
}

TEST_WITH(final_text_goes_above, setup, teardown)
{
    struct fixture *f = *state;
    (void)update(f, "", "a region\nof two", SCREEN_AT_END, 0);
    (void)update(f, "done\n\n", "region", SCREEN_AT_END, 0);
    assert_string_equal(shown(f), "done//region/");
    (void)update(f, "more\n", "", 0, 0);
    assert_string_equal(shown(f), "done//more/");
    assert_true(f->vt.row == 3 && f->vt.col == 0);
}

TEST_WITH(scrolling_never_loses_or_doubles_lines, setup, teardown)
{
    struct fixture *f = *state;
    char final[32], region[64], want[1024];
    size_t n = 0;
    for (int i = 0; i < 30; i++) {
        (void)snprintf(final, sizeof final, "line %d\n", i);
        (void)snprintf(region, sizeof region, "x%d\ny\nz%d", i, i);
        (void)update(f, final, region, (size_t)i % 3, 0);
        n += (size_t)snprintf(want + n, sizeof want - n, "line %d/", i);
    }
    (void)snprintf(want + n, sizeof want - n, "x29/y/z29/");
    assert_string_equal(shown(f), want);
}

TEST_WITH(region_taller_than_the_screen, setup, teardown)
{
    struct fixture *f = *state;
    (void)update(f, "top\n", "1\n2\n3\n4\n5\n6\n7\n8", SCREEN_AT_END, 0);
    assert_string_equal(shown(f), "top/4/5/6/7/8/");
    (void)update(f, "", "1\n2\n3\n4\n5\n6\n7\n8\n9", SCREEN_AT_END, 0);
    assert_string_equal(shown(f), "top/5/6/7/8/9/");
    (void)update(f, "", "1\n2\n3\n4\n5\n6\n7\n8\n9", 1, 0); /* the cursor stays in sight */
    assert_string_equal(shown(f), "top/2/3/4/5/6/");
    (void)update(f, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "", 0, 0);
    assert_string_equal(shown(f), "top/1/2/3/4/5/6/7/8/9/");
}

TEST_WITH(long_lines, setup, teardown)
{
    struct fixture *f = *state;
    (void)update(f, "", "12345678901234567890 too long", SCREEN_AT_END, 0);
    assert_string_equal(shown(f), "123456789012345678…/");
    (void)update(f, "12345678901234567890\n123456789012345678901\n", "next", SCREEN_AT_END, 0);
    assert_string_equal(shown(f), "12345678901234567890/12345678901234567890/1/next/");
}

TEST_WITH(unchanged_lines_are_not_written, setup, teardown)
{
    struct fixture *f = *state;
    (void)update(f, "", "a long first line\nanother line here\nx", SCREEN_AT_END, 0);
    assert_true(update(f, "", "a long first line\nanother line here\ny", SCREEN_AT_END, 0) < 45);
    assert_string_equal(shown(f), "a long first line/another line here/y/");
}

/* Terminals wrap lines anew when they become narrower; here this is done by hand. */
TEST_WITH(resizing, setup, teardown)
{
    struct fixture *f = *state;
    (void)update(f, "", "123456789012345\nsecond", SCREEN_AT_END, 0);
    set_size(f, 6, 10);
    memset(f->vt.cells, 0, sizeof f->vt.cells);
    f->vt.row = f->vt.col = 0;
    play(&f->vt, STR("1234567890\r\n12345\r\nsecond"));
    (void)update(f, "", "123456\nsecond!", SCREEN_AT_END, 0);
    assert_string_equal(shown(f), "123456/second!/");
    assert_int_equal(screen_width(&f->s), 9);
}

/* A text that was cut has fewer lines than the position of the cursor assumes. */
TEST_WITH(a_cursor_below_the_text_is_on_its_last_line, setup, teardown)
{
    struct fixture *f = *state;
    (void)update(f, "", "one\ntwo", 900, 1);
    assert_string_equal(shown(f), "one/two/");
    (void)update(f, "", "one\ntwo\nthree", SCREEN_AT_END, 0);
    assert_string_equal(shown(f), "one/two/three/");
}
