#include "base/text/plain.h"

#include "base/bytes/word.h"
#include "base/utf8.h"

#define REPLACEMENT 0xfffdu

struct range {
    uint32_t first, last;
};

/* Sorted. U+2028 and U+2029 end lines; the others from U+061C on are bidirectional marks, and
 * tag characters. */
static const struct range HIDDEN[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c},   {0x200e, 0x200f},
    {0x2028, 0x202e}, {0x2066, 0x2069}, {0xe0000, 0xe007f},
};

bool plain_is_hidden(uint32_t cp)
{
    for (size_t i = 0; i < ARRAY_LEN(HIDDEN) && cp >= HIDDEN[i].first; i++)
        if (cp <= HIDDEN[i].last)
            return true;
    return false;
}

/* The character at s.p; a byte that is not part of one is U+FFFD with *ret_whole false. */
static size_t plain_take_char(str s, uint32_t *ret_cp, bool *ret_whole)
{
    size_t n = utf8_decode(s, ret_cp);
    *ret_whole = n > 0;
    if (n > 0)
        return n;
    *ret_cp = REPLACEMENT;
    return 1;
}

static bool is_layout(str s, size_t i)
{
    return s.p[i] == '\n' || s.p[i] == '\t' ||
           (s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] == '\n');
}

/* How many bytes at `from` need no decoding: printable ASCII. */
static size_t ascii_run(str s, size_t from)
{
    size_t i = from;
    for (uint64_t w; s.n - i >= sizeof(w); i += sizeof(w)) {
        memcpy(&w, s.p + i, sizeof(w));
        if (word_unprintable(w))
            break;
    }
    while (i < s.n && s.p[i] >= 0x20 && s.p[i] < 0x7f)
        i++;
    return i - from;
}

/* How much of s, from its beginning, is plain. */
static size_t plain_prefix(str s, bool with_layout)
{
    size_t i = 0;
    while (true) {
        uint32_t cp;
        bool is_whole;
        i += ascii_run(s, i);
        if (i >= s.n)
            return s.n;
        size_t n = plain_take_char(str_skip(s, i), &cp, &is_whole);
        if (!is_whole || (plain_is_hidden(cp) && !(with_layout && is_layout(s, i))))
            return i;
        i += n;
    }
}

bool plain_is_text(str s)
{
    return plain_prefix(s, true) == s.n;
}

bool plain_is_line(str s)
{
    return plain_prefix(s, false) == s.n;
}

void plain_add(struct buf *out, str s)
{
    while (s.n > 0 && !buf_failed(out)) {
        uint32_t cp;
        bool is_whole;
        size_t good = plain_prefix(s, true);
        buf_add(out, s.p, good);
        s = str_skip(s, good);
        if (s.n == 0)
            return;
        s = str_skip(s, plain_take_char(s, &cp, &is_whole));
        if (!is_whole)
            (void)utf8_encode(out, REPLACEMENT);
    }
}

/* No text becomes longer than three times its bytes: U+FFFD for a broken one. */
static void room_for(struct buf *b, str s, size_t factor)
{
    buf_init(b, s.n * factor + 1);
}

static str into_arena(struct arena *a, struct buf *b)
{
    return buf_keep(b, a);
}

str plain_text(struct arena *a, str s)
{
    struct buf b;
    if (plain_is_text(s))
        return s;
    room_for(&b, s, 3);
    plain_add(&b, s);
    return into_arena(a, &b);
}

str plain_line(struct arena *a, str s)
{
    struct buf b;
    bool is_gap = false;
    room_for(&b, s, 3);
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        bool is_whole;
        i += plain_take_char(str_skip(s, i), &cp, &is_whole);
        if (cp == ' ' || plain_is_hidden(cp)) {
            is_gap = b.n > 0;
            continue;
        }
        if (is_gap)
            buf_add_char(&b, ' ');
        is_gap = false;
        (void)utf8_encode(&b, cp);
    }
    return into_arena(a, &b);
}

/* ---- JSON ---- */

/* Bytes that can begin a hidden character. Most text has none of them but 0xe2 (dashes,
 * quotation marks), which is then decoded. */
static bool may_begin_hidden(char c)
{
    unsigned char b = (unsigned char)c;
    return b == 0x7f || b == 0xc2 || b == 0xd8 || b == 0xe2 || b == 0xf3;
}

/* How much of the text, from its beginning, can stay as it is. */
static size_t clean_prefix(str json)
{
    for (size_t i = 0; i < json.n;) {
        uint32_t cp;
        if (!may_begin_hidden(json.p[i])) {
            i++;
            continue;
        }
        size_t n = utf8_decode(str_skip(json, i), &cp);
        if (n > 0 && plain_is_hidden(cp))
            return i;
        i += n ? n : 1;
    }
    return json.n;
}

bool plain_json_is_clean(str json)
{
    return clean_prefix(json) == json.n;
}

static void add_escape(struct buf *out, uint32_t cp)
{
    if (cp < 0x10000) {
        buf_printf(out, "\\u%04x", cp);
        return;
    }
    cp -= 0x10000; /* a pair of surrogates */
    buf_printf(out, "\\u%04x\\u%04x", 0xd800 + (cp >> 10), 0xdc00 + (cp & 0x3ff));
}

void plain_json_add(struct buf *out, str json)
{
    while (json.n > 0 && !buf_failed(out)) {
        uint32_t cp;
        size_t good = clean_prefix(json);
        buf_add(out, json.p, good);
        json = str_skip(json, good);
        if (json.n == 0)
            return;
        json = str_skip(json, utf8_decode(json, &cp));
        add_escape(out, cp);
    }
}

str plain_json(struct arena *a, str json)
{
    struct buf b;
    if (plain_json_is_clean(json))
        return json;
    room_for(&b, json, 6);
    plain_json_add(&b, json);
    return into_arena(a, &b);
}

/* ---- paths ---- */

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static bool is_own_address(str path)
{
    static const str OWN[] = {STR_INIT("v1"), STR_INIT("mcp"), STR_INIT("sse"), STR_INIT("metrics"),
                              STR_INIT(".well-known")};
    str first = str_skip(path, 1);
    size_t n = 0;
    while (n < first.n && !is_one_of(first.p[n], "/ \"'`?.,:;)"))
        n++;
    for (size_t i = 0; i < ARRAY_LEN(OWN); i++)
        if (str_eq(str_slice(first, 0, n), OWN[i]) || str_starts(first, STR(".well-known")))
            return true;
    return false;
}

/* A slash that begins a word, and a name behind it. */
static bool is_path_at(str s, size_t i)
{
    if (s.p[i] != '/' || i + 1 >= s.n || (i > 0 && !is_one_of(s.p[i - 1], " \t\n\"'`([{<=,:")))
        return false;
    unsigned char c = (unsigned char)s.p[i + 1];
    bool is_name =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c >= 0x80;
    return is_name && !is_own_address(str_skip(s, i));
}

/* Whether the word that begins at i continues the path before it: names may hold spaces. */
static bool goes_on(str s, size_t i)
{
    for (size_t k = i; k < s.n && !is_one_of(s.p[k], " \t\n"); k++)
        if (s.p[k] == '/')
            return k > i;
    return false;
}

static size_t path_end(str s, size_t i)
{
    char quote = i > 0 && is_one_of(s.p[i - 1], "\"'`") ? s.p[i - 1] : '\0';
    const char *close = quote ? memchr(s.p + i, quote, s.n - i) : NULL;
    if (close)
        return (size_t)(close - s.p);
    size_t end = i;
    while (end < s.n && !is_one_of(s.p[end], "\n\"'`)]}>,;")) {
        bool is_colon = s.p[end] == ':' && (end + 1 == s.n || s.p[end + 1] == ' ');
        if (is_colon || (is_one_of(s.p[end], " \t") && !goes_on(s, end + 1)))
            break;
        end++;
    }
    return end > i + 1 && s.p[end - 1] == '.' ? end - 1 : end;
}

str plain_without_paths(struct arena *a, str s)
{
    struct buf b;
    size_t from = 0;
    buf_init(&b, s.n * sizeof(PLAIN_PATH));
    for (size_t i = 0; i < s.n; i++) {
        if (!is_path_at(s, i))
            continue;
        buf_add_str(&b, str_slice(s, from, i));
        buf_add_lit(&b, PLAIN_PATH);
        from = path_end(s, i);
        i = from - 1;
    }
    if (from == 0) {
        buf_done(&b);
        return s;
    }
    buf_add_str(&b, str_skip(s, from));
    return into_arena(a, &b);
}

void plain_err(struct err *e)
{
    struct arena a;
    arena_init(&a);
    str text = plain_without_paths(&a, str_from(e->msg));
    if (text.p != e->msg)
        err_set(e, e->code, "%.*s", STR_ARG(text));
    arena_done(&a);
}
