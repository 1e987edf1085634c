#include "cli/panel/picker.h"

#include <assert.h>

#include "base/utf8.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

#define LABEL_BYTES 400
#define GAP         2
#define ESCAPE      '\x1b'

void picker_init(struct picker *p, const char *title)
{
    *p = (struct picker){.title = title};
    arena_init(&p->arena);
    buf_init(&p->query, PICKER_QUERY_MAX);
    p->matches = arena_array(&p->arena, PICKER_ITEMS_MAX, sizeof *p->matches);
}

void picker_done(struct picker *p)
{
    buf_done(&p->query);
    arena_done(&p->arena);
}

static str label_of(struct picker *p, str foreign)
{
    struct buf b;
    buf_init(&b, 4 * LABEL_BYTES);
    text_add_line(&b, utf8_truncate(foreign, LABEL_BYTES));
    return buf_keep(&b, &p->arena);
}

static bool has_all_words(const struct picker_item *item, str words)
{
    str word;
    while (str_split(&words, ' ', &word))
        if (str_find_nocase(item->label, word) < 0 && str_find_nocase(item->detail, word) < 0 &&
            str_find_nocase(item->value, word) < 0)
            return false;
    return true;
}

static void search(struct picker *p)
{
    p->nmatches = p->at = 0;
    for (size_t i = 0; i < p->n; i++)
        if (has_all_words(&p->items[i], buf_str(&p->query)))
            p->matches[p->nmatches++] = i;
}

void picker_add(struct picker *p, str value, str label, str detail)
{
    if (p->n == PICKER_ITEMS_MAX)
        return;
    ARENA_GROW(&p->arena, p->items, p->n, p->cap);
    p->items[p->n] =
        (struct picker_item){arena_str(&p->arena, value), label_of(p, label), label_of(p, detail)};
    p->matches[p->nmatches++] = p->n++;
    assert(p->query.n == 0);
}

str picker_value(const struct picker *p)
{
    return p->nmatches > 0 ? p->items[p->matches[p->at]].value : STR_NONE;
}

/* ---- keys ---- */

static void move(struct picker *p, bool is_down)
{
    if (is_down && p->at + 1 < p->nmatches)
        p->at++;
    else if (!is_down && p->at > 0)
        p->at--;
}

/* The length of an escape sequence; a lone escape has one byte. */
static size_t sequence_length(str s)
{
    size_t n = 2;
    if (s.n < 2 || (s.p[1] != '[' && s.p[1] != 'O'))
        return 1;
    while (n < s.n && (s.p[n] < '@' || s.p[n] > '~'))
        n++;
    return n < s.n ? n + 1 : n;
}

static void drop_last_char(struct picker *p)
{
    size_t n = p->query.n;
    while (n > 0 && ((unsigned char)p->query.p[--n] & 0xc0) == 0x80)
        continue;
    buf_truncate(&p->query, n);
    search(p);
}

/* One character of a search, or nothing; returns its bytes. */
static size_t type(struct picker *p, str bytes)
{
    uint32_t cp;
    size_t n = utf8_decode(bytes, &cp);
    if (n == 0)
        return 1;
    if (cp >= 0x20 && cp != 0x7f && !(cp >= 0x80 && cp < 0xa0) &&
        p->query.n + n <= PICKER_QUERY_MAX) {
        buf_add(&p->query, bytes.p, n);
        search(p);
    }
    return n;
}

enum picker_state picker_keys(struct picker *p, str bytes)
{
    size_t n;
    for (; bytes.n > 0; bytes = str_skip(bytes, n)) {
        char c = bytes.p[0];
        n = c == ESCAPE ? sequence_length(bytes) : 1;
        if (c == '\x03' || c == '\x04' || (c == ESCAPE && n == 1))
            return PICKER_LEFT;
        if (c == '\r' || c == '\n')
            return p->nmatches > 0 ? PICKER_CHOSEN : PICKER_OPEN;
        if (c == ESCAPE && (bytes.p[n - 1] == 'A' || bytes.p[n - 1] == 'B'))
            move(p, bytes.p[n - 1] == 'B');
        else if (c == '\x10' || c == '\x0e')
            move(p, c == '\x0e');
        else if (c == '\x7f' || c == '\b')
            drop_last_char(p);
        else if (c == '\x15')
            buf_clear(&p->query), search(p);
        else if (c != ESCAPE)
            n = type(p, bytes);
    }
    return PICKER_OPEN;
}

/* ---- drawing ---- */

static void draw_item(const struct picker_item *item, bool is_current, size_t width, bool has_color,
                      struct buf *out)
{
    struct buf label;
    size_t detail = text_width(item->detail), room = width - 2;
    bool has_detail = detail > 0 && room > detail + GAP + 12;
    buf_init(&label, 8 * LABEL_BYTES);
    text_clip(&label, item->label, has_detail ? room - detail - GAP : room);
    buf_add_char(out, '\n');
    style_add(out, has_color, STYLE_BOLD | STYLE_CYAN, is_current ? STR("❯ ") : STR("  "));
    style_add(out, has_color, is_current ? STYLE_BOLD : 0, buf_str(&label));
    if (has_detail) {
        buf_printf(out, "%*s", (int)(room - detail - text_width(buf_str(&label))), "");
        style_add(out, has_color, STYLE_DIM, item->detail);
    }
    buf_done(&label);
}

void picker_draw(const struct picker *p, size_t width, bool has_color, struct buf *out,
                 size_t *ret_col)
{
    size_t first = p->at < PICKER_LINES ? 0 : p->at - PICKER_LINES + 1;
    struct buf line;
    buf_init(&line, 4 * PICKER_QUERY_MAX + 256);
    buf_printf(&line, "%s: ", p->title);
    text_add_line(&line, buf_str(&p->query));
    *ret_col = text_width(buf_str(&line));
    *ret_col = *ret_col < width ? *ret_col : width;
    text_clip(out, buf_str(&line), width);
    for (size_t i = first; i < p->nmatches && i < first + PICKER_LINES; i++)
        draw_item(&p->items[p->matches[i]], i == p->at, width, has_color, out);
    buf_clear(&line);
    buf_printf(&line, "%zu of %zu · Enter chooses, Esc leaves", p->nmatches, p->n);
    buf_add_lit(out, "\n  ");
    struct buf clipped;
    buf_init(&clipped, 1024);
    text_clip(&clipped, buf_str(&line), width - 2);
    style_add(out, has_color, STYLE_DIM, buf_str(&clipped));
    buf_done(&clipped);
    buf_done(&line);
}
