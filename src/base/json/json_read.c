/* json_read.c - the reader: recursive descent, bounded by JSON_DEPTH_MAX.
 *
 * The elements of an open container wait on one scratch stack, because their number is not
 * known yet; at the closing bracket they move to the arena as one array. The stack starts
 * on the C stack, so that a usual message costs no allocation but the arena's. */
#include <errno.h>

#include "base/bytes/base64.h"
#include "base/json/json_impl.h"
#include "base/utf8.h"

/* Up to this many keys are compared pairwise for JSON_UNIQUE; more are sorted first. */
#define PAIRWISE_MAX  16
#define SCRATCH_BYTES 4096
#define KEY_SHOWN_MAX 60

struct reader {
    const char *start, *at, *end;
    struct arena *arena;
    char *scratch;
    size_t scratch_n, scratch_cap;
    char *scratch_heap; /* NULL while the stack is enough */
    int flags;
    int depth;
    const char *reason; /* why it failed, and where */
    const char *where;
    str detail; /* quoted behind the reason */
};

/* Reads a value into the slot of the scratch stack that waits for it. */
static bool read_value(struct reader *r, size_t slot);

static bool fail_at(struct reader *r, const char *where, const char *reason)
{
    r->where = where;
    r->reason = reason;
    return false;
}

static bool reader_fail(struct reader *r, const char *reason)
{
    return fail_at(r, r->at, r->at == r->end ? "unexpected end" : reason);
}

static void scratch_grow(struct reader *r)
{
    char *old = r->scratch_heap;
    r->scratch_cap *= 2;
    r->scratch_heap = xrealloc(old, r->scratch_cap);
    if (!old)
        memcpy(r->scratch_heap, r->scratch, r->scratch_n);
    r->scratch = r->scratch_heap;
}

/* A place for `size` more bytes, as an offset: growth moves the stack. */
static inline size_t scratch_push(struct reader *r, size_t size)
{
    if (size > r->scratch_cap - r->scratch_n)
        scratch_grow(r);
    size_t slot = r->scratch_n;
    r->scratch_n += size;
    return slot;
}

/* Moves everything from `base` on into the arena. */
static void *scratch_pop(struct reader *r, size_t base)
{
    size_t size = r->scratch_n - base;
    if (size == 0)
        return NULL;
    void *items = arena_alloc(r->arena, size);
    memcpy(items, r->scratch + base, size);
    r->scratch_n = base;
    return items;
}

/* The value at `slot`, blank but for its type; valid until the stack grows. Callers fill in
 * the fields one by one: a struct assigned as a whole would take a slow detour through
 * memory that was just written in smaller pieces. */
static inline struct json *put_value(struct reader *r, size_t slot, enum json_type type)
{
    struct json *v = (struct json *)(void *)(r->scratch + slot);
    *v = (struct json){.type = type};
    return v;
}

static inline void skip_space(struct reader *r)
{
    while (r->at < r->end && (uint8_t)*r->at <= ' ' &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

/* Steps over white space and then `c`, if that is what comes. */
static inline bool reader_take(struct reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool read_hex4(struct reader *r, const char *p, const char *end, uint32_t *ret)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        int digit = p + i < end ? hex_digit(p[i]) : -1;
        if (digit < 0)
            return fail_at(r, p + i, "\\u needs four hexadecimal digits");
        v = v << 4 | (uint32_t)digit;
    }
    *ret = v;
    return true;
}

/* The character of a \u escape; *p stands behind the u and is moved behind the escape, or
 * behind both escapes of a surrogate pair. */
static bool read_code_point(struct reader *r, const char **p, const char *end, uint32_t *ret)
{
    uint32_t hi, lo;
    if (!read_hex4(r, *p, end, &hi))
        return false;
    const char *escape = *p - 2;
    *p += 4;
    *ret = hi;
    if (hi < 0xd800 || hi > 0xdfff)
        return true;
    if (hi > 0xdbff || end - *p < 2 || (*p)[0] != '\\' || (*p)[1] != 'u')
        return fail_at(r, escape, "half of a surrogate pair");
    if (!read_hex4(r, *p + 2, end, &lo))
        return false;
    if (lo < 0xdc00 || lo > 0xdfff)
        return fail_at(r, escape, "half of a surrogate pair");
    *p += 6;
    *ret = 0x10000 + ((hi - 0xd800) << 10) + (lo - 0xdc00);
    return true;
}

static char *put_utf8(char *out, uint32_t cp)
{
    if (cp < 0x80) {
        *out++ = (char)cp;
    } else if (cp < 0x800) {
        *out++ = (char)(0xc0 | cp >> 6);
        *out++ = (char)(0x80 | (cp & 0x3f));
    } else if (cp < 0x10000) {
        *out++ = (char)(0xe0 | cp >> 12);
        *out++ = (char)(0x80 | (cp >> 6 & 0x3f));
        *out++ = (char)(0x80 | (cp & 0x3f));
    } else {
        *out++ = (char)(0xf0 | cp >> 18);
        *out++ = (char)(0x80 | (cp >> 12 & 0x3f));
        *out++ = (char)(0x80 | (cp >> 6 & 0x3f));
        *out++ = (char)(0x80 | (cp & 0x3f));
    }
    return out;
}

static bool check_utf8(struct reader *r, str s)
{
    size_t valid = utf8_valid_prefix(s);
    return valid == s.n || fail_at(r, s.p + valid, "not UTF-8");
}

/* The character that a letter behind a backslash stands for. */
static const char ESCAPES[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                  ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

/* Decodes the raw text of a string. No escape is shorter than what it stands for, so the
 * arena needs no more than the raw length. */
static bool unescape(struct reader *r, str raw, str *ret)
{
    char *out = arena_alloc(r->arena, raw.n), *first = out;
    const char *p = raw.p, *end = raw.p + raw.n;
    bool has_high = false;
    for (;;) {
        out = json_copy_run(out, &p, end, &has_high);
        if (p == end)
            break;
        if (*p != '\\')
            return fail_at(r, p, "control character inside a string");
        char letter = p[1]; /* there is one: raw ends at a quote that is not escaped */
        p += 2;
        if (letter == 'u') {
            uint32_t cp;
            if (!read_code_point(r, &p, end, &cp))
                return false;
            out = put_utf8(out, cp);
        } else if (!(*out++ = ESCAPES[(uint8_t)letter])) {
            return fail_at(r, p - 2, "unknown escape");
        }
    }
    *ret = str_make(first, (size_t)(out - first));
    return !has_high || check_utf8(r, raw);
}

/* The quote at or after p that is not escaped: it follows an even number of backslashes. */
static const char *closing_quote(const char *start, const char *p, const char *end)
{
    while ((p = memchr(p, '"', (size_t)(end - p)))) {
        const char *q = p;
        while (q > start && q[-1] == '\\')
            q--;
        if ((p - q) % 2 == 0)
            return p;
        p++;
    }
    return NULL;
}

/* A string that has escapes, or is broken. `p` stands at its first byte that is not plain. */
static bool read_escaped(struct reader *r, const char *start, const char *p, str *ret)
{
    const char *close = closing_quote(start, p, r->end);
    if (!close)
        return fail_at(r, r->end, "unexpected end inside a string");
    r->at = close + 1;
    return unescape(r, str_make(start, (size_t)(close - start)), ret);
}

/* r->at stands at the opening quote. */
static inline bool read_string(struct reader *r, str *ret)
{
    const char *start = r->at + 1;
    bool has_high = false;
    const char *p = json_plain_run(start, r->end, &has_high);
    if (p == r->end || *p != '"')
        return read_escaped(r, start, p, ret);
    r->at = p + 1;
    ret->p = start;
    ret->n = (size_t)(p - start);
    return !has_high || check_utf8(r, *ret);
}

static inline bool is_digit(const struct reader *r, const char *p)
{
    return p < r->end && *p >= '0' && *p <= '9';
}

/* One or more digits from *p. */
static bool skip_digits(struct reader *r, const char **p)
{
    if (!is_digit(r, *p))
        return fail_at(r, *p, "expected a digit");
    while (is_digit(r, *p))
        ++*p;
    return true;
}

/* Integers become JSON_INT only where writing the int64 gives back the same text. */
static bool read_number(struct reader *r, size_t slot)
{
    const char *start = r->at, *p = start + (*start == '-'), *digits = p;
    bool negative = p > start, integral = true;
    uint64_t v = 0;
    for (; is_digit(r, p); p++)
        v = v * 10 + (uint64_t)(*p - '0'); /* may wrap: used only up to 19 digits */
    ptrdiff_t n = p - digits;
    if (n == 0)
        return fail_at(r, p, "expected a digit");
    if (*digits == '0' && n > 1)
        return fail_at(r, digits, "number with a leading zero");
    if (p < r->end && *p == '.') {
        integral = false;
        p++;
        if (!skip_digits(r, &p))
            return false;
    }
    if (p < r->end && (*p == 'e' || *p == 'E')) {
        integral = false;
        p++;
        if (p < r->end && (*p == '+' || *p == '-'))
            p++;
        if (!skip_digits(r, &p))
            return false;
    }
    r->at = p;
    if (integral && n <= 19 && (negative ? v - 1 <= INT64_MAX : v <= INT64_MAX)) {
        put_value(r, slot, JSON_INT)->i = negative ? (int64_t)-v : (int64_t)v;
    } else {
        struct json *number = put_value(r, slot, JSON_NUMBER);
        number->s.p = start;
        number->s.n = (size_t)(p - start);
    }
    return true;
}

static bool read_literal(struct reader *r, str word, enum json_type type, size_t slot)
{
    if ((size_t)(r->end - r->at) < word.n || memcmp(r->at, word.p, word.n) != 0)
        return fail_at(r, r->at, "expected a value");
    put_value(r, slot, type)->boolean = *word.p == 't';
    r->at += word.n;
    return true;
}

static bool reader_enter(struct reader *r)
{
    if (++r->depth > JSON_DEPTH_MAX)
        return fail_at(r, r->at, "nested too deeply");
    r->at++;
    return true;
}

static bool read_array(struct reader *r, size_t slot)
{
    if (!reader_enter(r))
        return false;
    size_t base = r->scratch_n;
    uint32_t len = 0;
    if (!reader_take(r, ']')) {
        do {
            if (!read_value(r, scratch_push(r, sizeof(struct json))))
                return false;
            len++;
        } while (reader_take(r, ','));
        if (!reader_take(r, ']'))
            return reader_fail(r, "expected ',' or ']'");
    }
    r->depth--;
    struct json *v = put_value(r, slot, JSON_ARRAY);
    v->len = len;
    v->items = scratch_pop(r, base);
    return true;
}

static bool fail_duplicate(struct reader *r, const struct json_member *m)
{
    /* A key that was unescaped has left the input; the end of its object is near enough. */
    bool in_place = m->key.p >= r->start && m->key.p < r->end;
    r->detail = utf8_truncate(m->key, KEY_SHOWN_MAX);
    return fail_at(r, in_place ? m->key.p - 1 : r->at - 1, "duplicate key");
}

static bool check_unique(struct reader *r, const struct json *obj)
{
    const struct json_member *m = obj->members, *again = NULL;
    if (obj->len <= PAIRWISE_MAX) {
        for (uint32_t i = 1; i < obj->len; i++)
            for (uint32_t j = 0; j < i && !again; j++)
                if (str_eq(m[i].key, m[j].key))
                    again = &m[i];
    } else {
        const struct json_member **sorted = json_sort_members(obj);
        for (uint32_t i = 1; i < obj->len && !again; i++)
            if (str_eq(sorted[i]->key, sorted[i - 1]->key))
                again = sorted[i];
        free(sorted);
    }
    return !again || fail_duplicate(r, again);
}

static inline bool read_member(struct reader *r)
{
    size_t slot = scratch_push(r, sizeof(struct json_member));
    struct json_member *m = (struct json_member *)(void *)(r->scratch + slot);
    skip_space(r);
    if (r->at == r->end || *r->at != '"')
        return reader_fail(r, "expected a key in double quotes");
    if (!read_string(r, &m->key))
        return false;
    if (!reader_take(r, ':'))
        return reader_fail(r, "expected ':'");
    return read_value(r, slot + offsetof(struct json_member, value));
}

static bool read_object(struct reader *r, size_t slot)
{
    if (!reader_enter(r))
        return false;
    size_t base = r->scratch_n;
    uint32_t len = 0;
    if (!reader_take(r, '}')) {
        do {
            if (!read_member(r))
                return false;
            len++;
        } while (reader_take(r, ','));
        if (!reader_take(r, '}'))
            return reader_fail(r, "expected ',' or '}'");
    }
    r->depth--;
    struct json *v = put_value(r, slot, JSON_OBJECT);
    v->len = len;
    v->members = scratch_pop(r, base);
    return !(r->flags & JSON_UNIQUE) || check_unique(r, v);
}

static bool read_string_value(struct reader *r, size_t slot)
{
    return read_string(r, &put_value(r, slot, JSON_STRING)->s);
}

static bool read_value(struct reader *r, size_t slot)
{
    skip_space(r);
    if (r->at == r->end)
        return reader_fail(r, "expected a value");
    switch (*r->at) {
    case '"':
        return read_string_value(r, slot);
    case '{':
        return read_object(r, slot);
    case '[':
        return read_array(r, slot);
    case 't':
        return read_literal(r, STR("true"), JSON_BOOL, slot);
    case 'f':
        return read_literal(r, STR("false"), JSON_BOOL, slot);
    case 'n':
        return read_literal(r, STR("null"), JSON_NULL, slot);
    case '-':
    case '0' ... '9':
        return read_number(r, slot);
    }
    return reader_fail(r, "expected a value");
}

static bool read_document(struct reader *r)
{
    if (!read_value(r, scratch_push(r, sizeof(struct json))))
        return false;
    skip_space(r);
    return r->at == r->end || reader_fail(r, "unexpected text after the document");
}

/* Lines and columns count from 1; columns count characters, not bytes. */
static int report_error(const struct reader *r, struct err *e)
{
    size_t line = 1, column = 1;
    for (const char *p = r->start; p < r->where; p++) {
        column += (*p & 0xc0) != 0x80;
        if (*p == '\n') {
            line++;
            column = 1;
        }
    }
    const char *quote = r->detail.n ? "\"" : "";
    return err_set(e, -EINVAL, "line %zu, column %zu: %s%s%s%.*s%s", line, column, r->reason,
                   r->detail.n ? " " : "", quote, STR_ARG(r->detail), quote);
}

int json_parse(struct arena *a, str in, int flags, struct json **ret, struct err *e)
{
    if (in.n > UINT32_MAX) /* the counts of elements are 32 bits wide */
        return err_set(e, -EINVAL, "line 1, column 1: larger than 4 GiB");
    if (flags & JSON_COPY)
        in = arena_str(a, in);
    else if (in.n == 0)
        in = STR("");
    __attribute__((uninitialized, aligned(16))) char stack[SCRATCH_BYTES];
    struct reader r = {.start = in.p,
                       .at = in.p,
                       .end = in.p + in.n,
                       .arena = a,
                       .scratch = stack,
                       .scratch_cap = sizeof(stack),
                       .flags = flags};
    bool ok = read_document(&r);
    if (ok)
        *ret = scratch_pop(&r, 0);
    free(r.scratch_heap);
    return ok ? 0 : report_error(&r, e);
}
