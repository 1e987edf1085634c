#include "cli/term/styled.h"

#include <assert.h>

#include "base/utf8.h"
#include "cli/term/text.h"

/* The sequence that sets exactly these styles; nothing when colours are off. */
static void set_style(struct buf *out, bool has_color, unsigned style)
{
    static const struct {
        unsigned style;
        const char *code;
    } CODES[] = {
        {STYLE_BOLD, ";1"},   {STYLE_DIM, ";2"},   {STYLE_ITALIC, ";3"}, {STYLE_UNDERLINE, ";4"},
        {STYLE_STRIKE, ";9"}, {STYLE_CYAN, ";36"}, {STYLE_GREEN, ";32"}, {STYLE_RED, ";31"},
    };
    if (!has_color)
        return;
    buf_add_lit(out, "\x1b[0");
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++)
        if (style & CODES[i].style)
            buf_add_lit(out, CODES[i].code);
    buf_add_char(out, 'm');
}

void style_add(struct buf *out, bool has_color, unsigned style, str text)
{
    if (style != 0)
        set_style(out, has_color, style);
    buf_add_str(out, text);
    if (style != 0)
        set_style(out, has_color, 0);
}

void styled_init(struct styled *t, size_t max_bytes)
{
    buf_init(&t->text, max_bytes);
    buf_init(&t->style, max_bytes);
}

void styled_done(struct styled *t)
{
    buf_done(&t->text);
    buf_done(&t->style);
}

void styled_clear(struct styled *t)
{
    buf_clear(&t->text);
    buf_clear(&t->style);
}

void styled_add(struct styled *t, str s, unsigned style)
{
    if (s.n == 0 || buf_add_str(&t->text, s) < 0 || buf_reserve(&t->style, s.n) < 0)
        return;
    memset(t->style.p + t->style.n, (int)style, s.n);
    t->style.n += s.n;
    t->style.p[t->style.n] = '\0';
    assert(t->style.n == t->text.n);
}

/* Closing punctuation of wide scripts must not begin a line. */
static bool is_closing(uint32_t cp)
{
    static const uint32_t CLOSING[] = {0x3001, 0x3002, 0x300d, 0x300f, 0x3011, 0xff01,
                                       0xff09, 0xff0c, 0xff0e, 0xff1a, 0xff1b, 0xff1f};
    for (size_t i = 0; i < ARRAY_LEN(CLOSING); i++)
        if (CLOSING[i] == cp)
            return true;
    return false;
}

static size_t skip_spaces(const struct styled *t, size_t at, size_t end)
{
    while (at < end && t->text.p[at] == ' ')
        at++;
    return at;
}

bool styled_wrap(const struct styled *t, size_t *at, size_t end, size_t width,
                 struct styled_line *ret)
{
    size_t from = *at, used = 0;
    size_t fit_to = from, fit_next = from, fit_width = 0; /* the latest possible break */
    bool after_wide = false;
    assert(end <= t->text.n && width > 0);
    if (from >= end)
        return false;
    for (size_t i = from; i < end;) {
        uint32_t cp = ' ';
        size_t n = utf8_decode(str_make(t->text.p + i, end - i), &cp);
        size_t columns = (size_t)utf8_width(cp);
        n = n > 0 ? n : 1;
        if (cp == '\n') {
            *ret = (struct styled_line){from, i, used};
            *at = i + 1;
            return true;
        }
        bool is_wide = columns == 2;
        if (cp == ' ' && (i == from || t->text.p[i - 1] != ' ')) {
            fit_to = i, fit_width = used;
            fit_next = skip_spaces(t, i, end);
        } else if (i > from && cp != ' ' && (is_wide || after_wide) && columns > 0 &&
                   !is_closing(cp)) {
            fit_to = fit_next = i, fit_width = used;
        }
        if (used + columns > width && i > from) {
            bool has_fit = fit_to > from;
            *ret = (struct styled_line){from, has_fit ? fit_to : i, has_fit ? fit_width : used};
            *at = has_fit ? fit_next : i;
            return true;
        }
        after_wide = is_wide;
        used += columns;
        i += n;
    }
    *ret = (struct styled_line){from, end, used};
    *at = end;
    return true;
}

size_t styled_width(const struct styled *t, size_t from, size_t to)
{
    return text_width(str_slice(buf_str(&t->text), from, to));
}

void styled_emit(struct buf *out, bool has_color, const struct styled *t, size_t from, size_t to)
{
    assert(from <= to && to <= t->style.n);
    for (size_t i = from, next; i < to; i = next) {
        unsigned style = (unsigned char)t->style.p[i];
        for (next = i + 1; next < to && t->style.p[next] == t->style.p[i];)
            next++;
        style_add(out, has_color, style, str_make(t->text.p + i, next - i));
    }
}
