#include <errno.h>

#include "net/sse_parse.h"
#include "support/unit.h"

/* Events are written down as "event|data|id|retry\n", so that tests compare text. */
struct record {
    struct sse_parser parser;
    struct buf text;
};

static void on_event(void *ctx, const struct sse_event *ev)
{
    struct record *r = ctx;
    buf_printf(&r->text, "%.*s|%.*s|%.*s|%lld\n", STR_ARG(ev->event), STR_ARG(ev->data),
               STR_ARG(ev->id), (long long)ev->retry_ms);
}

static void record_init(struct record *r, size_t max)
{
    buf_init(&r->text, 1 << 20);
    sse_parser_init(&r->parser, max, on_event, r);
}

static void record_done(struct record *r)
{
    sse_parser_done(&r->parser);
    buf_done(&r->text);
}

static void expect(str stream, const char *events)
{
    struct record r;
    record_init(&r, 4096);
    assert_int_equal(sse_parser_feed(&r.parser, stream), 0);
    assert_string_equal(buf_cstr(&r.text), events);
    record_done(&r);
}

static const char STREAM[] = "\xEF\xBB\xBF"
                             ": a comment\n"
                             "event: message_start\r\n"
                             "data: {\"a\":1}\r\n"
                             "\r\n"
                             "id: 7\rdata: gr\xC3\xBC\xC3\x9F dich \xF0\x9F\x98\x80\r\r"
                             "data: one\ndata:two\ndata:  three\n\n"
                             "retry: 250\nid\ndata\n\n"
                             "event: lost\ndata: cut off by the end";

static const char EVENTS[] = "message_start|{\"a\":1}||-1\n"
                             "message|gr\xC3\xBC\xC3\x9F dich \xF0\x9F\x98\x80|7|-1\n"
                             "message|one\ntwo\n three|7|-1\n"
                             "message|||250\n";

TEST(whole_stream)
{
    expect((str){STREAM, sizeof(STREAM) - 1}, EVENTS);
}

TEST(blocks_without_data_where_wanted)
{
    static const char STREAM_OF_IDS[] = "id: 1\n\nretry: 5\n\n: c\n\nevent: e\n\ndata: d\n\nid: 2";
    expect((str){STREAM_OF_IDS, sizeof(STREAM_OF_IDS) - 1}, "message|d|1|5\n");
    struct record r;
    record_init(&r, 4096);
    r.parser.wants_empty = true;
    assert_int_equal(sse_parser_feed(&r.parser, (str){STREAM_OF_IDS, sizeof(STREAM_OF_IDS) - 1}),
                     0);
    assert_string_equal(buf_cstr(&r.text), "message||1|-1\nmessage||1|5\nmessage|d|1|-1\n");
    record_done(&r);
}

TEST(split_at_every_byte)
{
    for (size_t cut = 0; cut <= sizeof(STREAM) - 1; cut++) {
        struct record r;
        record_init(&r, 4096);
        assert_int_equal(sse_parser_feed(&r.parser, (str){STREAM, cut}), 0);
        assert_int_equal(sse_parser_feed(&r.parser, (str){STREAM + cut, sizeof(STREAM) - 1 - cut}),
                         0);
        assert_string_equal(buf_cstr(&r.text), EVENTS);
        record_done(&r);
    }
}

TEST(one_byte_at_a_time)
{
    struct record r;
    record_init(&r, 4096);
    for (size_t i = 0; i < sizeof(STREAM) - 1; i++)
        assert_int_equal(sse_parser_feed(&r.parser, (str){STREAM + i, 1}), 0);
    assert_string_equal(buf_cstr(&r.text), EVENTS);
    record_done(&r);
}

TEST(line_ends_of_every_kind)
{
    expect(STR("data: a\n\ndata: b\r\rdata: c\r\n\r\ndata: d\n\r\n"),
           "message|a||-1\nmessage|b||-1\nmessage|c||-1\nmessage|d||-1\n");
    /* CR LF CR is two line ends, so the event is complete before the next LF comes. */
    expect(STR("data: a\r\n\r"), "message|a||-1\n");
}

TEST(blocks_without_data_are_no_events)
{
    expect(STR("event: ping\n\n: hi\n\n\n\ndata: x\n\n"), "message|x||-1\n");
}

TEST(empty_data_is_an_event)
{
    expect(STR("id: 1\ndata:\n\n"), "message||1|-1\n");
    expect(STR("data:\ndata:\n\n"), "message|\n||-1\n");
}

TEST(fields_as_the_standard_reads_them)
{
    expect(STR("Data: x\ndatax: y\n data: z\nfoo\ndata:ok\n\n"), "message|ok||-1\n");
    expect(STR("id: a\0b\ndata: x\n\n"), "message|x||-1\n");
    expect(STR("retry: 1x\ndata: x\n\n"), "message|x||-1\n");
    expect(STR("retry: -1\ndata: x\n\n"), "message|x||-1\n");
    expect(STR("retry: 99999999999999999999\ndata: x\n\n"), "message|x||-1\n");
    expect(STR("event: a\nevent: b\ndata: a:b\n\n"), "b|a:b||-1\n");
    expect(STR("\xEF\xBB\xBF\n\xEF\xBB\xBF"
               "data: no\ndata: yes\n\n"),
           "message|yes||-1\n");
}

TEST(ids_last_and_retry_waits_for_an_event)
{
    expect(STR("id: 1\n\nretry: 9\n\ndata: a\n\ndata: b\n\n"), "message|a|1|9\nmessage|b|1|-1\n");
}

static int feed_in_steps(struct sse_parser *p, const char *bytes, size_t n, size_t step)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i += step)
        rc = sse_parser_feed(p, (str){bytes + i, i + step < n ? step : n - i});
    return rc;
}

/* Data of exactly the ceiling passes, one byte more fails for good, however it is cut. */
TEST(data_has_a_ceiling)
{
    enum { MAX = 1000 };
    static const size_t STEPS[] = {1, 7, MAX, 10 * MAX};
    char text[MAX + 64];
    for (size_t extra = 0; extra < 2; extra++) {
        size_t n = (size_t)snprintf(text, sizeof(text), "data: %0*d\n\n", (int)(MAX + extra), 0);
        for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
            struct record r;
            record_init(&r, MAX);
            int rc = feed_in_steps(&r.parser, text, n, STEPS[i]);
            assert_int_equal(rc, extra ? -EMSGSIZE : 0);
            assert_int_equal(r.text.n > 0, !extra);
            assert_int_equal(sse_parser_feed(&r.parser, STR("\n\ndata: x\n\n")), rc);
            record_done(&r);
        }
    }
}

TEST(many_data_lines_count_together)
{
    struct record r;
    record_init(&r, 100);
    for (int i = 0; i < 25; i++)
        assert_int_equal(sse_parser_feed(&r.parser, STR("data: abc\n")), 0); /* 3 + LF each */
    assert_int_equal(sse_parser_feed(&r.parser, STR("data: abc\n")), -EMSGSIZE);
    assert_int_equal(r.text.n, 0);
    record_done(&r);
}

TEST(endless_line_and_names_are_bounded)
{
    struct record r;
    record_init(&r, 1 << 16);
    char name[SSE_NAME_MAX + 16];
    int n = snprintf(name, sizeof(name), "id: %0*d\n", SSE_NAME_MAX + 1, 0);
    assert_int_equal(sse_parser_feed(&r.parser, (str){name, (size_t)n}), -EMSGSIZE);
    record_done(&r);

    record_init(&r, 100);
    n = snprintf(name, sizeof(name), ": %0*d\n", 200, 0);
    assert_int_equal(sse_parser_feed(&r.parser, (str){name, (size_t)n}), -EMSGSIZE);
    record_done(&r);

    record_init(&r, 100);
    int rc = 0;
    for (int i = 0; i < 200 && rc == 0; i++)
        rc = sse_parser_feed(&r.parser, STR(": abcdefghi"));
    assert_int_equal(rc, -EMSGSIZE);
    record_done(&r);
}

TEST(large_event_gives_its_memory_back)
{
    struct record r;
    buf_init(&r.text, 4u << 20);
    sse_parser_init(&r.parser, 1u << 20, on_event, &r);
    assert_int_equal(sse_parser_feed(&r.parser, STR("data: ")), 0);
    char block[4096];
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 200; i++)
        assert_int_equal(sse_parser_feed(&r.parser, (str){block, sizeof(block)}), 0);
    assert_int_equal(sse_parser_feed(&r.parser, STR("\n\n")), 0);
    assert_int_equal(r.text.n, sizeof("message|||-1\n") - 1 + 200 * sizeof(block));
    assert_int_equal(r.parser.line.cap, 0);
    assert_int_equal(r.parser.data.cap, 0);
    record_done(&r);
}
