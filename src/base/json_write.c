/* json_write.c - values to text: compact on one line, or indented for people.
 *
 * Recursion is as deep as the value: what was read is bounded by JSON_DEPTH_MAX, what is
 * built by code is a few levels around that. */
#include <errno.h>

#include "base/json_impl.h"

#define INDENT 2

/* How each control character is written; NULL = \u00XX. */
static const char SHORT_ESCAPES[128] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                        ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};

static int result(const struct buf *out)
{
    return buf_failed(out) ? -ENOBUFS : 0;
}

static void put_escape(struct buf *out, char c)
{
    static const char HEX[] = "0123456789abcdef";
    char text[] = {'\\', SHORT_ESCAPES[(uint8_t)c], '0', '0', HEX[(uint8_t)c >> 4], HEX[c & 15]};
    bool is_short = text[1] != 0;
    if (!is_short)
        text[1] = 'u';
    (void)buf_add(out, text, is_short ? 2 : 6);
}

int json_write_string(struct buf *out, str s)
{
    const char *p = s.p ? s.p : "", *end = p + s.n;
    bool ignored = false;
    (void)buf_add_char(out, '"');
    while (p < end) {
        const char *run = json_plain_run(p, end, &ignored);
        (void)buf_add(out, p, (size_t)(run - p));
        if (run == end)
            break;
        put_escape(out, *run);
        p = run + 1;
    }
    return buf_add_char(out, '"');
}

static void write_scalar(struct buf *out, const struct json *v)
{
    switch (v->type) {
    case JSON_NULL:
        (void)buf_add_lit(out, "null");
        break;
    case JSON_BOOL:
        (void)buf_add_lit(out, v->boolean ? "true" : "false");
        break;
    case JSON_INT:
        (void)buf_add_i64(out, v->i);
        break;
    case JSON_NUMBER:
        (void)buf_add_str(out, v->s);
        break;
    default:
        (void)json_write_string(out, v->s);
        break;
    }
}

static void write_value(struct buf *out, const struct json *v)
{
    if (v->type == JSON_ARRAY) {
        (void)buf_add_char(out, '[');
        for (uint32_t i = 0; i < v->len; i++) {
            if (i)
                (void)buf_add_char(out, ',');
            write_value(out, &v->items[i]);
        }
        (void)buf_add_char(out, ']');
    } else if (v->type == JSON_OBJECT) {
        (void)buf_add_char(out, '{');
        for (uint32_t i = 0; i < v->len; i++) {
            if (i)
                (void)buf_add_char(out, ',');
            (void)json_write_string(out, v->members[i].key);
            (void)buf_add_char(out, ':');
            write_value(out, &v->members[i].value);
        }
        (void)buf_add_char(out, '}');
    } else {
        write_scalar(out, v);
    }
}

int json_write(struct buf *out, const struct json *v)
{
    write_value(out, v);
    return result(out);
}

static void new_line(struct buf *out, size_t level)
{
    (void)buf_add_char(out, '\n');
    for (size_t i = 0; i < level * INDENT; i++)
        (void)buf_add_char(out, ' ');
}

static void write_pretty(struct buf *out, const struct json *v, size_t level)
{
    bool is_object = v->type == JSON_OBJECT;
    if ((!is_object && v->type != JSON_ARRAY) || v->len == 0) {
        write_value(out, v);
        return;
    }
    (void)buf_add_char(out, is_object ? '{' : '[');
    for (uint32_t i = 0; i < v->len; i++) {
        if (i)
            (void)buf_add_char(out, ',');
        new_line(out, level + 1);
        if (is_object) {
            (void)json_write_string(out, v->members[i].key);
            (void)buf_add_lit(out, ": ");
        }
        write_pretty(out, is_object ? &v->members[i].value : &v->items[i], level + 1);
    }
    new_line(out, level);
    (void)buf_add_char(out, is_object ? '}' : ']');
}

int json_write_pretty(struct buf *out, const struct json *v)
{
    write_pretty(out, v, 0);
    return result(out);
}

str json_to_str(struct arena *a, const struct json *v)
{
    struct buf text;
    buf_init(&text, SIZE_MAX / 8); /* as large as the value needs: it is in memory already */
    (void)json_write(&text, v);
    str s = arena_str(a, buf_str(&text));
    buf_done(&text);
    return s;
}
