/* json_write.c - values to text: compact on one line, or indented for people.
 *
 * Recursion is as deep as the value: what was read is bounded by JSON_DEPTH_MAX, what is
 * built by code is a few levels around that. */
#include <errno.h>

#include "base/json/json_impl.h"

#define INDENT     2
#define FIRST_ROOM 512 /* asked of a buf that must grow, if its ceiling allows */

/* The free space of a buf, kept at hand so that most bytes cost one comparison. Nothing is
 * counted by the buf until flush. */
struct sink {
    struct buf *out;
    char *at, *end;
};

static void sink_open(struct sink *s)
{
    const struct buf *b = s->out;
    s->at = s->end = b->p ? b->p + b->n : NULL;
    if (b->failed || !b->p)
        return;
    size_t usable = b->cap - 1; /* the NUL */
    s->end = b->p + (usable < b->max ? usable : b->max);
}

static void sink_flush(struct sink *s)
{
    s->out->n = (size_t)(s->at - s->out->p);
    if (s->out->p)
        *s->at = '\0';
}

bool json_grow(struct buf *b, size_t n)
{
    size_t most = b->max - b->n;
    size_t want = FIRST_ROOM < most ? FIRST_ROOM : most;
    return buf_reserve(b, n > want ? n : want) == 0;
}

static bool grow(struct sink *s, size_t n)
{
    sink_flush(s);
    bool has_grown = json_grow(s->out, n);
    sink_open(s);
    return has_grown;
}

/* Room for n bytes at s->at; false at the ceiling, and for every later call. */
static inline bool room(struct sink *s, size_t n)
{
    return (size_t)(s->end - s->at) >= n || grow(s, n);
}

static inline void put_char(struct sink *s, char c)
{
    if (room(s, 1))
        *s->at++ = c;
}

static inline void put_str(struct sink *s, str text)
{
    if (room(s, text.n)) {
        memcpy(s->at, text.p, text.n);
        s->at += text.n;
    }
}

static void put_int(struct sink *s, int64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);
    uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (v < 0)
        digits[--at] = '-';
    put_str(s, str_make(digits + at, sizeof(digits) - at));
}

/* The letter behind the backslash; the other control characters become \u00XX. */
static const char ESCAPES[256] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                  ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};

static char *escape(char *out, char c)
{
    static const char HEX[] = "0123456789abcdef";
    char letter = ESCAPES[(uint8_t)c];
    *out++ = '\\';
    if (letter) {
        *out++ = letter;
        return out;
    }
    memcpy(out, "u00", 3);
    out[3] = HEX[(uint8_t)c >> 4];
    out[4] = HEX[c & 15];
    return out + 5;
}

/* Asks only for room that will be used for certain, so that text which just fits under the
 * ceiling is written: every byte left gives one byte or more, an escape two or six. */
static void put_string(struct sink *s, str text)
{
    const char *p = text.n ? text.p : "", *end = p + text.n;
    bool ignored = false;
    if (!room(s, text.n + 2))
        return;
    *s->at++ = '"';
    while (p < end) {
        s->at = json_copy_run(s->at, &p, end, &ignored);
        if (p == end)
            break;
        size_t escape_len = ESCAPES[(uint8_t)*p] ? 2 : 6;
        if (!room(s, escape_len + (size_t)(end - p)))
            return;
        s->at = escape(s->at, *p++);
    }
    *s->at++ = '"';
}

static void put_value(struct sink *s, const struct json *v);

static void put_array(struct sink *s, const struct json *v)
{
    put_char(s, '[');
    for (uint32_t i = 0; i < v->len; i++) {
        if (i)
            put_char(s, ',');
        put_value(s, &v->items[i]);
    }
    put_char(s, ']');
}

static void put_object(struct sink *s, const struct json *v)
{
    put_char(s, '{');
    for (uint32_t i = 0; i < v->len; i++) {
        if (i)
            put_char(s, ',');
        put_string(s, v->members[i].key);
        put_char(s, ':');
        put_value(s, &v->members[i].value);
    }
    put_char(s, '}');
}

static void put_value(struct sink *s, const struct json *v)
{
    switch (v->type) {
    case JSON_NULL:
        put_str(s, STR("null"));
        break;
    case JSON_BOOL:
        put_str(s, v->boolean ? STR("true") : STR("false"));
        break;
    case JSON_INT:
        put_int(s, v->i);
        break;
    case JSON_NUMBER:
        put_str(s, v->s);
        break;
    case JSON_STRING:
        put_string(s, v->s);
        break;
    case JSON_ARRAY:
        put_array(s, v);
        break;
    case JSON_OBJECT:
        put_object(s, v);
        break;
    }
}

static void new_line(struct sink *s, size_t level)
{
    if (!room(s, 1 + level * INDENT))
        return;
    *s->at++ = '\n';
    memset(s->at, ' ', level * INDENT);
    s->at += level * INDENT;
}

static void put_pretty(struct sink *s, const struct json *v, size_t level)
{
    bool is_object = v->type == JSON_OBJECT;
    if ((!is_object && v->type != JSON_ARRAY) || v->len == 0) {
        put_value(s, v);
        return;
    }
    put_char(s, is_object ? '{' : '[');
    for (uint32_t i = 0; i < v->len; i++) {
        if (i)
            put_char(s, ',');
        new_line(s, level + 1);
        if (is_object) {
            put_string(s, v->members[i].key);
            put_str(s, STR(": "));
        }
        put_pretty(s, is_object ? &v->members[i].value : &v->items[i], level + 1);
    }
    new_line(s, level);
    put_char(s, is_object ? '}' : ']');
}

static int sink_finish(struct sink *s)
{
    sink_flush(s);
    return buf_failed(s->out) ? -ENOBUFS : 0;
}

int json_write(struct buf *out, const struct json *v)
{
    struct sink s = {.out = out};
    sink_open(&s);
    put_value(&s, v);
    return sink_finish(&s);
}

int json_write_pretty(struct buf *out, const struct json *v)
{
    struct sink s = {.out = out};
    sink_open(&s);
    put_pretty(&s, v, 0);
    return sink_finish(&s);
}

int json_write_string(struct buf *out, str text)
{
    struct sink s = {.out = out};
    sink_open(&s);
    put_string(&s, text);
    return sink_finish(&s);
}

str json_to_str(struct arena *a, const struct json *v)
{
    struct buf text;
    buf_init(&text, SIZE_MAX / 8); /* as much as the value needs: it is in memory already */
    (void)json_write(&text, v);
    str s = arena_str(a, buf_str(&text));
    buf_done(&text);
    return s;
}
