/* json_writer.c - the streaming writer: commas and brackets for code that knows its shape. */
#include <assert.h>

#include "base/json/json_framed.h"
#include "base/json/json_impl.h"

#define WRITER_DEPTH_MAX 64 /* the bits of json_writer.kinds */

void jw_init(struct json_writer *w, struct buf *out)
{
    *w = (struct json_writer){.out = out};
}

void jw_start(struct json_writer *w, struct buf *out, size_t max_bytes)
{
    buf_init(out, max_bytes);
    jw_init(w, out);
}

static bool in_object(const struct json_writer *w)
{
    return w->depth > 0 && (w->kinds & 1);
}

/* A comma if one is due, and a bracket. */
static void put_mark(struct buf *b, bool comma, char c)
{
    char *at = json_room(b, comma + 1u);
    if (!at)
        return;
    if (comma)
        *at++ = ',';
    *at++ = c;
    json_written(b, at);
}

/* A comma if one is due, the string, and a colon behind a key: one piece, as nearly all strings
 * need no escape. */
static void put_string(struct buf *b, bool comma, str s, bool is_key)
{
    const char *p = s.n ? s.p : "", *end = p + s.n;
    bool ignored = false;
    char *at = json_room(b, comma + 2u + s.n + is_key);
    if (!at)
        return;
    if (comma)
        *at++ = ',';
    char *quote = at++;
    *quote = '"';
    at = json_copy_run(at, &p, end, &ignored);
    if (p == end) {
        *at++ = '"';
        if (is_key)
            *at++ = ':';
        json_written(b, at);
        return;
    }
    json_written(b, quote);
    (void)json_write_string(b, s);
    if (is_key)
        (void)buf_add_char(b, ':');
}

/* A value comes now: is a comma due before it? */
static bool begin_value(struct json_writer *w)
{
    assert(in_object(w) == w->has_key);
    bool comma = w->comma;
    w->comma = true;
    w->has_key = false;
    return comma;
}

static void before_value(struct json_writer *w)
{
    if (begin_value(w))
        (void)buf_add_char(w->out, ',');
}

static void open_level(struct json_writer *w, bool is_object)
{
    assert(w->depth < WRITER_DEPTH_MAX);
    put_mark(w->out, begin_value(w), is_object ? '{' : '[');
    w->kinds = w->kinds << 1 | is_object;
    w->depth++;
    w->comma = false;
}

void jw_object(struct json_writer *w)
{
    open_level(w, true);
}

void jw_array(struct json_writer *w)
{
    open_level(w, false);
}

void jw_end(struct json_writer *w)
{
    assert(w->depth > 0 && !w->has_key);
    put_mark(w->out, false, in_object(w) ? '}' : ']');
    w->kinds >>= 1;
    w->depth--;
    w->comma = true;
}

void jw_close(struct json_writer *w)
{
    while (w->depth > 0)
        jw_end(w);
}

void jw_key_str(struct json_writer *w, str key)
{
    assert(in_object(w) && !w->has_key);
    put_string(w->out, w->comma, key, true);
    w->comma = false;
    w->has_key = true;
}

void jw_key_plain(struct json_writer *w, str key)
{
    assert(in_object(w) && !w->has_key);
    char *at = json_room(w->out, w->comma + 3u + key.n);
    if (at) {
        if (w->comma)
            *at++ = ',';
        *at++ = '"';
        at = mempcpy(at, key.p, key.n);
        *at++ = '"';
        *at++ = ':';
        json_written(w->out, at);
    }
    w->comma = false;
    w->has_key = true;
}

void jw_str(struct json_writer *w, str s)
{
    put_string(w->out, begin_value(w), s, false);
}

void jw_cstr(struct json_writer *w, const char *s)
{
    if (s)
        jw_str(w, str_from(s));
    else
        jw_null(w);
}

void jw_int(struct json_writer *w, int64_t v)
{
    before_value(w);
    (void)buf_add_i64(w->out, v);
}

void jw_double(struct json_writer *w, double v)
{
    struct arena a;
    arena_init(&a);
    struct json number = json_of_double(&a, v);
    jw_value(w, &number);
    arena_done(&a);
}

void jw_bool(struct json_writer *w, bool v)
{
    before_value(w);
    (void)buf_add_lit(w->out, v ? "true" : "false");
}

void jw_null(struct json_writer *w)
{
    before_value(w);
    (void)buf_add_lit(w->out, "null");
}

void jw_value(struct json_writer *w, const struct json *v)
{
    if (!v) {
        jw_null(w);
        return;
    }
    before_value(w);
    (void)json_write(w->out, v);
}

void jw_raw(struct json_writer *w, str json)
{
    before_value(w);
    (void)buf_add_str(w->out, json);
}

void jw_framed_str(struct json_writer *w, str before, str s, str after)
{
    const char *p = s.n ? s.p : "", *end = p + s.n;
    bool ignored = false, comma = begin_value(w);
    char *at = json_room(w->out, comma + before.n + 2u + s.n + after.n);
    if (!at)
        return;
    if (comma)
        *at++ = ',';
    char *quote = mempcpy(at, before.p, before.n);
    *quote = '"';
    at = json_copy_run(quote + 1, &p, end, &ignored);
    if (p < end) {
        json_written(w->out, quote);
        (void)json_write_string(w->out, s);
        (void)buf_add_str(w->out, after);
        return;
    }
    *at++ = '"';
    json_written(w->out, mempcpy(at, after.p, after.n));
}

void jw_kstr_if(struct json_writer *w, const char *key, str s)
{
    if (s.n > 0)
        jw_kstr(w, key, s);
}

void jw_kstr_or_null(struct json_writer *w, const char *key, str s)
{
    jw_key(w, key);
    if (s.n > 0)
        jw_str(w, s);
    else
        jw_null(w);
}

/* jw_kint and the like: a key, and a value as the other function writes it. */
#define KEYED(name, value, type)                                                                   \
    void name(struct json_writer *w, const char *key, type v)                                      \
    {                                                                                              \
        jw_key(w, key);                                                                            \
        value(w, v);                                                                               \
    }
KEYED(jw_kint, jw_int, int64_t)
KEYED(jw_kbool, jw_bool, bool)
KEYED(jw_kval, jw_value, const struct json *)
KEYED(jw_kcstr, jw_cstr, const char *)
KEYED(jw_kdouble, jw_double, double)
KEYED(jw_kraw, jw_raw, str)

void jw_kstrs(struct json_writer *w, const char *key, const str *items, size_t n)
{
    jw_karray(w, key);
    for (size_t i = 0; i < n; i++)
        jw_str(w, items[i]);
    jw_end(w);
}
