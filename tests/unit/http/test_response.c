#include "probe.h"

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

static void reply_text(struct http_req *r)
{
    http_reply(r, 200, "text/plain", STR("hello"));
}

TEST(default_headers)
{
    static const struct {
        const char *name, *value;
    } WANTED[] = {
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "strict-origin-when-cross-origin"},
        {"X-XSS-Protection", "0"},
        {"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
        {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"},
        {"Cache-Control", "no-store"},
        {"Content-Type", "text/plain"},
        {"Content-Length", "5"},
    };
    struct reply r;
    time_t before = time(NULL);
    probe(reply_text, STR(GET), &r);
    time_t after = time(NULL);
    for (size_t i = 0; i < ARRAY_LEN(WANTED); i++) {
        const char *value = reply_header(&r, WANTED[i].name);
        assert_non_null(value);
        assert_string_equal(value, WANTED[i].value);
    }
    const char *date = reply_header(&r, "Date");
    assert_non_null(date);
    struct tm tm;
    const char *end = strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    assert_true(end && !*end);
    assert_in_range(timegm(&tm), before - 1, after + 1);
    assert_null(reply_header(&r, "Connection"));
    reply_done(&r);
}

/* Refusals of the server itself carry them as well. */
TEST(refusals_have_them_too)
{
    struct reply r;
    probe(reply_text, STR("GET / HTTP/1.1\r\n\r\n"), &r);
    assert_int_equal(r.status, 400);
    assert_string_equal(reply_header(&r, "X-Frame-Options"), "DENY");
    assert_string_equal(reply_header(&r, "Content-Type"), "application/json");
    assert_string_equal(reply_header(&r, "Connection"), "close");
    assert_string_equal(buf_cstr(&r.body),
                        "{\"error\":\"bad_request\",\"message\":\"no Host header\"}");
    reply_done(&r);
}

static void reply_replaced(struct http_req *r)
{
    http_add_header(r, "content-security-policy", STR("default-src 'self'"));
    http_add_header(r, "X-Frame-Options", STR_NONE);
    http_add_header(r, "Set-Cookie", STR("a=1"));
    http_add_header(r, "Set-Cookie", STR("b=2"));
    http_reply(r, 201, "text/plain", STR_NONE);
}

TEST(replaced_headers)
{
    struct reply r;
    probe(reply_replaced, STR(GET), &r);
    assert_int_equal(r.status, 201);
    assert_non_null(strstr(r.head, "HTTP/1.1 201 Created\r\n"));
    assert_string_equal(reply_header(&r, "Content-Security-Policy"), "default-src 'self'");
    assert_null(strstr(r.head, "default-src 'none'"));
    assert_null(reply_header(&r, "X-Frame-Options"));
    assert_non_null(strstr(r.head, "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n"));
    assert_string_equal(reply_header(&r, "Content-Length"), "0");
    reply_done(&r);
}

static void reply_with_control(struct http_req *r)
{
    http_add_header(r, "X-Name", STR("a\r\nSet-Cookie: b=1"));
    http_reply(r, 200, "text/plain", STR("hello"));
}

static void reply_with_too_much(struct http_req *r)
{
    char *long_text = arena_alloc(&r->arena, HTTP_HEADERS_OUT_MAX);
    memset(long_text, 'x', HTTP_HEADERS_OUT_MAX);
    http_add_header(r, "X-Long", str_make(long_text, HTTP_HEADERS_OUT_MAX));
    http_reply(r, 200, "text/plain", STR("hello"));
}

static void reply_with_foreign_type(struct http_req *r)
{
    http_reply(r, 200, "text/html\r\nX-Evil: 1", STR("hello"));
}

TEST(headers_that_cannot_be_sent)
{
    void (*const HANDLERS[])(struct http_req *) = {reply_with_control, reply_with_too_much};
    for (size_t i = 0; i < ARRAY_LEN(HANDLERS); i++) {
        struct reply r;
        probe(HANDLERS[i], STR(GET), &r);
        assert_int_equal(r.status, 500);
        assert_null(reply_header(&r, "Set-Cookie"));
        assert_non_null(strstr(buf_cstr(&r.body), "internal_error"));
        reply_done(&r);
    }
    struct reply r;
    probe(reply_with_foreign_type, STR(GET), &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "Content-Type"), "application/octet-stream");
    assert_null(reply_header(&r, "X-Evil"));
    reply_done(&r);
}

TEST(head)
{
    struct reply r;
    probe(reply_text, STR("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"), &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "Content-Length"), "5");
    reply_done(&r);
}

static void reply_nothing(struct http_req *r)
{
    http_reply(r, 204, NULL, STR_NONE);
}

TEST(no_content)
{
    struct reply r;
    probe(reply_nothing, STR(GET), &r);
    assert_int_equal(r.status, 204);
    assert_null(reply_header(&r, "Content-Length"));
    assert_null(reply_header(&r, "Content-Type"));
    reply_done(&r);
}

static void reply_json(struct http_req *r)
{
    struct json *v = json_new(&r->arena, JSON_OBJECT);
    json_set(&r->arena, v, STR("a"), json_of_int(1));
    http_reply_json(r, 202, v);
}

static void reply_error(struct http_req *r)
{
    struct json *v = json_new(&r->arena, JSON_OBJECT);
    json_set(&r->arena, v, STR("limit"), json_of_int(3));
    http_reply_error(r, 429, "too_fast", "Slow \"down\".", v);
}

TEST(json)
{
    struct reply r;
    probe(reply_json, STR(GET), &r);
    assert_int_equal(r.status, 202);
    assert_string_equal(reply_header(&r, "Content-Type"), "application/json");
    assert_string_equal(buf_cstr(&r.body), "{\"a\":1}");
    reply_done(&r);
    probe(reply_error, STR(GET), &r);
    assert_int_equal(r.status, 429);
    assert_string_equal(buf_cstr(&r.body),
                        "{\"error\":\"too_fast\",\"message\":\"Slow \\\"down\\\".\","
                        "\"details\":{\"limit\":3}}");
    reply_done(&r);
}

static void reply_huge_json(struct http_req *r)
{
    size_t n = 1 << 20;
    char *text = arena_alloc(&r->arena, n);
    memset(text, 'x', n);
    struct json *v = json_new(&r->arena, JSON_ARRAY);
    for (size_t i = 0; i <= HTTP_REPLY_MAX / n; i++)
        json_push(&r->arena, v, json_of_str(str_make(text, n)));
    http_reply_json(r, 200, v);
}

TEST(json_ceiling)
{
    struct reply r;
    probe(reply_huge_json, STR(GET), &r);
    assert_int_equal(r.status, 500);
    assert_non_null(strstr(buf_cstr(&r.body), "internal_error"));
    reply_done(&r);
}

static void reply_static(struct http_req *r)
{
    static char big[3 << 20];
    memset(big, 's', sizeof(big));
    http_reply_static(r, 200, "text/plain", str_make(big, sizeof(big)));
}

TEST(static_body)
{
    struct reply r;
    probe(reply_static, STR(GET), &r);
    assert_int_equal(r.body.n, 3 << 20);
    for (size_t i = 0; i < r.body.n; i++)
        assert_int_equal(r.body.p[i], 's');
    reply_done(&r);
}

TEST(status_text)
{
    assert_string_equal(http_status_text(404), "Not Found");
    assert_string_equal(http_status_text(999), "Unknown");
}
