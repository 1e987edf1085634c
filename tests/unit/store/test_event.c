#include <errno.h>

#include "store/event/event.h"
#include "store/event/text.h"
#include "store/store.h"
#include "support/unit.h"

TEST(scan)
{
    static const struct {
        const char *line;
        bool is_event;
        enum event_type type;
        const char *ts;
    } cases[] = {
        {"{\"type\":\"run.done\"}", true, EV_RUN_DONE, ""},
        {"{\"ts\":\"x\",\"type\":\"new.thing\"}", true, EV_UNKNOWN, "\"x\""},
        {"{\"timestamp\":1,\"role\":\"user\"}", true, EV_LEGACY_MESSAGE, "1"},
        {"{\"timestamp\":1,\"ts\":2,\"role\":\"user\",\"type\":\"note\"}", true, EV_NOTE, "2"},
        {"{\"ts\":1,\"type\":\"note\",\"ts\":2,\"type\":\"run.done\"}", true, EV_NOTE, "1"},
        {"{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"run.done\",\"type\":\"note\"}", true,
         EV_RUN_DONE, "\"2026-01-01T00:00:00.000Z\""},
        /* 24 bytes that are not one string; escapes */
        {"{\"ts\":\"202600\",\"type\":\"run.done\",\"type\":\"note\"}", true, EV_RUN_DONE,
         "\"202600\""},
        {"{\"ts\":\"2026-01-01T00:00:00.00\\\"\",\"type\":\"note\"}", true, EV_NOTE,
         "\"2026-01-01T00:00:00.00\\\"\""},
        {"{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"\",\"role\":\"user\"}", true,
         EV_LEGACY_MESSAGE, "\"2026-01-01T00:00:00.000Z\""},
        {"{\"data\":{\"type\":\"run.done\"}}", false, EV_UNKNOWN, ""},
        {"{\"id\":\"x\",\"createdAt\":\"y\"}", false, EV_UNKNOWN, ""},
        {"{\"type\":\"run.done\"", false, EV_UNKNOWN, ""},
        {"{\"type\":7}", false, EV_UNKNOWN, ""},
        {"[]", false, EV_UNKNOWN, ""},
        {"", false, EV_UNKNOWN, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct event_head head;
        bool is_event = event_scan(str_from(cases[i].line), &head);
        if (is_event != cases[i].is_event || (is_event && head.type != cases[i].type) ||
            (is_event && !str_eq(head.ts, str_from(cases[i].ts))))
            fail_msg("case %zu: %s", i, cases[i].line);
        struct event_head peeked;
        if (is_event) {
            assert_true(event_peek(str_from(cases[i].line), &peeked));
            assert_int_equal(peeked.type, head.type);
            assert_true(str_eq(peeked.type_name, head.type_name) && str_eq(peeked.ts, head.ts));
        }
    }
}

TEST(types_with_text)
{
    struct arena a;
    struct json *v;
    struct event_text text;
    str event = STR("{\"content\":\"c\",\"title\":\"t\",\"output\":\"o\",\"name\":\"n\"}");
    arena_init(&a);
    assert_int_equal(json_parse(&a, event, 0, &v, NULL), 0);
    for (int t = EV_UNKNOWN; t <= EV_LEGACY_MESSAGE; t++)
        assert_int_equal(text_in_type((enum event_type)t),
                         text_of_event(&a, (enum event_type)t, v, &text));
    arena_done(&a);
}

TEST(prepare)
{
    struct arena a;
    str line;
    struct err e;
    arena_init(&a);
    assert_int_equal(event_prepare(&a, STR("{\"type\":\"a\",\"n\":1.0}"), 0, &line, &e), 0);
    assert_true(
        str_eq(line, STR("{\"ts\":\"1970-01-01T00:00:00.000Z\",\"type\":\"a\",\"n\":1.0}\n")));
    assert_int_equal(event_prepare(&a, STR(" {\"ts\":\"t\",\"type\":\"a\"}\n"), 0, &line, &e), 0);
    assert_true(str_eq(line, STR("{\"ts\":\"t\",\"type\":\"a\"}\n")));
    assert_int_equal(event_prepare(&a, STR("{\"ts\":\"t\",\r\n\"type\":\"a\\n\"}"), 0, &line, &e),
                     0);
    assert_true(str_eq(line, STR("{\"ts\":\"t\",\"type\":\"a\\n\"}\n")));
    assert_int_equal(event_prepare(&a, STR("{\"type\":\"a\xff\"}"), 0, &line, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "not valid JSON"));
    assert_int_equal(event_prepare(&a, STR("{\"no\":1}"), 0, &line, &e), -EINVAL);
    arena_done(&a);
}

TEST(begin_and_time)
{
    struct arena a;
    struct buf b;
    struct json_writer w;
    struct json *v;
    int64_t ms;
    arena_init(&a);
    buf_init(&b, 1000);
    event_begin(&w, &b, EV_NOTE, 1234567890123);
    jw_kint(&w, "x", 1);
    jw_end(&w);
    assert_string_equal(buf_cstr(&b),
                        "{\"ts\":\"2009-02-13T23:31:30.123Z\",\"type\":\"note\",\"x\":1}");
    assert_int_equal(json_parse(&a, buf_str(&b), 0, &v, NULL), 0);
    assert_true(event_time(v, &ms));
    assert_int_equal(ms, 1234567890123);
    assert_int_equal(json_parse(&a, STR("{\"createdAt\":5}"), 0, &v, NULL), 0);
    assert_true(event_time(v, &ms));
    assert_int_equal(ms, 5);
    assert_int_equal(json_parse(&a, STR("{\"ts\":\"soon\"}"), 0, &v, NULL), 0);
    assert_false(event_time(v, &ms));
    buf_done(&b);
    arena_done(&a);
}
