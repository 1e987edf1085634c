#include "base/buf.h"
#include "http/conn/body.h"
#include "support/unit.h"

static struct http_body chunked(void)
{
    static struct http_head h = {.framing = HTTP_FRAMING_CHUNKED};
    struct http_body b;
    http_body_init(&b, &h);
    return b;
}

/* Feeds `in` in pieces of `step` bytes; *ret_used tells how much belongs to the body. */
static enum http_parse feed(struct http_body *b, str in, size_t step, struct buf *out,
                            size_t *ret_used)
{
    enum http_parse got = HTTP_PARSE_MORE;
    size_t used = 0;
    while (got == HTTP_PARSE_MORE && used < in.n) {
        str piece = str_slice(in, used, used + step), before = piece, data;
        while (piece.n && got == HTTP_PARSE_MORE) {
            got = http_body_next(b, &piece, &data);
            buf_add_str(out, data);
        }
        used += before.n - piece.n;
    }
    *ret_used = used;
    return got;
}

static const struct {
    str in;
    const char *body; /* NULL: refused */
    size_t after;     /* bytes that belong to the next request */
} CHUNKED[] = {
    {STR_INIT("0\r\n\r\n"), "", 0},
    {STR_INIT("5\r\nhello\r\n0\r\n\r\n"), "hello", 0},
    {STR_INIT("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET "), "hello world", 4},
    {STR_INIT("00005\r\nhello\r\n000\r\n\r\n"), "hello", 0},
    {STR_INIT("a\r\n0123456789\r\n0\r\n\r\n"), "0123456789", 0},
    {STR_INIT("A\r\n0123456789\r\n0\r\n\r\n"), "0123456789", 0},
    {STR_INIT("5;a=b;c=\"d\"\r\nhello\r\n0;x\r\n\r\n"), "hello", 0},
    {STR_INIT("1\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\nz"), "x", 1},
    {STR_INIT("2\r\n\r\n\r\n0\r\n\r\n"), "\r\n", 0},

    {STR_INIT("\r\n"), NULL, 0},
    {STR_INIT("g\r\n"), NULL, 0},
    {STR_INIT("-1\r\n"), NULL, 0},
    {STR_INIT("+5\r\nhello\r\n"), NULL, 0},
    {STR_INIT(" 5\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5 \r\nhello\r\n"), NULL, 0},
    {STR_INIT("5 ;x\r\nhello\r\n"), NULL, 0},
    {STR_INIT("0x5\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5\nhello\r\n"), NULL, 0},
    {STR_INIT("5\r\rhello"), NULL, 0},
    {STR_INIT("5\rhello\r\n"), NULL, 0},
    {STR_INIT("5;a\nhello\r\n"), NULL, 0},
    {STR_INIT("5;\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5;;a\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5;=a\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5;a=\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5;a@b\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5;a=\"b\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5;a=\"b\"c\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5;a=\"\\\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5;a\rb\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5;\0\r\nhello\r\n"), NULL, 0},
    {STR_INIT("5\r\nhelloX\r\n"), NULL, 0},
    {STR_INIT("5\r\nhello\n0\r\n\r\n"), NULL, 0},
    {STR_INIT("5\r\nhello0\r\n\r\n"), NULL, 0},
    {STR_INIT("5\r\nhello\r0"), NULL, 0},
    {STR_INIT("ffffffffffffffff\r\n"), NULL, 0},
    {STR_INIT("10000000000000005\r\nhello"), NULL, 0},
    {STR_INIT("0000000000000000\r\n\r\n"), NULL, 0},
    {STR_INIT("0\r\n\n"), NULL, 0},
    {STR_INIT("0\r\n\rX"), NULL, 0},
    {STR_INIT("0\r\nA : b\r\n\r\n"), NULL, 0},
    {STR_INIT("0\r\n: b\r\n\r\n"), NULL, 0},
    {STR_INIT("0\r\n A: b\r\n\r\n"), NULL, 0},
    {STR_INIT("0\r\nA: b\n\r\n"), NULL, 0},
    {STR_INIT("0\r\nA: b\rc\r\n\r\n"), NULL, 0},
    {STR_INIT("0\r\nA\r\n\r\n"), NULL, 0},
    {STR_INIT("0\r\nA: \x01\r\n\r\n"), NULL, 0},
};

TEST(chunked)
{
    struct buf out;
    buf_init(&out, 4096);
    for (size_t i = 0; i < ARRAY_LEN(CHUNKED); i++) {
        for (size_t step = 1; step <= CHUNKED[i].in.n; step++) {
            struct http_body b = chunked();
            size_t used;
            buf_clear(&out);
            enum http_parse got = feed(&b, CHUNKED[i].in, step, &out, &used);
            if (got != (CHUNKED[i].body ? HTTP_PARSE_DONE : HTTP_PARSE_BAD))
                fail_msg("case %zu in pieces of %zu: %d", i, step, got);
            if (!CHUNKED[i].body)
                continue;
            assert_string_equal(buf_cstr(&out), CHUNKED[i].body);
            assert_int_equal(used, CHUNKED[i].in.n - CHUNKED[i].after);
            assert_true(http_body_is_done(&b));
        }
    }
    buf_done(&out);
    print_message("%zu chunked bodies, each cut in every size\n", ARRAY_LEN(CHUNKED));
}

TEST(length)
{
    struct http_head h = {.framing = HTTP_FRAMING_LENGTH, .content_length = 5};
    struct buf out;
    buf_init(&out, 64);
    for (size_t step = 1; step < 9; step++) {
        struct http_body b;
        size_t used;
        uint64_t left;
        http_body_init(&b, &h);
        assert_true(http_body_length_left(&b, &left));
        assert_int_equal(left, 5);
        buf_clear(&out);
        assert_int_equal(feed(&b, STR("helloGET"), step, &out, &used), HTTP_PARSE_DONE);
        assert_string_equal(buf_cstr(&out), "hello");
        assert_int_equal(used, 5);
    }
    struct http_body none;
    http_body_init(&none, &(struct http_head){.framing = HTTP_FRAMING_NONE});
    assert_true(http_body_is_done(&none));
    http_body_init(&none, &(struct http_head){.framing = HTTP_FRAMING_LENGTH});
    assert_true(http_body_is_done(&none));
    buf_done(&out);
}

/* Extensions and trailers share one ceiling; so do many short ones. */
TEST(extra_ceiling)
{
    struct buf in, out;
    size_t used;
    buf_init(&in, 1 << 20);
    buf_init(&out, 1 << 20);
    for (unsigned n = HTTP_CHUNK_EXTRA_MAX; n <= HTTP_CHUNK_EXTRA_MAX + 1; n++) {
        struct http_body b = chunked();
        buf_clear(&in);
        buf_add_lit(&in, "0;");
        for (unsigned i = 0; i < n; i++)
            buf_add_char(&in, 'e');
        buf_add_lit(&in, "\r\n\r\n");
        assert_int_equal(feed(&b, buf_str(&in), 1000, &out, &used),
                         n > HTTP_CHUNK_EXTRA_MAX ? HTTP_PARSE_BAD : HTTP_PARSE_DONE);
    }
    struct http_body b = chunked();
    buf_clear(&in);
    for (unsigned i = 0; i < HTTP_CHUNK_EXTRA_MAX; i++)
        buf_add_lit(&in, "1;ab\r\nx\r\n");
    assert_int_equal(feed(&b, buf_str(&in), 1000, &out, &used), HTTP_PARSE_BAD);
    b = chunked();
    buf_clear(&in);
    buf_add_lit(&in, "0\r\n");
    for (unsigned i = 0; i < HTTP_CHUNK_EXTRA_MAX; i++)
        buf_add_lit(&in, "A: b\r\n");
    assert_int_equal(feed(&b, buf_str(&in), 1000, &out, &used), HTTP_PARSE_BAD);
    buf_done(&in);
    buf_done(&out);
}

TEST(failure_is_final)
{
    struct http_body b = chunked();
    str in = STR("x"), data;
    assert_int_equal(http_body_next(&b, &in, &data), HTTP_PARSE_BAD);
    in = STR("0\r\n\r\n");
    assert_int_equal(http_body_next(&b, &in, &data), HTTP_PARSE_BAD);
    assert_false(http_body_is_done(&b));
}
