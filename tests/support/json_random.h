/* json_random.h - random but repeatable JSON documents as text, for property tests.
 *
 * The text is valid, uses every kind of value, escape and white space, and is not what our
 * writer would write. */
#pragma once

#include "base/buf.h"

struct json_random {
    uint64_t state; /* the seed; not 0 */
    struct buf *out;
};

static inline size_t json_random_below(struct json_random *r, size_t n)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return (size_t)((r->state >> 11) % n);
}

#define JSON_RANDOM_PICK(r, table) (table)[json_random_below((r), ARRAY_LEN(table))]

static inline void json_random_space(struct json_random *r)
{
    static const char *const SPACES[] = {"", "", "", "", " ", "\t", "\n  ", "\r\n"};
    (void)buf_add_lit(r->out, JSON_RANDOM_PICK(r, SPACES));
}

static inline void json_random_string(struct json_random *r)
{
    static const char *const PIECES[] = {
        "a",
        "key",
        "text of more than sixteen bytes",
        "\\n",
        "\\\"",
        "\\\\",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\u0000",
        "\xc3\xa9",
        "\xe2\x82\xac",
        "\xf0\x9f\x98\x80",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\\/",
        " ",
        "\x7f",
    };
    (void)buf_add_char(r->out, '"');
    for (size_t n = json_random_below(r, 7); n > 0; n--)
        (void)buf_add_lit(r->out, JSON_RANDOM_PICK(r, PIECES));
    (void)buf_add_char(r->out, '"');
}

static inline void json_random_value(struct json_random *r, int depth);

static inline void json_random_container(struct json_random *r, int depth, bool is_object)
{
    (void)buf_add_char(r->out, is_object ? '{' : '[');
    json_random_space(r);
    for (size_t n = json_random_below(r, 6), i = 0; i < n; i++) {
        if (i)
            (void)buf_add_char(r->out, ',');
        json_random_space(r);
        if (is_object) {
            json_random_string(r);
            json_random_space(r);
            (void)buf_add_char(r->out, ':');
            json_random_space(r);
        }
        json_random_value(r, depth - 1);
        json_random_space(r);
    }
    (void)buf_add_char(r->out, is_object ? '}' : ']');
}

static inline void json_random_value(struct json_random *r, int depth)
{
    static const char *const SCALARS[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "-17",
        "9223372036854775807",
        "0.1",
        "1e5",
        "1E-7",
        "-2.50",
        "18446744073709551616",
        "12345678901234567890123456789",
    };
    size_t kind = json_random_below(r, depth > 0 ? 4 : 2);
    if (kind == 0)
        (void)buf_add_lit(r->out, JSON_RANDOM_PICK(r, SCALARS));
    else if (kind == 1)
        json_random_string(r);
    else
        json_random_container(r, depth, kind == 2);
}
