/* The editor's keys: one table of motions and small functions. */
#include <assert.h>

#include "base/utf8.h"
#include "cli/screen/editor.h"
#include "cli/term/text.h"

/* ---- positions in the text ---- */

static uint32_t char_at(const struct editor *e, size_t at)
{
    uint32_t cp = 0;
    (void)utf8_decode(str_make(e->text.p + at, e->text.n - at), &cp);
    return cp;
}

static bool is_mark(const struct editor *e, size_t at) /* belongs to the previous character */
{
    uint32_t cp = at < e->text.n ? char_at(e, at) : ' ';
    return cp >= 0x80 && utf8_width(cp) == 0;
}

static size_t before(const struct editor *e, size_t at)
{
    assert(at <= e->text.n);
    while (at > 0) {
        at--;
        if (((unsigned char)e->text.p[at] & 0xc0) != 0x80 && !is_mark(e, at))
            break;
    }
    return at;
}

static size_t after(const struct editor *e, size_t at)
{
    assert(at <= e->text.n);
    if (at < e->text.n)
        at++;
    while (at < e->text.n && (((unsigned char)e->text.p[at] & 0xc0) == 0x80 || is_mark(e, at)))
        at++;
    return at;
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static size_t word_left(const struct editor *e, size_t at)
{
    while (at > 0 && !is_word_char(e->text.p[at - 1]))
        at--;
    while (at > 0 && is_word_char(e->text.p[at - 1]))
        at--;
    return at;
}

static size_t word_right(const struct editor *e, size_t at)
{
    while (at < e->text.n && !is_word_char(e->text.p[at]))
        at++;
    while (at < e->text.n && is_word_char(e->text.p[at]))
        at++;
    return at;
}

static size_t line_start(const struct editor *e, size_t at)
{
    while (at > 0 && e->text.p[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const struct editor *e, size_t at)
{
    while (at < e->text.n && e->text.p[at] != '\n')
        at++;
    return at;
}

static size_t blank_left(const struct editor *e, size_t at) /* up to white space */
{
    while (at > 0 && strchr(" \t\n", e->text.p[at - 1]))
        at--;
    while (at > 0 && !strchr(" \t\n", e->text.p[at - 1]))
        at--;
    return at;
}

/* At the end of a line: its line feed. */
static size_t line_rest(const struct editor *e, size_t at)
{
    size_t end = line_end(e, at);
    return end == at && end < e->text.n ? end + 1 : end;
}

/* The position in the line from..to that is closest to `columns`. */
static size_t at_column(const struct editor *e, size_t from, size_t to, size_t columns)
{
    size_t at = from;
    while (at < to && text_width(str_make(e->text.p + from, at - from)) < columns)
        at = after(e, at);
    return at;
}

static size_t column(const struct editor *e)
{
    size_t from = line_start(e, e->cursor);
    return text_width(str_make(e->text.p + from, e->cursor - from));
}

/* ---- history ---- */

static void show_entry(struct editor *e, size_t entry)
{
    struct history *h = e->history;
    assert(entry <= h->len);
    if (e->browse >= h->len) {
        buf_clear(&e->draft);
        buf_add_str(&e->draft, buf_str(&e->text));
    }
    e->browse = entry;
    editor_set(e, entry < h->len ? str_from(h->entries[entry]) : buf_str(&e->draft));
}

static void history_older(struct editor *e)
{
    if (e->browse > 0 && e->history->len > 0)
        show_entry(e, e->browse - 1);
}

static void history_newer(struct editor *e)
{
    if (e->browse < e->history->len)
        show_entry(e, e->browse + 1);
}

static void go_up(struct editor *e)
{
    size_t start = line_start(e, e->cursor), columns = column(e);
    if (start == 0) {
        history_older(e);
        return;
    }
    e->cursor = start - 1;
    e->cursor = at_column(e, line_start(e, e->cursor), e->cursor, columns);
}

static void go_down(struct editor *e)
{
    size_t end = line_end(e, e->cursor), columns = column(e);
    if (end == e->text.n) {
        history_newer(e);
        return;
    }
    e->cursor = end + 1;
    e->cursor = at_column(e, e->cursor, line_end(e, e->cursor), columns);
}

/* ---- searching backwards ---- */

static void search_from(struct editor *e, size_t before_entry)
{
    ptrdiff_t found = history_search(e->history, buf_str(&e->query), before_entry);
    if (found < 0)
        return;
    show_entry(e, (size_t)found);
    ptrdiff_t at = str_find(buf_str(&e->text), buf_str(&e->query), 0);
    e->cursor = at < 0 ? e->text.n : (size_t)at;
}

/* Search from the newest entry, wherever browsing was. */
static void search_begin(struct editor *e)
{
    assert(!e->is_searching);
    buf_clear(&e->draft);
    buf_add_str(&e->draft, buf_str(&e->text));
    e->browse = e->history->len;
    e->is_searching = true;
    buf_clear(&e->query);
}

void editor_search_type(struct editor *e, str text)
{
    assert(e->is_searching);
    buf_add_str(&e->query, text);
    search_from(e, e->browse < e->history->len ? e->browse + 1 : e->history->len);
}

bool editor_search_key(struct editor *e, str key)
{
    assert(e->is_searching);
    if (str_eq(key, STR("\x12"))) {
        search_from(e, e->browse);
    } else if (str_eq(key, STR("\x7f")) || str_eq(key, STR("\x08"))) {
        size_t n = e->query.n;
        while (n > 0 && ((unsigned char)e->query.p[--n] & 0xc0) == 0x80)
            continue;
        buf_truncate(&e->query, n);
        search_from(e, e->history->len);
    } else if (str_eq(key, STR("\x07")) || str_eq(key, STR("\x03"))) {
        e->is_searching = false;
        show_entry(e, e->history->len);
    } else {
        return false;
    }
    return true;
}

/* ---- changing ---- */

static void erase(struct editor *e, size_t from, size_t to)
{
    assert(from <= to && to <= e->text.n);
    memmove(e->text.p + from, e->text.p + to, e->text.n - to);
    buf_truncate(&e->text, e->text.n - (to - from));
    e->cursor = from;
}

static void kill_range(struct editor *e, size_t from, size_t to, bool is_backward)
{
    if (from >= to)
        return;
    struct buf all;
    str cut = str_make(e->text.p + from, to - from);
    buf_init(&all, EDITOR_TEXT_MAX);
    if (e->was_kill && !is_backward)
        buf_add_str(&all, buf_str(&e->killed));
    buf_add_str(&all, cut);
    if (e->was_kill && is_backward)
        buf_add_str(&all, buf_str(&e->killed));
    buf_done(&e->killed);
    e->killed = all;
    e->is_kill = true;
    erase(e, from, to);
}

static void yank(struct editor *e)
{
    editor_insert(e, buf_str(&e->killed));
}

static void erase_right_or_end(struct editor *e)
{
    if (e->text.n == 0)
        e->event = EDITOR_END;
    else
        erase(e, e->cursor, after(e, e->cursor));
}

static void new_line(struct editor *e)
{
    editor_insert(e, STR("\n"));
}

/* A backslash at the very end continues the text on the next line. */
static void editor_enter(struct editor *e)
{
    size_t slashes = 0;
    while (slashes < e->text.n && e->text.p[e->text.n - 1 - slashes] == '\\')
        slashes++;
    if (e->cursor == e->text.n && slashes % 2 == 1) {
        erase(e, before(e, e->cursor), e->cursor);
        new_line(e);
        return;
    }
    e->event = EDITOR_SUBMIT;
}

static void interrupt(struct editor *e)
{
    if (e->text.n == 0)
        e->event = EDITOR_INTERRUPT;
    editor_clear(e);
}

/* ---- completion ---- */

static size_t common_prefix(const char *a, const char *b, size_t n)
{
    size_t i = 0;
    while (i < n && a[i] && a[i] == b[i])
        i++;
    return i;
}

/* Where the "@" of the word before the cursor is; the cursor if there is none. Spaces that a
 * backslash protects belong to the word. */
static size_t mention_start(const struct editor *e)
{
    size_t at = e->cursor;
    while (at > 0) {
        bool is_space = strchr(" \t\n", e->text.p[at - 1]) != NULL;
        bool is_escaped = at > 1 && e->text.p[at - 2] == '\\';
        if (is_space && !is_escaped)
            break;
        at--;
    }
    return at < e->cursor && e->text.p[at] == '@' ? at : e->cursor;
}

static void complete_mention(struct editor *e, size_t from)
{
    struct buf common, all;
    buf_init(&common, EDITOR_TEXT_MAX);
    buf_init(&all, EDITOR_TEXT_MAX);
    str typed = str_make(e->text.p + from + 1, e->cursor - from - 1);
    bool is_one = e->complete_path(e->complete_ctx, typed, &common, &all);
    if (common.n > 0) {
        erase(e, from + 1, e->cursor);
        editor_insert(e, buf_str(&common));
    }
    if (!is_one && all.n > 0)
        editor_hint(e, buf_str(&all));
    buf_done(&common);
    buf_done(&all);
}

void editor_mention(struct editor *e, str name)
{
    size_t from = mention_start(e);
    if (from < e->cursor)
        erase(e, from + 1, e->cursor);
    editor_insert(e, name);
    editor_insert(e, STR(" "));
}

static void prefix(struct editor *e)
{
    e->is_prefixed = true;
}

static void complete(struct editor *e)
{
    str text = buf_str(&e->text);
    const char *first = NULL;
    size_t count = 0, same = 0;
    size_t mention = mention_start(e);
    if (e->can_choose &&
        str_starts(str_make(text.p + mention, e->cursor - mention), STR("@conv"))) {
        e->event = EDITOR_CHOOSE;
        return;
    }
    if (mention < e->cursor && e->complete_path) {
        complete_mention(e, mention);
        return;
    }
    if (!str_starts(text, STR("/")) || e->cursor != text.n || !e->words)
        return;
    for (const char *const *w = e->words; *w; w++) {
        if (!str_starts(str_from(*w), text))
            continue;
        same = first ? common_prefix(first, *w, same) : strlen(*w);
        first = first ? first : *w;
        buf_printf(&e->hint, "%s  ", *w);
        count++;
    }
    if (!first)
        return;
    editor_set(e, str_make(first, same));
    if (count == 1) {
        editor_insert(e, STR(" "));
        buf_clear(&e->hint);
    }
}

/* ---- the keys ---- */

enum key_use { KEY_GO, KEY_ERASE, KEY_KILL, KEY_EVENT, KEY_OP };

static const struct {
    str key;
    enum key_use use;
    size_t (*to)(const struct editor *e, size_t at); /* what to go to, or to erase or kill up to */
    enum editor_event event;
    void (*op)(struct editor *e);
} KEYS[] = {
    {STR_INIT("\x01"), KEY_GO, line_start},
    {STR_INIT("\x02"), KEY_GO, before},
    {STR_INIT("\x03"), KEY_OP, .op = interrupt},
    {STR_INIT("\x04"), KEY_OP, .op = erase_right_or_end},
    {STR_INIT("\x05"), KEY_GO, line_end},
    {STR_INIT("\x06"), KEY_GO, after},
    {STR_INIT("\x08"), KEY_ERASE, before},
    {STR_INIT("\t"), KEY_OP, .op = complete},
    {STR_INIT("\n"), KEY_OP, .op = editor_enter},
    {STR_INIT("\x0b"), KEY_KILL, line_rest},
    {STR_INIT("\x0c"), KEY_EVENT, .event = EDITOR_REFRESH},
    {STR_INIT("\x0f"), KEY_EVENT, .event = EDITOR_UNFOLD},
    {STR_INIT("\r"), KEY_OP, .op = editor_enter},
    {STR_INIT("\x0e"), KEY_OP, .op = history_newer},
    {STR_INIT("\x10"), KEY_OP, .op = history_older},
    {STR_INIT("\x12"), KEY_OP, .op = search_begin},
    {STR_INIT("\x15"), KEY_KILL, line_start},
    {STR_INIT("\x17"), KEY_KILL, blank_left},
    {STR_INIT("\x18"), KEY_OP, .op = prefix},
    {STR_INIT("\x19"), KEY_OP, .op = yank},
    {STR_INIT("\x1a"), KEY_EVENT, .event = EDITOR_SUSPEND},
    {STR_INIT("\x7f"), KEY_ERASE, before},
    {STR_INIT("\x1b\r"), KEY_OP, .op = new_line},
    {STR_INIT("\x1b\n"), KEY_OP, .op = new_line},
    {STR_INIT("\x1b[13;2u"), KEY_OP, .op = new_line}, /* Shift-Enter, on terminals that report it */
    {STR_INIT("\x1b\x62"), KEY_GO, word_left},
    {STR_INIT("\x1b\x66"), KEY_GO, word_right},
    {STR_INIT("\x1b\x64"), KEY_KILL, word_right},
    {STR_INIT("\x1b\x7f"), KEY_KILL, word_left},
    {STR_INIT("\x1b[A"), KEY_OP, .op = go_up},
    {STR_INIT("\x1b[B"), KEY_OP, .op = go_down},
    {STR_INIT("\x1b[C"), KEY_GO, after},
    {STR_INIT("\x1b[D"), KEY_GO, before},
    {STR_INIT("\x1bOA"), KEY_OP, .op = go_up},
    {STR_INIT("\x1bOB"), KEY_OP, .op = go_down},
    {STR_INIT("\x1bOC"), KEY_GO, after},
    {STR_INIT("\x1bOD"), KEY_GO, before},
    {STR_INIT("\x1b[1;5C"), KEY_GO, word_right},
    {STR_INIT("\x1b[1;5D"), KEY_GO, word_left},
    {STR_INIT("\x1b[1;3C"), KEY_GO, word_right},
    {STR_INIT("\x1b[1;3D"), KEY_GO, word_left},
    {STR_INIT("\x1b[H"), KEY_GO, line_start},
    {STR_INIT("\x1b[F"), KEY_GO, line_end},
    {STR_INIT("\x1bOH"), KEY_GO, line_start},
    {STR_INIT("\x1bOF"), KEY_GO, line_end},
    {STR_INIT("\x1b[1~"), KEY_GO, line_start},
    {STR_INIT("\x1b[4~"), KEY_GO, line_end},
    {STR_INIT("\x1b[7~"), KEY_GO, line_start},
    {STR_INIT("\x1b[8~"), KEY_GO, line_end},
    {STR_INIT("\x1b[3~"), KEY_ERASE, after},
};

void editor_press(struct editor *e, str key)
{
    size_t i = 0;
    while (i < ARRAY_LEN(KEYS) && !str_eq(KEYS[i].key, key))
        i++;
    if (i == ARRAY_LEN(KEYS))
        return;
    size_t at = e->cursor, to = KEYS[i].to ? KEYS[i].to(e, at) : at;
    size_t from = to < at ? to : at, end = to < at ? at : to;
    if (KEYS[i].use == KEY_GO)
        e->cursor = to;
    else if (KEYS[i].use == KEY_ERASE)
        erase(e, from, end);
    else if (KEYS[i].use == KEY_KILL)
        kill_range(e, from, end, to < at);
    else if (KEYS[i].use == KEY_EVENT)
        e->event = KEYS[i].event;
    else
        KEYS[i].op(e);
}
