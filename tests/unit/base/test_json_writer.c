/* The streaming writer: commas, nesting and every kind of value. */
#include <math.h>

#include "base/json/json_framed.h"
#include "support/unit.h"

#define OUT_MAX 4096

TEST(an_object_of_everything)
{
    (void)state;
    struct buf b;
    struct json_writer w;
    struct json nested = json_of_str(STR("v"));
    buf_init(&b, OUT_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "s", STR("a\"b"));
    jw_kstr_or_null(&w, "o", STR("o"));
    jw_kstr_or_null(&w, "n", STR_NONE);
    jw_kint(&w, "min", INT64_MIN);
    jw_kbool(&w, "t", true);
    jw_kval(&w, "v", &nested);
    jw_kval(&w, "none", NULL);
    jw_key(&w, "list");
    jw_array(&w);
    jw_int(&w, 1);
    jw_str(&w, STR(""));
    jw_cstr(&w, "c");
    jw_cstr(&w, NULL);
    jw_bool(&w, false);
    jw_null(&w);
    jw_raw(&w, STR("{\"raw\":1.50}"));
    jw_array(&w);
    jw_end(&w);
    jw_object(&w);
    jw_end(&w);
    jw_end(&w);
    jw_key_str(&w, STR("k\ny"));
    jw_double(&w, 0.1);
    jw_end(&w);
    assert_string_equal(buf_cstr(&b), "{\"s\":\"a\\\"b\",\"o\":\"o\",\"n\":null,"
                                      "\"min\":-9223372036854775808,\"t\":true,"
                                      "\"v\":\"v\",\"none\":null,\"list\":[1,\"\",\"c\",null,false,"
                                      "null,{\"raw\":1.50},[],{}],\"k\\ny\":0.1}");
    buf_done(&b);
}

/* All lengths around those of the machine's words, with and without something to escape. */
TEST(a_framed_string_is_what_the_writer_writes)
{
    char text[80];
    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        for (size_t mark = 0; mark <= n; mark++) { /* n: nothing is escaped */
            struct buf framed, plain;
            struct json_writer w, v;
            memset(text, 'x', sizeof text);
            if (mark < n)
                text[mark] = mark % 2 ? '"' : '\n';
            jw_start(&w, &framed, OUT_MAX);
            jw_start(&v, &plain, OUT_MAX);
            jw_array(&w);
            jw_array(&v);
            for (int i = 0; i < 2; i++) {
                jw_framed_str(&w, STR("{\"a\":"), str_make(text, n), STR("}"));
                jw_object(&v);
                jw_kstr(&v, "a", str_make(text, n));
                jw_end(&v);
            }
            jw_end(&w);
            jw_end(&v);
            assert_string_equal(buf_cstr(&framed), buf_cstr(&plain));
            buf_done(&framed);
            buf_done(&plain);
        }
    }
}

TEST(a_framed_string_that_does_not_fit)
{
    struct buf b;
    struct json_writer w;
    (void)state;
    jw_start(&w, &b, 8);
    jw_framed_str(&w, STR("{\"a\":"), STR("xyz"), STR("}"));
    assert_true(buf_failed(&b));
    buf_done(&b);
}

TEST(a_single_value)
{
    (void)state;
    struct buf b;
    struct json_writer w;
    buf_init(&b, OUT_MAX);
    jw_init(&w, &b);
    jw_int(&w, 7);
    assert_string_equal(buf_cstr(&b), "7");
    buf_done(&b);
}

TEST(doubles)
{
    static const struct {
        double in;
        const char *out;
    } CASES[] = {{0, "0"},        {-0.0, "-0"},        {1, "1"},      {0.1, "0.1"},
                 {1e21, "1e+21"}, {1.5e-7, "1.5e-07"}, {NAN, "null"}, {INFINITY, "null"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct buf b;
        struct json_writer w;
        buf_init(&b, OUT_MAX);
        jw_init(&w, &b);
        jw_double(&w, CASES[i].in);
        assert_string_equal(buf_cstr(&b), CASES[i].out);
        buf_done(&b);
    }
}

/* Objects and arrays alternate to the deepest level the writer keeps track of. */
TEST(all_levels)
{
    enum { LEVELS = 64 };
    (void)state;
    struct arena a;
    struct buf b;
    struct json_writer w;
    struct json *v;
    arena_init(&a);
    buf_init(&b, OUT_MAX);
    jw_init(&w, &b);
    for (int i = 0; i < LEVELS; i++) {
        if (i % 2) {
            jw_object(&w);
            jw_key(&w, "k");
        } else {
            jw_array(&w);
            jw_int(&w, i);
        }
    }
    jw_null(&w);
    for (int i = 0; i < LEVELS; i++)
        jw_end(&w);
    assert_int_equal(json_parse(&a, buf_str(&b), 0, &v, NULL), 0);
    assert_string_equal(json_to_str(&a, v).p, buf_cstr(&b));
    buf_done(&b);
    arena_done(&a);
}

TEST(the_ceiling_shows_at_the_end)
{
    (void)state;
    struct buf b;
    struct json_writer w;
    buf_init(&b, 16);
    jw_init(&w, &b);
    jw_array(&w);
    for (int i = 0; i < 100; i++)
        jw_str(&w, STR("word"));
    jw_end(&w);
    assert_true(buf_failed(&b));
    assert_true(b.n <= 16);
    buf_done(&b);
}

static void write_some(struct buf *b)
{
    struct json_writer w;
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "plain", STR("text without escapes"));
    jw_kstr(&w, "esc\taped", STR("a \"long\" text\nof two lines"));
    jw_key(&w, "list");
    jw_array(&w);
    jw_str(&w, STR("\x01"));
    jw_object(&w);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
}

/* What needs exactly the room there is, is written; one byte less, and it has failed. */
TEST(every_ceiling)
{
    static const char WHOLE[] = "{\"plain\":\"text without escapes\","
                                "\"esc\\taped\":\"a \\\"long\\\" text\\nof two lines\","
                                "\"list\":[\"\\u0001\",{}]}";
    (void)state;
    for (size_t max = 0; max < sizeof(WHOLE) + 8; max++) {
        struct buf b;
        buf_init(&b, max);
        write_some(&b);
        assert_int_equal(buf_failed(&b), max < sizeof(WHOLE) - 1);
        assert_true(b.n <= max);
        if (!buf_failed(&b))
            assert_string_equal(buf_cstr(&b), WHOLE);
        buf_done(&b);
    }
}

TEST(keys_and_values_in_one_call)
{
    const str names[] = {STR("a"), STR("b")};
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, OUT_MAX);
    jw_object(&w);
    jw_kstrs(&w, "names", names, 2);
    jw_kstrs(&w, "none", NULL, 0);
    jw_kobject(&w, "o");
    jw_kcstr(&w, "c", NULL);
    jw_kdouble(&w, "d", 0.5);
    jw_end(&w);
    jw_karray(&w, "list");
    jw_end(&w);
    jw_kraw(&w, "raw", STR("[1]"));
    jw_end(&w);
    assert_string_equal(buf_cstr(&b), "{\"names\":[\"a\",\"b\"],\"none\":[],\"o\":{\"c\":null,"
                                      "\"d\":0.5},\"list\":[],\"raw\":[1]}");
    buf_done(&b);
}

TEST(close_ends_every_level)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, OUT_MAX);
    jw_object(&w);
    jw_karray(&w, "a");
    jw_object(&w);
    jw_kval(&w, "one", &JSON_ONE("k", json_of_int(1)));
    jw_close(&w);
    assert_string_equal(buf_cstr(&b), "{\"a\":[{\"one\":{\"k\":1}}]}");
    buf_done(&b);
}

/* Short strings are copied in words that overlap: each length, with each kind of byte at each
 * place. */
TEST(every_length_and_place)
{
    static const struct {
        char byte;
        const char *is;
    } KINDS[] = {{'x', "x"},          {'"', "\\\""}, {'\\', "\\\\"},   {'\n', "\\n"},
                 {'\x1f', "\\u001f"}, {' ', " "},    {'\x7f', "\x7f"}, {'\xc3', "\xc3"}};
    for (size_t n = 1; n <= 40; n++) {
        for (size_t at = 0; at < n; at++) {
            for (size_t k = 0; k < ARRAY_LEN(KINDS); k++) {
                char *text = malloc(n), want[128]; /* exactly n: ASan sees a byte too many */
                struct buf out;
                struct json_writer w;
                memset(text, 'a', n);
                text[at] = KINDS[k].byte;
                (void)snprintf(want, sizeof want, "\"%.*s%s%.*s\"", (int)at, text, KINDS[k].is,
                               (int)(n - at - 1), text + at + 1);
                jw_start(&w, &out, 1024);
                jw_str(&w, str_make(text, n));
                assert_string_equal(buf_cstr(&out), want);
                buf_done(&out);
                free(text);
            }
        }
    }
}
