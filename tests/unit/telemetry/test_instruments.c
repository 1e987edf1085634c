/* Histograms: classes, labels, ceilings, and their two formats. */
#include "base/arena.h"
#include "support/unit.h"
#include "telemetry/instruments.h"

static struct buf out;

static void add_request(struct instruments *x, const char *route, double seconds)
{
    const str labels[INSTRUMENT_LABELS_MAX] = {STR("GET"), str_from(route), STR("200")};
    instruments_add(x, INSTRUMENT_REQUESTS, labels, seconds);
}

static bool has_line(const char *line)
{
    return strstr(buf_cstr(&out), line) != NULL;
}

static void write_prometheus(const struct instruments *x)
{
    buf_init(&out, 16u * 1024 * 1024);
    instruments_write_prometheus(x, &out);
    assert_false(buf_failed(&out));
}

TEST(values_are_counted_in_their_class_and_all_above)
{
    struct instruments *x = instruments_new();
    add_request(x, "/v1/chat", 0.005); /* a bound belongs to its class */
    add_request(x, "/v1/chat", 0.02);
    add_request(x, "/v1/chat", 100);
    write_prometheus(x);
#define SERIES "{method=\"GET\",route=\"/v1/chat\",status=\"200\""
    assert_true(has_line("# TYPE nb_http_request_duration_seconds histogram\n"));
    assert_true(has_line("nb_http_request_duration_seconds_bucket" SERIES ",le=\"0.005\"} 1\n"));
    assert_true(has_line("nb_http_request_duration_seconds_bucket" SERIES ",le=\"0.01\"} 1\n"));
    assert_true(has_line("nb_http_request_duration_seconds_bucket" SERIES ",le=\"0.025\"} 2\n"));
    assert_true(has_line("nb_http_request_duration_seconds_bucket" SERIES ",le=\"10\"} 2\n"));
    assert_true(has_line("nb_http_request_duration_seconds_bucket" SERIES ",le=\"+Inf\"} 3\n"));
    assert_true(has_line("nb_http_request_duration_seconds_sum" SERIES "} 100.025\n"));
    assert_true(has_line("nb_http_request_duration_seconds_count" SERIES "} 3\n"));
    buf_done(&out);
    instruments_free(x);
}

TEST(labels_are_escaped_cut_and_left_out_when_empty)
{
    struct instruments *x = instruments_new();
    char word[1000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const str labels[INSTRUMENT_LABELS_MAX] = {STR("chat"), STR("a\"b\\c\nd"), str_from(word)};
    instruments_add(x, INSTRUMENT_OPERATIONS, labels, 1);
    write_prometheus(x);
    assert_true(has_line("{operation=\"chat\",provider=\"a\\\"b\\\\c d\",model=\"www"));
    word[201] = '\0';
    assert_null(strstr(buf_cstr(&out), word));
    assert_null(strstr(buf_cstr(&out), "error="));
    buf_done(&out);
    instruments_free(x);
}

TEST(series_beyond_the_ceiling_are_counted_as_one)
{
    struct instruments *x = instruments_new();
    char name[32];
    for (int i = 0; i < INSTRUMENT_SERIES_MAX + 10; i++) {
        snprintf(name, sizeof name, "/%d", i);
        add_request(x, name, 1);
    }
    write_prometheus(x);
    assert_true(has_line("_count{otel_metric_overflow=\"true\"} 10\n"));
    assert_false(has_line("route=\"/515\""));
    buf_done(&out);
    instruments_free(x);
}

TEST(otlp_has_the_same_numbers)
{
    struct instruments *x = instruments_new();
    struct arena a;
    struct json *v;
    struct json_writer w;
    add_request(x, "/v1/chat", 0.02);
    add_request(x, "/v1/chat", 0.02);
    arena_init(&a);
    jw_start(&w, &out, 1u << 20);
    jw_array(&w);
    instruments_write_otlp(x, &w);
    jw_close(&w);
    assert_int_equal(json_parse(&a, buf_str(&out), 0, &v, NULL), 0);
    assert_int_equal(v->len, 1); /* instruments without values are left out */
    const struct json *m = json_at(v, 0), *h = json_get(m, "histogram");
    const struct json *p = json_at(json_get(h, "dataPoints"), 0);
    assert_true(str_eq(json_get_string(m, "name"), STR("http.server.request.duration")));
    assert_int_equal(json_get(h, "aggregationTemporality")->i, 2);
    assert_true(str_eq(json_get_string(p, "count"), STR("2")));
    assert_int_equal(json_get(p, "bucketCounts")->len, json_get(p, "explicitBounds")->len + 1);
    assert_true(str_eq(json_at(json_get(p, "bucketCounts"), 2)->s, STR("2")));
    const struct json *status = json_at(json_get(p, "attributes"), 2);
    assert_true(str_eq(json_get_string(json_get(status, "value"), "intValue"), STR("200")));
    buf_done(&out);
    arena_done(&a);
    instruments_free(x);
}
