#include "runtime/history/escape.h"

#include <assert.h>

#include "base/bytes/word.h"
#include "base/utf8.h"

#define CUT_MARK     "\n[cut]"
#define CUT_MARK_1   " [cut]"
#define REPLACEMENT  0xfffd
#define APP_NAME_MAX 64

static const char *const NAMES[CONTAINER_COUNT] = {
    [CONTAINER_APP_DESCRIPTION] = "app-description",
    [CONTAINER_APP_STATE] = "app-state",
    [CONTAINER_APP_GUIDE] = "app-guide",
    [CONTAINER_APP_INSTRUCTIONS] = "app-instructions",
    [CONTAINER_APP_MESSAGE] = "app-message",
    [CONTAINER_APP_CONTEXT] = "app-context",
    [CONTAINER_SKILL] = "skill-instructions",
    [CONTAINER_WORKSPACE] = "workspace-info",
    [CONTAINER_RUNTIME] = "runtime-context",
    [CONTAINER_TRANSCRIPT] = "transcript",
    [CONTAINER_SUMMARY] = "conversation-summary",
    [CONTAINER_LAYER] = "prompt-layer",
    [CONTAINER_FILE] = "attached-file",
};

const char *container_name(enum container c)
{
    assert(c < CONTAINER_COUNT);
    return NAMES[c];
}

/* ---- characters ---- */

/* Removes one character from the front; an invalid byte becomes U+FFFD. */
static uint32_t take_char(str *s)
{
    uint32_t cp;
    size_t n = utf8_decode(*s, &cp);
    *s = str_skip(*s, n ? n : 1);
    return n ? cp : REPLACEMENT;
}

struct code_range {
    uint32_t first, last;
};

static bool in_ranges(uint32_t cp, const struct code_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cp >= ranges[i].first && cp <= ranges[i].last)
            return true;
    return false;
}

/* An invisible character, which can hide between the letters of a tag. */
static bool is_invisible(uint32_t cp)
{
    static const struct code_range RANGES[] = {
        {0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c}, {0x115f, 0x1160},   {0x17b4, 0x17b5},
        {0x180b, 0x180f}, {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},
        {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xe0000, 0xe0fff},
    };
    return cp >= 0xad && in_ranges(cp, RANGES, ARRAY_LEN(RANGES));
}

static bool is_blank_char(uint32_t cp)
{
    static const struct code_range RANGES[] = {
        {0x00, 0x20},     {0x7f, 0xa0},     {0x1680, 0x1680},
        {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
        {0x205f, 0x205f}, {0x3000, 0x3000}, {REPLACEMENT, REPLACEMENT},
    };
    return in_ranges(cp, RANGES, ARRAY_LEN(RANGES));
}

/* The lower-case ASCII character that looks like this one, or the character itself. */
static uint32_t looks_like(uint32_t cp)
{
    static const struct code_range HYPHENS[] = {
        {0x2010, 0x2015}, {0x2043, 0x2043}, {0x2212, 0x2212}, {0xfe58, 0xfe58}, {0xfe63, 0xfe63},
    };
    if (cp >= 0xff01 && cp <= 0xff5e) /* full-width forms mirror ASCII */
        cp -= 0xff01 - '!';
    else if (cp == 0xfe64 || cp == 0x2039)
        return '<';
    else if (cp == 0x2044 || cp == 0x2215)
        return '/';
    else if (in_ranges(cp, HYPHENS, ARRAY_LEN(HYPHENS)))
        return '-';
    return cp >= 'A' && cp <= 'Z' ? cp + ('a' - 'A') : cp;
}

static bool is_tag_char(uint32_t cp)
{
    return (cp >= 'a' && cp <= 'z') || (cp >= '0' && cp <= '9') || cp == '-' || cp == '_';
}

/* ---- tags ---- */

static bool starts_with_name(str s, const char *name)
{
    for (const char *n = name; *n;) {
        if (s.n == 0)
            return false;
        uint32_t cp = take_char(&s);
        if (is_invisible(cp))
            continue;
        if (looks_like(cp) != (uint32_t)(unsigned char)*n)
            return false;
        n++;
    }
    while (s.n > 0) {
        uint32_t next = take_char(&s);
        if (!is_invisible(next))
            return !is_tag_char(looks_like(next)); /* <app-statement> is not one of our tags */
    }
    return true;
}

/* s is the text after a '<'. */
static bool is_container_tag(str s)
{
    while (s.n > 0) {
        str before = s;
        uint32_t cp = take_char(&s);
        if (is_blank_char(cp) || is_invisible(cp) || looks_like(cp) == '/')
            continue;
        for (size_t i = 0; i < CONTAINER_COUNT; i++)
            if (starts_with_name(before, NAMES[i]))
                return true;
        return false;
    }
    return false;
}

static bool is_hidden_text(uint32_t cp)
{
    return cp >= 0xe0000 && cp <= 0xe007f;
}

/* Control characters other than the line's own layout; line separators; overrides. */
static bool breaks_line(uint32_t cp)
{
    static const struct code_range RANGES[] = {
        {0x00, 0x1f}, {0x7f, 0x9f}, {0x2028, 0x2029}, {0x202a, 0x202e}, {0x2066, 0x2069},
    };
    return in_ranges(cp, RANGES, ARRAY_LEN(RANGES));
}

static bool is_layout(uint32_t cp)
{
    return cp == '\t' || cp == '\n' || cp == '\r' || cp == 0x2028 || cp == 0x2029;
}

static void put_char(struct buf *out, uint32_t cp, str rest, bool one_line)
{
    if (is_hidden_text(cp))
        return;
    if (looks_like(cp) == '<' && is_container_tag(rest))
        buf_add_lit(out, "&lt;");
    else if (breaks_line(cp) && (one_line || !is_layout(cp)))
        buf_add_char(out, ' ');
    else
        utf8_encode(out, cp);
}

/* The bytes at the front of text that stay as they are, at most `max`: nearly all of it. */
static size_t plain_run(str text, size_t max, bool one_line)
{
    static const bool IN_LINE[256] = {[' ' ... '<' - 1] = true, ['<' + 1 ... '~'] = true};
    static const bool IN_BLOCK[256] = {
        ['\t' ... '\n'] = true, [' ' ... '<' - 1] = true, ['<' + 1 ... '~'] = true};
    const bool *is_plain = one_line ? IN_LINE : IN_BLOCK;
    size_t n = 0, end = text.n < max ? text.n : max;
    while (n < end) {
        uint64_t w = 0;
        size_t stop = end - n < sizeof w ? end : n + sizeof w;
        if (stop - n == sizeof w)
            memcpy(&w, text.p + n, sizeof w);
        if (!(word_unprintable(w) | word_equal(w, '<'))) {
            n = stop;
            continue;
        }
        while (n < stop && is_plain[(unsigned char)text.p[n]])
            n++;
        if (n < stop)
            break;
    }
    return n;
}

static void put_escaped(struct buf *out, str text, size_t max_bytes, bool one_line)
{
    size_t start = out->n;
    while (text.n > 0) {
        size_t before = out->n;
        size_t plain = plain_run(text, max_bytes - (before - start), one_line);
        if (plain > 0) {
            buf_add_str(out, str_slice(text, 0, plain));
            text = str_skip(text, plain);
            continue;
        }
        uint32_t cp = take_char(&text);
        put_char(out, cp, text, one_line);
        if (out->n - start > max_bytes) {
            buf_truncate(out, before);
            buf_add_lit(out, one_line ? CUT_MARK_1 : CUT_MARK);
            return;
        }
    }
}

static str escaped(struct arena *a, str text, size_t max_bytes, bool one_line)
{
    struct buf out;
    if (plain_run(text, max_bytes, one_line) == text.n) /* most text stays as it is */
        return arena_str(a, one_line ? str_trim(text) : text);
    buf_init(&out, max_bytes + 64);
    (void)buf_reserve(&out, text.n < max_bytes ? text.n : max_bytes);
    put_escaped(&out, text, max_bytes, one_line);
    str copy = arena_str(a, one_line ? str_trim(buf_str(&out)) : buf_str(&out));
    buf_done(&out);
    return copy;
}

str escape_block(struct arena *a, str text, size_t max_bytes)
{
    return escaped(a, text, max_bytes, false);
}

str escape_line(struct arena *a, str text, size_t max_bytes)
{
    return escaped(a, text, max_bytes, true);
}

static void put_contained(struct buf *out, enum container c, str text, size_t max_bytes)
{
    put_escaped(out, str_trim(text), max_bytes, false);
    buf_printf(out, "\n</%s>", container_name(c));
}

void escape_container(struct buf *out, enum container c, str text, size_t max_bytes)
{
    buf_printf(out, "<%s>\n", container_name(c));
    put_contained(out, c, text, max_bytes);
}

/* A name of a source has no other characters, but the name may come from a foreign log. */
static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

void escape_container_of(struct buf *out, enum container c, str app, str text, size_t max_bytes)
{
    buf_printf(out, "<%s app=\"", container_name(c));
    for (size_t i = 0; i < app.n && i < APP_NAME_MAX; i++)
        buf_add_char(out, is_name_char(app.p[i]) ? app.p[i] : '_');
    buf_add_lit(out, "\">\n");
    put_contained(out, c, text, max_bytes);
}
