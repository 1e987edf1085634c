/* json_read.c - the reader: recursive descent, bounded by JSON_DEPTH_MAX.
 *
 * The elements of an open container wait on one scratch stack, because their number is not
 * known yet; at the closing bracket they move to the arena as one array. The stack starts
 * on the C stack, so that a usual message costs no allocation but the arena's. */
#include <assert.h>
#include <errno.h>

#include "base/json_impl.h"
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

static bool read_value(struct reader *r, struct json *ret);

static bool fail_at(struct reader *r, const char *where, const char *reason)
{
    r->where = where;
    r->reason = reason;
    return false;
}

static bool fail(struct reader *r, const char *reason)
{
    return fail_at(r, r->at, r->at == r->end ? "unexpected end" : reason);
}

static void scratch_grow(struct reader *r, size_t size)
{
    size_t cap = r->scratch_cap * 2;
    assert(size <= cap - r->scratch_n);
    char *old = r->scratch_heap;
    r->scratch_heap = xrealloc(old, cap);
    if (!old)
        memcpy(r->scratch_heap, r->scratch, r->scratch_n);
    r->scratch = r->scratch_heap;
    r->scratch_cap = cap;
}

static inline void scratch_push(struct reader *r, const void *item, size_t size)
{
    if (size > r->scratch_cap - r->scratch_n)
        scratch_grow(r, size);
    memcpy(r->scratch + r->scratch_n, item, size);
    r->scratch_n += size;
}

/* Moves everything above `base` into the arena. */
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

static inline void skip_space(struct reader *r)
{
    while (r->at < r->end && (uint8_t)*r->at <= ' ' &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

/* Steps over white space and then `c`, if that is what comes. */
static inline bool take(struct reader *r, char c)
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
        char c = p + i < end ? p[i] : '"';
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return fail_at(r, p + i, "\\u needs four hexadecimal digits");
        v = v << 4 | digit;
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

static char simple_escape(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return c;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    }
    return 0;
}

/* Decodes the raw text of a string. No escape is shorter than what it stands for, so the
 * arena needs no more than the raw length. */
static bool unescape(struct reader *r, str raw, str *ret)
{
    char *out = arena_alloc(r->arena, raw.n), *first = out;
    const char *p = raw.p, *end = raw.p + raw.n;
    bool ignored = false;
    while (p < end) {
        const char *run = json_plain_run(p, end, &ignored);
        memcpy(out, p, (size_t)(run - p));
        out += run - p;
        if (run == end)
            break;
        p = run + 2; /* a backslash and, as raw ends at an unescaped quote, one byte more */
        uint32_t cp = (uint8_t)simple_escape(run[1]);
        if (run[1] == 'u' ? !read_code_point(r, &p, end, &cp) : !cp)
            return r->reason ? false : fail_at(r, run, "unknown escape");
        out = put_utf8(out, cp);
    }
    *ret = str_make(first, (size_t)(out - first));
    return true;
}

static bool check_utf8(struct reader *r, str s)
{
    size_t valid = utf8_valid_prefix(s);
    return valid == s.n || fail_at(r, s.p + valid, "not UTF-8");
}

/* The rest of a string that has escapes, or is broken. `p` stands at its first byte that
 * is not plain. */
static bool read_escaped(struct reader *r, const char *start, const char *p, bool has_high,
                         str *ret)
{
    while (p < r->end && *p == '\\') {
        p += r->end - p < 2 ? 1 : 2;
        p = json_plain_run(p, r->end, &has_high);
    }
    if (p == r->end)
        return fail_at(r, p, "unexpected end inside a string");
    if (*p != '"')
        return fail_at(r, p, "control character inside a string");
    r->at = p + 1;
    str raw = {start, (size_t)(p - start)};
    return (!has_high || check_utf8(r, raw)) && unescape(r, raw, ret);
}

/* r->at stands at the opening quote. */
static inline bool read_string(struct reader *r, str *ret)
{
    const char *start = r->at + 1;
    bool has_high = false;
    const char *p = json_plain_run(start, r->end, &has_high);
    if (p == r->end || *p != '"')
        return read_escaped(r, start, p, has_high, ret);
    r->at = p + 1;
    *ret = str_make(start, (size_t)(p - start));
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
static bool read_number(struct reader *r, struct json *ret)
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
    if (integral && n <= 19 && (negative ? v - 1 <= INT64_MAX : v <= INT64_MAX))
        *ret = json_of_int(negative ? (int64_t)-v : (int64_t)v);
    else
        *ret = (struct json){.type = JSON_NUMBER, .s = {start, (size_t)(p - start)}};
    return true;
}

static bool read_literal(struct reader *r, str word, struct json v, struct json *ret)
{
    if ((size_t)(r->end - r->at) < word.n || memcmp(r->at, word.p, word.n) != 0)
        return fail_at(r, r->at, "expected a value");
    r->at += word.n;
    *ret = v;
    return true;
}

static bool enter(struct reader *r)
{
    if (++r->depth > JSON_DEPTH_MAX)
        return fail_at(r, r->at, "nested too deeply");
    r->at++;
    return true;
}

static bool read_array(struct reader *r, struct json *ret)
{
    if (!enter(r))
        return false;
    size_t base = r->scratch_n;
    uint32_t len = 0;
    if (!take(r, ']')) {
        struct json item;
        do {
            if (!read_value(r, &item))
                return false;
            scratch_push(r, &item, sizeof(item));
            len++;
        } while (take(r, ','));
        if (!take(r, ']'))
            return fail(r, "expected ',' or ']'");
    }
    r->depth--;
    *ret = (struct json){.type = JSON_ARRAY, .len = len, .items = scratch_pop(r, base)};
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

static inline bool read_member(struct reader *r, struct json_member *m)
{
    skip_space(r);
    if (r->at == r->end || *r->at != '"')
        return fail(r, "expected a key in double quotes");
    if (!read_string(r, &m->key))
        return false;
    if (!take(r, ':'))
        return fail(r, "expected ':'");
    return read_value(r, &m->value);
}

static bool read_object(struct reader *r, struct json *ret)
{
    if (!enter(r))
        return false;
    size_t base = r->scratch_n;
    uint32_t len = 0;
    if (!take(r, '}')) {
        struct json_member m;
        do {
            if (!read_member(r, &m))
                return false;
            scratch_push(r, &m, sizeof(m));
            len++;
        } while (take(r, ','));
        if (!take(r, '}'))
            return fail(r, "expected ',' or '}'");
    }
    r->depth--;
    *ret = (struct json){.type = JSON_OBJECT, .len = len, .members = scratch_pop(r, base)};
    return !(r->flags & JSON_UNIQUE) || check_unique(r, ret);
}

static bool read_value(struct reader *r, struct json *ret)
{
    skip_space(r);
    if (r->at == r->end)
        return fail(r, "expected a value");
    switch (*r->at) {
    case '"':
        *ret = (struct json){.type = JSON_STRING};
        return read_string(r, &ret->s);
    case '{':
        return read_object(r, ret);
    case '[':
        return read_array(r, ret);
    case 't':
        return read_literal(r, STR("true"), json_of_bool(true), ret);
    case 'f':
        return read_literal(r, STR("false"), json_of_bool(false), ret);
    case 'n':
        return read_literal(r, STR("null"), json_of_null(), ret);
    case '-':
    case '0' ... '9':
        return read_number(r, ret);
    }
    return fail(r, "expected a value");
}

static bool read_document(struct reader *r, struct json *ret)
{
    if (!read_value(r, ret))
        return false;
    skip_space(r);
    return r->at == r->end || fail(r, "unexpected text after the document");
}

/* Lines and columns count from 1; columns count characters, not bytes. */
static int report(const struct reader *r, struct err *e)
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
    __attribute__((uninitialized)) char stack[SCRATCH_BYTES];
    struct reader r = {.start = in.p,
                       .at = in.p,
                       .end = in.p + in.n,
                       .arena = a,
                       .scratch = stack,
                       .scratch_cap = sizeof(stack),
                       .flags = flags};
    struct json *doc = arena_alloc(a, sizeof(*doc));
    bool ok = read_document(&r, doc);
    free(r.scratch_heap);
    if (!ok)
        return report(&r, e);
    *ret = doc;
    return 0;
}
