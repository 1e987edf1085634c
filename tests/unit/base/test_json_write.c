/* The writer: escapes, layout, its ceiling, and that reading back changes nothing. */
#include <errno.h>

#include "base/json/json.h"
#include "support/json_random.h"
#include "support/unit.h"

#define OUT_MAX ((size_t)1 << 20)

static struct json *parsed(struct arena *a, str text)
{
    struct json *v;
    struct err e;
    if (json_parse(a, text, JSON_COPY, &v, &e) < 0)
        fail_msg("%.*s: %s", STR_ARG(text), e.msg);
    return v;
}

TEST(string_escapes)
{
    static const struct {
        str in, out;
    } CASES[] = {
        {STR_INIT(""), STR_INIT("\"\"")},
        {STR_INIT("plain"), STR_INIT("\"plain\"")},
        {STR_INIT("a\"b\\c/d"), STR_INIT("\"a\\\"b\\\\c/d\"")},
        {STR_INIT("\b\f\n\r\t"), STR_INIT("\"\\b\\f\\n\\r\\t\"")},
        {STR_INIT("\0\x01\x1f"), STR_INIT("\"\\u0000\\u0001\\u001f\"")},
        {STR_INIT("\x7f\xc3\xa9\xe2\x80\xa8"), STR_INIT("\"\x7f\xc3\xa9\xe2\x80\xa8\"")},
        {STR_INIT("123456789012345\n"), STR_INIT("\"123456789012345\\n\"")},
        {STR_INIT("1234567890123456\n"), STR_INIT("\"1234567890123456\\n\"")},
        {STR_INIT("12345678\"12345678\"1"), STR_INIT("\"12345678\\\"12345678\\\"1\"")},
    };
    (void)state;
    struct buf b;
    buf_init(&b, OUT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        buf_clear(&b);
        assert_int_equal(json_write_string(&b, CASES[i].in), 0);
        assert_true(str_eq(buf_str(&b), CASES[i].out));
        assert_int_equal(b.p[b.n], 0);
    }
    buf_clear(&b);
    assert_int_equal(json_write_string(&b, STR_NONE), 0);
    assert_string_equal(buf_cstr(&b), "\"\"");
    buf_done(&b);
}

/* Every byte below 0x20 is escaped at every distance from the ends of a block. */
TEST(no_control_character_gets_out)
{
    (void)state;
    struct buf b;
    struct arena a;
    buf_init(&b, OUT_MAX);
    arena_init(&a);
    for (size_t len = 1; len < 40; len++)
        for (size_t at = 0; at < len; at++) {
            char text[40];
            memset(text, 'x', sizeof(text));
            text[at] = (char)((len * 7 + at) % 32);
            buf_clear(&b);
            assert_int_equal(json_write_string(&b, str_make(text, len)), 0);
            for (size_t i = 0; i < b.n; i++)
                assert_true((uint8_t)b.p[i] >= 0x20);
            assert_true(str_eq(parsed(&a, buf_str(&b))->s, str_make(text, len)));
        }
    arena_done(&a);
    buf_done(&b);
}

TEST(appends_to_what_is_there)
{
    (void)state;
    struct arena a;
    struct buf b;
    arena_init(&a);
    buf_init(&b, OUT_MAX);
    (void)buf_add_lit(&b, "data: ");
    assert_int_equal(json_write(&b, parsed(&a, STR("[1]"))), 0);
    (void)buf_add_lit(&b, "\n");
    assert_string_equal(buf_cstr(&b), "data: [1]\n");
    buf_done(&b);
    arena_done(&a);
}

TEST(pretty)
{
    (void)state;
    struct arena a;
    struct buf b;
    arena_init(&a);
    buf_init(&b, OUT_MAX);
    struct json *v = parsed(&a, STR("{\"a\":[1,{\"b\":null}],\"c\":{},\"d\":[],\"e\":\"\\n\"}"));
    assert_int_equal(json_write_pretty(&b, v), 0);
    assert_string_equal(buf_cstr(&b), "{\n"
                                      "  \"a\": [\n"
                                      "    1,\n"
                                      "    {\n"
                                      "      \"b\": null\n"
                                      "    }\n"
                                      "  ],\n"
                                      "  \"c\": {},\n"
                                      "  \"d\": [],\n"
                                      "  \"e\": \"\\n\"\n"
                                      "}");
    assert_true(json_equal(parsed(&a, buf_str(&b)), v));
    buf_done(&b);
    arena_done(&a);
}

TEST(to_str)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    str s = json_to_str(&a, parsed(&a, STR(" [ 1 , \"x\" ] ")));
    assert_true(str_eq(s, STR("[1,\"x\"]")));
    assert_int_equal(s.p[s.n], 0);
    arena_done(&a);
}

/* At its exact size a document is written; one byte less and the buf says so. */
TEST(ceiling_is_exact)
{
    static const char *const DOCS[] = {
        "{\"a\":[1,-2,0.5,true,null],\"b\":{\"c\":\"text \\n \\u0001 \xe2\x82\xac\"}}",
        "\"a string that is longer than sixteen bytes, with \\\"quotes\\\"\"",
        "\"\\n\\n\\n\\n\\n\\n\\n\\n\"",
        "[]",
        "-9223372036854775808",
        "null",
    };
    (void)state;
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(DOCS); i++) {
        struct json *v = parsed(&a, str_from(DOCS[i]));
        size_t size = strlen(DOCS[i]);
        for (size_t max = 0; max <= size; max++) {
            struct buf b;
            buf_init(&b, max);
            assert_int_equal(json_write(&b, v), max < size ? -ENOBUFS : 0);
            assert_int_equal(buf_failed(&b), max < size);
            assert_true(b.n <= max);
            if (max == size)
                assert_string_equal(buf_cstr(&b), DOCS[i]);
            buf_done(&b);
        }
    }
    arena_done(&a);
}

TEST(a_failed_buf_stays_failed)
{
    (void)state;
    struct buf b;
    buf_init(&b, 4);
    assert_int_equal(json_write_string(&b, STR("too long")), -ENOBUFS);
    struct json one = json_of_int(1);
    assert_int_equal(json_write(&b, &one), -ENOBUFS);
    buf_done(&b);
}

/* write(parse(x)) = y implies write(parse(y)) = y, and y means the same as x. */
TEST(writing_is_a_fixpoint)
{
    (void)state;
    struct buf text, first, second;
    buf_init(&text, OUT_MAX);
    buf_init(&first, OUT_MAX);
    buf_init(&second, OUT_MAX);
    struct json_random r = {.state = 20260728, .out = &text};
    for (int i = 0; i < 3000; i++) {
        struct arena a;
        arena_init(&a);
        buf_clear(&text);
        buf_clear(&first);
        buf_clear(&second);
        json_random_value(&r, 5);
        struct json *v = parsed(&a, buf_str(&text));
        assert_int_equal(json_write(&first, v), 0);
        struct json *again = parsed(&a, buf_str(&first));
        assert_int_equal(json_write(&second, again), 0);
        assert_true(str_eq(buf_str(&first), buf_str(&second)));
        assert_true(json_equal(v, again));
        assert_null(memchr(first.p, '\n', first.n));
        buf_clear(&second);
        assert_int_equal(json_write_pretty(&second, v), 0);
        assert_true(json_equal(v, parsed(&a, buf_str(&second))));
        arena_done(&a);
    }
    buf_done(&text);
    buf_done(&first);
    buf_done(&second);
}
