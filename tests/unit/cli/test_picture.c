/* Pictures in a terminal: who gets them, and that nothing but our own sequences is written. */
#include <stdlib.h>

#include "base/bytes/base64.h"
#include "cli/screen/picture.h"
#include "support/unit.h"

static const char *names[8], *values[8];
static size_t nvars;

static char *fake_env(const char *name)
{
    for (size_t i = 0; i < nvars; i++)
        if (strcmp(names[i], name) == 0)
            return (char *)values[i];
    return NULL;
}

static enum picture_protocol with(const char *term, const char *program, const char *more,
                                  const char *value)
{
    nvars = 0;
    const char *pairs[][2] = {{"TERM", term}, {"TERM_PROGRAM", program}, {more, value}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        if (pairs[i][0] && pairs[i][1]) {
            names[nvars] = pairs[i][0];
            values[nvars++] = pairs[i][1];
        }
    return picture_protocol(fake_env);
}

TEST(terminals_that_say_who_they_are)
{
    assert_int_equal(with("xterm-kitty", NULL, NULL, NULL), PICTURE_KITTY);
    assert_int_equal(with("xterm-256color", "ghostty", NULL, NULL), PICTURE_KITTY);
    assert_int_equal(with("xterm-256color", "iTerm.app", NULL, NULL), PICTURE_ITERM);
    assert_int_equal(with("xterm-256color", "WezTerm", NULL, NULL), PICTURE_ITERM);
    assert_int_equal(with("xterm-256color", NULL, "LC_TERMINAL", "iTerm2"), PICTURE_ITERM);
    assert_int_equal(with("xterm-256color", "Apple_Terminal", NULL, NULL), PICTURE_NONE);
    assert_int_equal(with(NULL, "iTerm.app", NULL, NULL), PICTURE_NONE);
    assert_int_equal(with("xterm-kitty", NULL, "TMUX", "/tmp/t"), PICTURE_NONE);
    assert_int_equal(with("xterm-kitty", NULL, "STY", "1"), PICTURE_NONE);
    assert_int_equal(with("screen-256color", "iTerm.app", NULL, NULL), PICTURE_NONE);
    assert_int_equal(with("tmux-256color", "iTerm.app", NULL, NULL), PICTURE_NONE);
}

static str png(struct arena *a, uint32_t width, uint32_t height, size_t size)
{
    static const char HEAD[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    char *p = arena_zalloc(a, size);
    memcpy(p, HEAD, 16);
    for (int i = 0; i < 4; i++) {
        p[16 + i] = (char)(width >> (24 - 8 * i));
        p[20 + i] = (char)(height >> (24 - 8 * i));
    }
    for (size_t i = 24; i < size; i++)
        p[i] = '\x1b'; /* would be an escape if it were written as it is */
    return str_make(p, size);
}

static str drawn(struct arena *a, enum picture_protocol p, str bytes, size_t columns)
{
    struct buf out;
    buf_init(&out, PICTURE_OUT_MAX);
    bool is_added = picture_add(&out, p, bytes, columns);
    assert_int_equal(is_added, out.n > 0);
    return buf_keep(&out, a);
}

static size_t count(str s, const char *what)
{
    size_t n = 0;
    for (ptrdiff_t at = 0; (at = str_find(s, str_from(what), (size_t)at)) >= 0; at++)
        n++;
    return n;
}

TEST(kitty_gets_chunks_and_does_not_answer)
{
    struct arena a;
    arena_init(&a);
    str one = drawn(&a, PICTURE_KITTY, png(&a, 2, 2, 60), 80);
    assert_true(str_starts(one, STR("\x1b_Ga=T,f=100,q=2,m=0;iVBORw0KGgo")));
    assert_true(str_ends(one, STR("\x1b\\\r\n")));
    assert_int_equal(count(one, "\x1b"), 2);
    str large = drawn(&a, PICTURE_KITTY, png(&a, 2000, 10, 10000), 80);
    assert_true(str_starts(large, STR("\x1b_Ga=T,f=100,q=2,c=80,m=1;")));
    assert_int_equal(count(large, "\x1b_G"), 4);
    assert_int_equal(count(large, "\x1b_Gm=0;"), 1);
    assert_int_equal(count(large, "\x1b"), 8);
    arena_done(&a);
}

TEST(iterm_gets_one_sequence)
{
    struct arena a;
    arena_init(&a);
    str got = drawn(&a, PICTURE_ITERM, png(&a, 2000, 10, 60), 300);
    assert_true(str_starts(
        got, STR("\x1b]1337;File=inline=1;size=60;width=100;preserveAspectRatio=1:iVBOR")));
    assert_true(str_ends(got, STR("\a\r\n")));
    assert_int_equal(count(got, "\x1b"), 1);
    assert_true(drawn(&a, PICTURE_ITERM, STR("GIF89a\2\0\2\0\0\0"), 80).n > 0);
    arena_done(&a);
}

TEST(what_is_no_picture_or_too_large_is_not_written)
{
    struct arena a;
    arena_init(&a);
    assert_int_equal(drawn(&a, PICTURE_KITTY, STR("GIF89a\2\0\2\0\0\0"), 80).n, 0);
    assert_int_equal(drawn(&a, PICTURE_NONE, png(&a, 2, 2, 60), 80).n, 0);
    assert_int_equal(drawn(&a, PICTURE_ITERM, STR("\x1b]0;evil\a"), 80).n, 0);
    assert_int_equal(drawn(&a, PICTURE_ITERM, STR("%PDF-1.7"), 80).n, 0);
    assert_int_equal(drawn(&a, PICTURE_ITERM, STR_NONE, 80).n, 0);
    assert_int_equal(drawn(&a, PICTURE_KITTY, png(&a, 100000, 100000, 60), 80).n, 0);
    assert_int_equal(drawn(&a, PICTURE_KITTY, png(&a, 0, 5, 60), 80).n, 0);
    assert_int_equal(drawn(&a, PICTURE_KITTY, png(&a, 2, 2, PICTURE_BYTES_MAX + 1), 80).n, 0);
    assert_true(drawn(&a, PICTURE_KITTY, png(&a, 2, 2, PICTURE_BYTES_MAX), 80).n > 0);
    arena_done(&a);
}

#define SIXELS(inside) "\x1bP0;1;0q\"1;1;" inside "\x1b\\"

/* The helper may have been taken over by the picture: its output is not believed. */
TEST(only_sixels_are_written_as_sixels)
{
    static const str BAD[] = {
        STR_INIT(""),
        STR_INIT("\x1bP0;1;0q\"1;1;2;2#0"),
        STR_INIT("text" SIXELS("2;2#0")),
        STR_INIT(SIXELS("2;2\x1b\\\x1b]52;c;AAAA\a")),
        STR_INIT(SIXELS("2;2\x18\x1b[2J")),
        STR_INIT(SIXELS("2;2\n#0")),
        STR_INIT(SIXELS("2;2\x9b"
                        "31m")),
        STR_INIT(SIXELS("2;2\x7f")),
    };
    struct buf out;
    buf_init(&out, 1000);
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_false(picture_add_sixels(&out, BAD[i]));
    assert_int_equal(out.n, 0);
    assert_true(picture_add_sixels(&out, STR(SIXELS("2;2#0;2;100;0;0#0!2~-"))));
    assert_true(str_eq(buf_str(&out), STR(SIXELS("2;2#0;2;100;0;0#0!2~-") "\r\n")));
    buf_done(&out);
}

TEST(terminals_that_may_be_asked)
{
    with("foot", NULL, NULL, NULL);
    assert_true(picture_may_ask(fake_env));
    with("dumb", NULL, NULL, NULL);
    assert_false(picture_may_ask(fake_env));
    with(NULL, NULL, NULL, NULL);
    assert_false(picture_may_ask(fake_env));
    assert_int_equal(picture_side(40), 320);
    assert_int_equal(picture_side(100000), 800);
}
