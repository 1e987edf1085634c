/* json_scan.c - finds the members of one object by matching quotes and brackets only. */
#include "base/json/json_scan.h"

#include "base/json/json_impl.h"

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* The first quote or backslash. */
static inline const char *find_quote(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz(mask);
    }
#endif
    for (; end - p >= 8; p += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        if (word_equal(w, '"') | word_equal(w, '\\'))
            break;
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Behind the string whose opening quote is at p; NULL when it has no end. */
static inline const char *scan_skip_string(const char *p, const char *end)
{
    p = find_quote(p + 1, end);
    while (p < end && *p == '\\')
        p = end - p < 2 ? end : find_quote(p + 2, end);
    return p < end ? p + 1 : NULL;
}

static inline bool is_structural(char c)
{
    return c == '"' || (c | 0x20) == '{' || (c | 0x20) == '}';
}

/* ---- brackets ----
 *
 * Blocks of 64 bytes become words with one bit per byte. Quotes that are not escaped divide them
 * into text and strings; brackets inside strings are dropped, and the others are counted. */

enum { BLOCK = 64 };

struct block {
    uint64_t quotes, backslashes, opens, closes;
};

/* [ and ] differ from { and } in one bit. */
static inline struct block read_block(const char *p)
{
    struct block b = {0};
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'), bit = _mm_set1_epi8(0x20);
    for (int i = 0; i < BLOCK; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i folded = _mm_or_si128(v, bit);
        b.quotes |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, quote)) << i;
        b.backslashes |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, backslash)) << i;
        b.opens |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, open)) << i;
        b.closes |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, close)) << i;
    }
#else
    for (int i = 0; i < BLOCK; i++) {
        b.quotes |= (uint64_t)(p[i] == '"') << i;
        b.backslashes |= (uint64_t)(p[i] == '\\') << i;
        b.opens |= (uint64_t)((p[i] | 0x20) == '{') << i;
        b.closes |= (uint64_t)((p[i] | 0x20) == '}') << i;
    }
#endif
    return b;
}

/* The bytes behind a backslash that is not escaped itself. *carry: is the first byte of this block,
 * and then of the next one. */
static inline uint64_t find_escaped(uint64_t backslashes, bool *carry)
{
    uint64_t escaped = *carry;
    backslashes &= ~escaped;
    *carry = false;
    while (backslashes) {
        uint64_t next = (backslashes & -backslashes) << 1;
        *carry = next == 0;
        escaped |= next;
        backslashes &= backslashes - 1;
        backslashes &= ~next;
    }
    return escaped;
}

/* Each bit is the parity of the bits up to it: ones from a quote until before the next. */
static inline uint64_t find_strings(uint64_t quotes)
{
    for (int n = 1; n < BLOCK; n *= 2)
        quotes ^= quotes << n;
    return quotes;
}

struct bracket_state {
    size_t depth;
    uint64_t in_string; /* all ones at the start of a block inside a string */
    bool is_escaped;    /* the first byte of the block */
};

/* Behind the bracket of the block that ends the outermost level; NULL: it is not in this block. */
static inline const char *scan_block(struct bracket_state *at, const char *p)
{
    struct block b = read_block(p);
    uint64_t escaped =
        b.backslashes || at->is_escaped ? find_escaped(b.backslashes, &at->is_escaped) : 0;
    uint64_t strings = find_strings(b.quotes & ~escaped) ^ at->in_string;
    uint64_t opens = b.opens & ~strings, brackets = opens | (b.closes & ~strings);
    at->in_string = -(strings >> (BLOCK - 1));
    for (; brackets; brackets &= brackets - 1) {
        at->depth += opens & brackets & -brackets ? 1 : (size_t)-1;
        if (at->depth == 0)
            return p + __builtin_ctzll(brackets) + 1;
    }
    return NULL;
}

/* Behind the array or object that opens at p; NULL when it has no end. */
static const char *skip_nested(const char *p, const char *end)
{
    struct bracket_state at = {0};
    char rest[BLOCK];
    for (; end - p >= BLOCK; p += BLOCK) {
        const char *found = scan_block(&at, p);
        if (found)
            return found;
    }
    memset(rest, ' ', sizeof(rest));
    memcpy(rest, p, (size_t)(end - p));
    const char *found = scan_block(&at, rest);
    return found ? p + (found - rest) : NULL;
}

/* Behind a number or a literal; NULL when there is nothing. */
static const char *skip_word(const char *p, const char *end)
{
    const char *start = p;
    while (p < end && (uint8_t)*p > ' ' && *p != ',' && !is_structural(*p))
        p++;
    return p > start ? p : NULL;
}

static const char *skip_value(const char *p, const char *end)
{
    if (p == end)
        return NULL;
    if (*p == '"')
        return scan_skip_string(p, end);
    if (*p == '{' || *p == '[')
        return skip_nested(p, end);
    return skip_word(p, end);
}

static bool scan_broken(struct json_scan *s)
{
    s->failed = true;
    s->at = NULL;
    return false;
}

/* `p` stands behind a member, or behind the opening bracket of something empty. */
static bool scan_finish(struct json_scan *s, const char *p)
{
    if (p == s->end || *p != s->close)
        return scan_broken(s);
    if (s->is_inner)
        s->end = p + 1;
    else if (skip_space(p + 1, s->end) != s->end)
        return scan_broken(s);
    s->at = NULL;
    return true;
}

static void scan_begin(struct json_scan *s, const char *p, char open)
{
    p = skip_space(p, s->end);
    if (p == s->end || *p != open) {
        (void)scan_broken(s);
        return;
    }
    s->at = skip_space(p + 1, s->end);
    if (s->at == s->end || *s->at == s->close)
        (void)scan_finish(s, s->at);
}

void json_scan_init(struct json_scan *s, str line)
{
    const char *p = line.n ? line.p : "";
    *s = (struct json_scan){.end = p + line.n, .close = '}'};
    scan_begin(s, p, '{');
}

void json_scan_array(struct json_scan *s, str text)
{
    const char *p = text.n ? text.p : "";
    *s = (struct json_scan){.end = p + text.n, .close = ']'};
    scan_begin(s, p, '[');
}

/* Comparing is quicker than matching brackets; a value that starts with all of `known` is equal to
 * it, because `known` ends with the matching bracket. */
static bool scan_is_known(const struct json_scan *s, const char *p)
{
    return s->known.n > 0 && (size_t)(s->end - p) >= s->known.n &&
           memcmp(p, s->known.p, s->known.n) == 0;
}

/* p stands behind a value. */
static bool scan_go_on(struct json_scan *s, const char *p)
{
    p = skip_space(p, s->end);
    if (p == s->end || *p != ',')
        return scan_finish(s, p);
    s->at = p + 1;
    return true;
}

/* Returns the value at the current position and moves behind it. */
static bool take_value(struct json_scan *s, str *ret)
{
    const char *value = skip_space(s->at, s->end);
    s->is_known = scan_is_known(s, value);
    const char *value_end = s->is_known ? value + s->known.n : skip_value(value, s->end);
    if (!value_end)
        return scan_broken(s);
    if (!scan_go_on(s, value_end))
        return false;
    *ret = str_make(value, (size_t)(value_end - value));
    return true;
}

bool json_scan_element(struct json_scan *s, str *ret_value)
{
    return s->at && take_value(s, ret_value);
}

bool json_scan_key(struct json_scan *s, str *ret_key)
{
    if (!s->at)
        return false;
    const char *key = skip_space(s->at, s->end);
    const char *key_end = key < s->end && *key == '"' ? scan_skip_string(key, s->end) : NULL;
    if (!key_end)
        return scan_broken(s);
    const char *p = skip_space(key_end, s->end);
    if (p == s->end || *p != ':')
        return scan_broken(s);
    s->at = p + 1;
    *ret_key = str_make(key + 1, (size_t)(key_end - key) - 2);
    return true;
}

bool json_scan_value(struct json_scan *s, str *ret_value)
{
    return s->at && take_value(s, ret_value);
}

bool json_scan_next(struct json_scan *s, str *ret_key, str *ret_value)
{
    return json_scan_key(s, ret_key) && json_scan_value(s, ret_value);
}

bool json_scan_enter(struct json_scan *s, struct json_scan *ret_elements)
{
    const char *p = skip_space(s->at, s->end);
    if (p == s->end || *p != '[')
        return false;
    *ret_elements = (struct json_scan){.end = s->end, .close = ']', .is_inner = true};
    scan_begin(ret_elements, p, '[');
    return true;
}

void json_scan_leave(struct json_scan *s, struct json_scan *elements)
{
    str rest;
    while (json_scan_element(elements, &rest))
        continue;
    if (elements->failed)
        (void)scan_broken(s);
    else
        (void)scan_go_on(s, elements->end);
}

str json_scan_field(str line, str key)
{
    struct json_scan s;
    str k, v;
    json_scan_init(&s, line);
    while (json_scan_next(&s, &k, &v))
        if (str_eq(k, key))
            return v;
    return STR_NONE;
}

str json_scan_plain(str raw)
{
    if (raw.n < 2 || raw.p[0] != '"' || raw.p[raw.n - 1] != '"')
        return STR_NONE;
    str inside = {raw.p + 1, raw.n - 2};
    return memchr(inside.p, '\\', inside.n) ? STR_NONE : inside;
}
