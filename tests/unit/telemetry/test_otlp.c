/* Spans in the JSON encoding of OTLP: hexadecimal ids, 64-bit numbers as strings. */
#include "support/unit.h"
#include "telemetry/otlp.h"

static struct buf out;

static void write_span(const struct otlp_span *s)
{
    struct json_writer w;
    jw_start(&w, &out, 65536);
    otlp_write_span(&w, s);
}

TEST(a_span_with_everything)
{
    const struct otlp_attribute attributes[] = {
        {"a", .text = STR("x\"y")},
        {"b", .number = 9007199254740993, .is_number = true},
        {"c", .text = STR("stop"), .is_list = true},
        {"left.out", .text = STR_NONE},
    };
    struct otlp_span s = {.trace = {0xab},
                          .id = {1},
                          .parent = {2},
                          .has_parent = true,
                          .name = STR("chat m"),
                          .kind = OTLP_CLIENT,
                          .start_ms = 1700000000000,
                          .end_ms = 1700000000005,
                          .attributes = attributes,
                          .nattributes = 4,
                          .is_error = true,
                          .message = STR("why")};
    write_span(&s);
    assert_string_equal(
        buf_cstr(&out),
        "{\"traceId\":\"ab000000000000000000000000000000\",\"spanId\":\"0100000000000000\","
        "\"parentSpanId\":\"0200000000000000\",\"name\":\"chat m\",\"kind\":3,"
        "\"startTimeUnixNano\":\"1700000000000000000\",\"endTimeUnixNano\":\"1700000000005000000\","
        "\"attributes\":[{\"key\":\"a\",\"value\":{\"stringValue\":\"x\\\"y\"}},"
        "{\"key\":\"b\",\"value\":{\"intValue\":\"9007199254740993\"}},"
        "{\"key\":\"c\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"stop\"}]}}}],"
        "\"status\":{\"code\":2,\"message\":\"why\"}}");
    buf_done(&out);
}

static const char *real_of(double v)
{
    static char text[64];
    const struct otlp_attribute one = {"k", .real = v, .is_real = true};
    struct otlp_span s = {.name = STR("n"), .attributes = &one, .nattributes = 1};
    write_span(&s);
    const char *at = strstr(buf_cstr(&out), "\"doubleValue\":");
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s", (int)strcspn(at + 14, "}"), at + 14);
    buf_done(&out);
    return text;
}

TEST(amounts_are_exact_to_a_billionth)
{
    static const struct {
        double value;
        const char *text;
    } CASES[] = {
        {0, "0"},
        {-0.0, "0"},
        {0.25, "0.25"},
        {0.000123456789, "0.000123457"},
        {5e-8, "0.00000005"},
        {1e-12, "0"},
        {-1.5, "-1.5"},
        {12, "12"},
        {999999.125, "999999.125"},
        {2e12, "2000000000000"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_string_equal(real_of(CASES[i].value), CASES[i].text);
}

TEST(a_long_text_is_cut_at_a_character)
{
    char text[OTLP_TEXT_MAX + 8];
    memset(text, 'x', sizeof text);
    memcpy(text + OTLP_TEXT_MAX - 1, "\xc3\xa9", 2);
    const struct otlp_attribute one = {"k", .text = {text, sizeof text}};
    struct otlp_span s = {.name = STR("n"), .attributes = &one, .nattributes = 1};
    struct arena a;
    struct json *v;
    arena_init(&a);
    write_span(&s);
    assert_int_equal(json_parse(&a, buf_str(&out), 0, &v, NULL), 0);
    str cut =
        json_get_string(json_get(json_at(json_get(v, "attributes"), 0), "value"), "stringValue");
    assert_int_equal(cut.n, OTLP_TEXT_MAX - 1);
    assert_null(json_get(v, "parentSpanId"));
    buf_done(&out);
    arena_done(&a);
}

TEST(a_body_is_json)
{
    struct arena a;
    struct json *v;
    struct otlp_span s = {.name = STR("n"), .kind = OTLP_INTERNAL};
    arena_init(&a);
    buf_init(&out, 65536);
    struct json_writer w;
    struct otlp_collector c = {.conf.service_name = STR("my \"nb\""), .instance = STR("i")};
    otlp_begin(&w, &out, OTLP_SPANS, &c);
    otlp_write_span(&w, &s);
    otlp_write_span(&w, &s);
    jw_close(&w);
    assert_int_equal(json_parse(&a, buf_str(&out), 0, &v, NULL), 0);
    const struct json *scope =
        json_at(json_get(json_at(json_get(v, "resourceSpans"), 0), "scopeSpans"), 0);
    assert_int_equal(json_get(scope, "spans")->len, 2);
    buf_done(&out);
    arena_done(&a);
}
