/* json_repair.c - a scanner that remembers how much of the text can be kept. The brackets that are
 * open at the end of the text are also open at the end of the kept part: an opening bracket is
 * always kept. */
#include "base/json/json_repair.h"

#include <assert.h>

#include "base/bytes/base64.h"
#include "base/utf8.h"

enum repair_state {
    REPAIR_VALUE,
    REPAIR_FIRST_ITEM, /* a value, or the end of the array */
    REPAIR_KEY,
    REPAIR_FIRST_KEY, /* a key, or the end of the object */
    REPAIR_COLON,
    REPAIR_NEXT, /* a comma, or the end of the container */
    REPAIR_END,  /* of the text */
};

enum repair_step { STEP_ON, STEP_OUT /* of text */, STEP_BAD };

struct json_repairer {
    str in;
    size_t at;
    enum repair_state state;
    char open[JSON_DEPTH_MAX]; /* the closing brackets */
    size_t depth;
    size_t kept;
    bool is_in_string; /* the kept part ends inside a string */
};

static size_t left(const struct json_repairer *r)
{
    return r->in.n - r->at;
}

static void value_done(struct json_repairer *r)
{
    r->kept = r->at;
    r->is_in_string = false;
    r->state = r->depth > 0 ? REPAIR_NEXT : REPAIR_END;
}

/* ---- strings ---- */

/* The four digits at `at`; STEP_OUT when some are missing. */
static enum repair_step hex4(const struct json_repairer *r, size_t at, uint32_t *ret)
{
    *ret = 0;
    for (size_t i = at; i < at + 4; i++) {
        int digit = i < r->in.n ? hex_digit(r->in.p[i]) : 0;
        if (digit < 0)
            return STEP_BAD;
        *ret = *ret << 4 | (uint32_t)digit;
    }
    return at + 4 <= r->in.n ? STEP_ON : STEP_OUT;
}

/* A pair of surrogates is one character. */
static enum repair_step unicode_escape(const struct json_repairer *r, size_t *ret_n)
{
    uint32_t high, low;
    enum repair_step s = hex4(r, r->at + 2, &high);
    *ret_n = 6;
    if (s != STEP_ON || high < 0xd800 || high > 0xdfff)
        return s;
    if (high > 0xdbff)
        return STEP_BAD;
    for (size_t i = 0; i < 2; i++)
        if (r->at + 6 + i < r->in.n && r->in.p[r->at + 6 + i] != "\\u"[i])
            return STEP_BAD;
    s = hex4(r, r->at + 8, &low);
    *ret_n = 12;
    return s == STEP_ON && (low < 0xdc00 || low > 0xdfff) ? STEP_BAD : s;
}

/* The bytes of the next character inside a string. */
static enum repair_step next_char(const struct json_repairer *r, size_t *ret_n)
{
    unsigned char c = (unsigned char)r->in.p[r->at];
    uint32_t cp;
    *ret_n = 1;
    if (c < 0x20)
        return STEP_BAD;
    if (c >= 0x80) {
        *ret_n = utf8_decode(str_skip(r->in, r->at), &cp);
        return *ret_n > 0 ? STEP_ON : left(r) < 4 ? STEP_OUT : STEP_BAD;
    }
    if (c != '\\')
        return STEP_ON;
    if (left(r) < 2)
        return STEP_OUT;
    *ret_n = 2;
    c = (unsigned char)r->in.p[r->at + 1];
    if (c == 'u')
        return unicode_escape(r, ret_n);
    return c && strchr("\"\\/bfnrt", c) ? STEP_ON : STEP_BAD;
}

/* The string that begins here. The beginning of a value is kept, that of a key is not. */
static enum repair_step read_text(struct json_repairer *r, bool is_key)
{
    assert(r->in.p[r->at] == '"');
    r->at++;
    for (;;) {
        size_t n;
        if (!is_key) {
            r->kept = r->at;
            r->is_in_string = true;
        }
        if (left(r) == 0)
            return STEP_OUT;
        if (r->in.p[r->at] == '"')
            break;
        enum repair_step s = next_char(r, &n);
        if (s != STEP_ON)
            return s;
        r->at += n;
    }
    r->at++;
    if (is_key)
        r->state = REPAIR_COLON;
    else
        value_done(r);
    return STEP_ON;
}

/* ---- numbers and literals ---- */

static size_t digits(str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return n;
}

static bool is_number(str s)
{
    if (s.n > 0 && s.p[0] == '-')
        s = str_skip(s, 1);
    size_t n = digits(s);
    if (n == 0 || (n > 1 && s.p[0] == '0'))
        return false;
    s = str_skip(s, n);
    if (s.n > 0 && s.p[0] == '.') {
        s = str_skip(s, 1);
        n = digits(s);
        if (n == 0)
            return false;
        s = str_skip(s, n);
    }
    if (s.n == 0)
        return true;
    if (s.p[0] != 'e' && s.p[0] != 'E')
        return false;
    s = str_skip(s, 1);
    if (s.n > 0 && (s.p[0] == '+' || s.p[0] == '-'))
        s = str_skip(s, 1);
    return s.n > 0 && digits(s) == s.n;
}

static enum repair_step read_number(struct json_repairer *r)
{
    size_t end = r->at;
    while (end < r->in.n && r->in.p[end] && strchr("+-.0123456789eE", r->in.p[end]))
        end++;
    if (end == r->in.n)
        return STEP_OUT;
    if (!is_number(str_slice(r->in, r->at, end)))
        return STEP_BAD;
    r->at = end;
    value_done(r);
    return STEP_ON;
}

static enum repair_step read_word(struct json_repairer *r)
{
    static const str WORDS[] = {STR_INIT("true"), STR_INIT("false"), STR_INIT("null")};
    for (size_t i = 0; i < ARRAY_LEN(WORDS); i++) {
        size_t n = left(r) < WORDS[i].n ? left(r) : WORDS[i].n;
        if (memcmp(r->in.p + r->at, WORDS[i].p, n) != 0)
            continue;
        if (n < WORDS[i].n)
            return STEP_OUT;
        r->at += n;
        value_done(r);
        return STEP_ON;
    }
    return STEP_BAD;
}

/* ---- containers ---- */

static enum repair_step enter(struct json_repairer *r, char close)
{
    if (r->depth == JSON_DEPTH_MAX)
        return STEP_BAD;
    r->open[r->depth++] = close;
    r->at++;
    r->kept = r->at;
    r->state = close == '}' ? REPAIR_FIRST_KEY : REPAIR_FIRST_ITEM;
    return STEP_ON;
}

static enum repair_step leave(struct json_repairer *r, char close)
{
    if (r->depth == 0 || r->open[r->depth - 1] != close)
        return STEP_BAD;
    r->depth--;
    r->at++;
    value_done(r);
    return STEP_ON;
}

static enum repair_step read_value(struct json_repairer *r, char c)
{
    if (c == '{' || c == '[')
        return enter(r, c == '{' ? '}' : ']');
    if (c == '"')
        return read_text(r, false);
    return c == '-' || (c >= '0' && c <= '9') ? read_number(r) : read_word(r);
}

/* One sign that is not part of a value. */
static enum repair_step take(struct json_repairer *r, bool is_right, enum repair_state next)
{
    if (!is_right)
        return STEP_BAD;
    r->at++;
    r->state = next;
    return STEP_ON;
}

static enum repair_step step(struct json_repairer *r, char c)
{
    bool is_object = r->depth > 0 && r->open[r->depth - 1] == '}';
    switch (r->state) {
    case REPAIR_VALUE:
        return read_value(r, c);
    case REPAIR_FIRST_ITEM:
        return c == ']' ? leave(r, c) : read_value(r, c);
    case REPAIR_FIRST_KEY:
    case REPAIR_KEY:
        if (c == '}' && r->state == REPAIR_FIRST_KEY)
            return leave(r, c);
        return c == '"' ? read_text(r, true) : STEP_BAD;
    case REPAIR_COLON:
        return take(r, c == ':', REPAIR_VALUE);
    case REPAIR_NEXT:
        if (c == '}' || c == ']')
            return leave(r, c);
        return take(r, c == ',', is_object ? REPAIR_KEY : REPAIR_VALUE);
    case REPAIR_END:
        break;
    }
    return STEP_BAD;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static str closed(const struct json_repairer *r, struct arena *a)
{
    size_t n = 0;
    char *out = arena_alloc(a, r->kept + 1 + r->depth);
    assert(r->kept <= r->in.n);
    memcpy(out, r->in.p, r->kept);
    n = r->kept;
    if (r->is_in_string)
        out[n++] = '"';
    for (size_t i = r->depth; i > 0; i--)
        out[n++] = r->open[i - 1];
    return str_make(out, n);
}

str json_repair(struct arena *a, str text)
{
    enum repair_step s = STEP_ON;
    while (text.n > 0 && is_space(text.p[0]))
        text = str_skip(text, 1);
    struct json_repairer r = {.in = text};
    while (s == STEP_ON && r.at < text.n) {
        if (is_space(text.p[r.at]))
            r.at++;
        else
            s = step(&r, text.p[r.at]);
    }
    return s == STEP_BAD || r.kept == 0 ? STR_NONE : closed(&r, a);
}
