/* The text of the editor, its input bytes and its drawing; editor_keys.c has the keys. */
#include "cli/screen/editor.h"

#include <assert.h>

#include "base/utf8.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

#define PROMPT         "❯ "
#define PROMPT_COLUMNS 2
#define HINT_MAX       4096
#define HINT_ROWS      8
#define PASTE_BEGIN    "\x1b[200~"
#define PASTE_END      "\x1b[201~"

void editor_init(struct editor *e, struct history *h, const char *const *words)
{
    *e = (struct editor){.history = h, .browse = h->len, .words = words};
    buf_init(&e->text, EDITOR_TEXT_MAX);
    buf_init(&e->draft, EDITOR_TEXT_MAX);
    buf_init(&e->killed, EDITOR_TEXT_MAX);
    buf_init(&e->query, HINT_MAX);
    buf_init(&e->hint, HINT_MAX);
}

void editor_done(struct editor *e)
{
    buf_done(&e->text);
    buf_done(&e->draft);
    buf_done(&e->killed);
    buf_done(&e->query);
    buf_done(&e->hint);
}

void editor_clear(struct editor *e)
{
    buf_clear(&e->text);
    buf_clear(&e->draft);
    buf_clear(&e->hint);
    e->cursor = 0;
    e->browse = e->history->len;
    e->is_searching = false;
}

void editor_hint(struct editor *e, str text)
{
    buf_clear(&e->hint);
    buf_add_str(&e->hint, text);
}

/* ---- text ---- */

static bool is_char_allowed(uint32_t cp)
{
    return cp == '\n' || cp == '\t' || (cp >= 0x20 && cp != 0x7f && !(cp >= 0x80 && cp < 0xa0));
}

/* Makes room for n bytes at the cursor. */
static bool open_gap(struct editor *e, size_t n)
{
    assert(e->cursor <= e->text.n);
    if (e->text.n + n > EDITOR_TEXT_MAX)
        return false;
    (void)buf_reserve(&e->text, n);
    memmove(e->text.p + e->cursor + n, e->text.p + e->cursor, e->text.n - e->cursor);
    e->text.n += n;
    e->text.p[e->text.n] = '\0';
    return true;
}

void editor_insert(struct editor *e, str text)
{
    for (size_t i = 0, n; i < text.n; i += n) {
        uint32_t cp;
        n = utf8_decode(str_skip(text, i), &cp);
        if (n == 0 || !is_char_allowed(cp)) {
            n = n > 0 ? n : 1;
            continue;
        }
        if (!open_gap(e, n))
            return;
        memcpy(e->text.p + e->cursor, text.p + i, n);
        e->cursor += n;
    }
}

void editor_set(struct editor *e, str text)
{
    buf_clear(&e->text);
    e->cursor = 0;
    editor_insert(e, text);
}

/* ---- bytes ---- */

static void run_key(struct editor *e, str key)
{
    buf_clear(&e->hint);
    if (e->is_searching && editor_search_key(e, key))
        return;
    e->is_searching = false;
    e->was_kill = e->is_kill;
    e->is_kill = false;
    if (e->is_prefixed) {
        e->is_prefixed = false;
        if (str_eq(key, STR("\x05")))
            e->event = EDITOR_EXTERNAL;
        return;
    }
    editor_press(e, key);
}

static void type_char(struct editor *e, str c)
{
    assert(!e->is_pasting);
    if (e->is_searching) {
        editor_search_type(e, c);
        return;
    }
    buf_clear(&e->hint);
    e->is_kill = e->is_prefixed = false;
    editor_insert(e, c);
}

/* Terminals send pasted line ends as CR; CR LF is one of them, not two. */
static void paste_char(struct editor *e, str c)
{
    bool is_return = str_eq(c, STR("\r"));
    assert(e->is_pasting);
    if (!(str_eq(c, STR("\n")) && e->was_return))
        editor_insert(e, is_return ? STR("\n") : c);
    e->was_return = is_return;
}

static size_t utf8_length(unsigned char lead)
{
    return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
}

/* Whether the sequence that begins with an escape ends with this byte, its nseq-th. */
static bool is_last(const struct editor *e, unsigned char byte)
{
    if (e->nseq == 1)
        return false;
    if (e->seq[1] == '[')
        return e->nseq > 2 && byte >= 0x40 && byte <= 0x7e;
    return e->seq[1] != 'O' || e->nseq == 3;
}

static void finish_escape(struct editor *e)
{
    assert(e->nseq > 1 && e->seq[0] == '\x1b');
    str key = str_make(e->seq, e->nseq < sizeof e->seq ? e->nseq : 0); /* too long: unknown */
    e->nseq = 0;
    if (str_eq(key, STR(PASTE_BEGIN)))
        e->is_pasting = true;
    else if (str_eq(key, STR(PASTE_END)))
        e->is_pasting = false;
    else if (!e->is_pasting)
        run_key(e, key);
}

static void feed_sequence(struct editor *e, unsigned char byte)
{
    bool is_escape = e->nseq > 0 ? e->seq[0] == '\x1b' : byte == 0x1b;
    if (is_escape && e->nseq == 1 && byte == 0x1b)
        return;
    /* incomplete: the byte starts a new key */
    if (!is_escape && e->nseq > 0 && (byte & 0xc0) != 0x80) {
        e->nseq = 0;
        is_escape = byte == 0x1b;
    }
    if (e->nseq < sizeof e->seq)
        e->seq[e->nseq++] = (char)byte;
    if (is_escape) {
        if (is_last(e, byte))
            finish_escape(e);
        return;
    }
    if (e->nseq < utf8_length((unsigned char)e->seq[0]))
        return;
    str c = str_make(e->seq, e->nseq);
    e->nseq = 0;
    if (e->is_pasting)
        paste_char(e, c);
    else if (c.n == 1 && ((unsigned char)c.p[0] < 0x20 || c.p[0] == 0x7f))
        run_key(e, c);
    else
        type_char(e, c);
}

/* What every key must keep. */
static void check_editor(const struct editor *e)
{
    assert(e->cursor <= e->text.n);
    assert(e->cursor == e->text.n ||
           (e->text.p[e->cursor] & 0xc0) != 0x80); /* between characters */
    assert(e->browse <= e->history->len);
    assert(e->nseq <= sizeof e->seq);
}

size_t editor_feed(struct editor *e, str bytes, enum editor_event *ret_event)
{
    size_t i = 0;
    e->event = EDITOR_NOTHING;
    while (i < bytes.n && e->event == EDITOR_NOTHING)
        feed_sequence(e, (unsigned char)bytes.p[i++]);
    check_editor(e);
    *ret_event = e->event;
    return i;
}

void editor_idle(struct editor *e)
{
    if (!editor_is_waiting(e))
        return;
    e->nseq = 0;
    run_key(e, STR("\x1b"));
}

/* ---- drawing ---- */

struct drawing {
    struct buf *out;
    size_t width, row, col;
};

static void new_row(struct drawing *d)
{
    buf_printf(d->out, "\n%*s", PROMPT_COLUMNS, "");
    d->row++;
    d->col = PROMPT_COLUMNS;
}

static void draw_char(struct drawing *d, str c)
{
    size_t start = d->out->n;
    if (str_eq(c, STR("\n"))) {
        new_row(d);
        return;
    }
    text_add(d->out, c);
    size_t columns = text_width(str_skip(buf_str(d->out), start));
    if (d->col + columns > d->width) {
        buf_truncate(d->out, start);
        new_row(d);
        text_add(d->out, c);
    }
    d->col += columns;
}

/* The columns of the words from `at` up to the next double space, which separates candidates. */
static size_t candidate_end(str text, size_t at)
{
    ptrdiff_t end = str_find(text, STR("  "), at);
    return end < 0 ? text.n : (size_t)end;
}

/* Candidates stay whole, in at most HINT_ROWS rows. */
static void draw_candidates(struct drawing *d, str text, bool has_color)
{
    struct buf row;
    size_t at = 0, width = d->width - PROMPT_COLUMNS;
    buf_init(&row, HINT_MAX * 4);
    for (size_t rows = 0; at < text.n && rows < HINT_ROWS; rows++) {
        buf_clear(&row);
        while (at < text.n) {
            size_t end = candidate_end(text, at);
            str one = str_make(text.p + at, end - at);
            size_t used = text_width(buf_str(&row));
            if (used > 0 && used + 2 + text_width(one) > width)
                break;
            buf_add_lit(&row, used > 0 ? "  " : "");
            text_clip(&row, one, used > 0 ? width - used - 2 : width);
            at = end + 2 < text.n ? end + 2 : text.n;
        }
        if (rows + 1 == HINT_ROWS && at < text.n && text_width(buf_str(&row)) + 2 <= width)
            buf_add_lit(&row, " …");
        buf_printf(d->out, "\n%*s", PROMPT_COLUMNS, "");
        style_add(d->out, has_color, STYLE_DIM, buf_str(&row));
    }
    buf_done(&row);
}

static void draw_search(const struct editor *e, struct drawing *d, bool has_color)
{
    struct buf line, clipped;
    buf_init(&line, HINT_MAX * 4);
    buf_init(&clipped, HINT_MAX * 4);
    buf_add_lit(&line, "search: ");
    text_add_line(&line, buf_str(&e->query));
    text_clip(&clipped, buf_str(&line), d->width - PROMPT_COLUMNS);
    buf_printf(d->out, "\n%*s", PROMPT_COLUMNS, "");
    style_add(d->out, has_color, STYLE_DIM, buf_str(&clipped));
    buf_done(&clipped);
    buf_done(&line);
}

static void draw_hint(const struct editor *e, struct drawing *d, bool has_color)
{
    struct buf safe;
    if (e->is_searching) {
        draw_search(e, d, has_color);
        return;
    }
    buf_init(&safe, HINT_MAX * 4);
    text_add(&safe, buf_str(&e->hint));
    draw_candidates(d, str_trim(buf_str(&safe)), has_color);
    buf_done(&safe);
}

void editor_draw(const struct editor *e, size_t width, bool has_color, struct buf *out,
                 size_t *ret_row, size_t *ret_col)
{
    struct drawing d = {.out = out, .width = width > 8 ? width : 8, .col = PROMPT_COLUMNS};
    style_add(out, has_color, STYLE_BOLD | STYLE_CYAN, STR(PROMPT));
    *ret_row = 0, *ret_col = d.col;
    for (size_t i = 0, n; i < e->text.n; i += n) {
        uint32_t cp;
        if (i == e->cursor)
            *ret_row = d.row, *ret_col = d.col;
        n = utf8_decode(str_make(e->text.p + i, e->text.n - i), &cp);
        n = n > 0 ? n : 1;
        draw_char(&d, str_make(e->text.p + i, n));
    }
    if (e->cursor >= e->text.n)
        *ret_row = d.row, *ret_col = d.col;
    draw_hint(e, &d, has_color);
}
