#include <errno.h>

#include "net/url.h"
#include "support/unit.h"

static struct url good(const char *text)
{
    struct url u;
    struct err e = {0};
    if (url_parse(str_from(text), &u, &e) < 0)
        fail_msg("%s: %s", text, e.msg);
    return u;
}

static void assert_str(str s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.p ? s.p : "", expected, s.n);
}

TEST(takes_urls_apart)
{
    struct url u = good("https://api.example.com/v1/messages?x=1#part");
    assert_true(u.is_https);
    assert_false(u.has_userinfo);
    assert_int_equal(u.port, 443);
    assert_str(u.host, "api.example.com");
    assert_str(u.target, "/v1/messages?x=1");

    u = good("HTTP://127.0.0.1:11434");
    assert_false(u.is_https);
    assert_int_equal(u.port, 11434);
    assert_str(u.host, "127.0.0.1");
    assert_str(u.target, "");

    u = good("http://[::1]:80?q");
    assert_true(u.is_ip_literal);
    assert_str(u.host, "::1");
    assert_str(u.target, "?q");

    u = good("https://user:pass@word@h/x@y");
    assert_true(u.has_userinfo);
    assert_str(u.host, "h");
    assert_str(u.target, "/x@y");
}

TEST(refuses_what_others_might_read_differently)
{
    static const char *const BAD[] = {
        "",
        "https:",
        "https://",
        "https:///x",
        "ftp://example.com/",
        "file:///etc/passwd",
        "//example.com/",
        "example.com",
        "https:/example.com",
        "https://exa mple.com/",
        "https://example.com/a b",
        "https://example.com/\r\nHost: x",
        "https://example.com\\@evil.com/",
        "https://ex\xC3\xA4mple.com/",
        "https://example%2ecom/",
        "https://example.com:/",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:80x/",
        "https://a:b:c/",
        "https://[::1/",
        "https://[]/",
        "https://[::1]x/",
        "https://[::1%25eth0]/",
        "https://user@/",
        "https://@/",
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        struct url u;
        struct err e = {0};
        if (url_parse(str_from(BAD[i]), &u, &e) != -EINVAL)
            fail_msg("accepted: %s", BAD[i]);
        assert_true(e.msg[0] != '\0');
    }
    struct url u;
    assert_int_equal(url_parse(STR("https://a/\0b"), &u, NULL), -EINVAL);
}

TEST(has_a_ceiling)
{
    char text[URL_MAX + 2];
    memset(text, 'a', sizeof(text));
    memcpy(text, "https://h/", 10);
    struct url u;
    assert_int_equal(url_parse((str){text, URL_MAX}, &u, NULL), 0);
    assert_int_equal(url_parse((str){text, URL_MAX + 1}, &u, NULL), -EINVAL);
}

static bool same(const char *a, const char *b)
{
    struct url x = good(a), y = good(b);
    return url_same_origin(&x, &y);
}

TEST(compares_origins)
{
    assert_true(same("https://Example.com/a", "https://example.com:443/b"));
    assert_true(same("http://h:80", "http://h/?x"));
    assert_false(same("http://h/", "https://h/"));
    assert_false(same("http://h/", "http://h:8080/"));
    assert_false(same("http://h/", "http://h2/"));
    assert_false(same("http://example.com", "http://example.com.evil.net"));
}

TEST(knows_local_hosts)
{
    static const struct {
        const char *url;
        bool is_local;
    } ROWS[] = {
        {"http://localhost:1/", true},   {"http://LOCALHOST/", true},
        {"http://127.0.0.1/", true},     {"http://[::1]/", true},
        {"http://127.evil.com/", false}, {"http://localhost.evil.com/", false},
        {"http://192.168.0.1/", false},  {"http://[::2]/", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct url u = good(ROWS[i].url);
        assert_int_equal(url_is_local(&u), ROWS[i].is_local);
    }
}

static void assert_origin(const char *url, const char *expected)
{
    struct url u = good(url);
    struct buf b;
    buf_init(&b, 1000);
    assert_int_equal(url_add_origin(&b, &u), 0);
    assert_string_equal(buf_cstr(&b), expected);
    buf_done(&b);
}

TEST(origin_hides_path_and_credentials)
{
    assert_origin("https://u:secret@h/path?key=secret", "https://h");
    assert_origin("http://[::1]:8080/x", "http://[::1]:8080");
    assert_origin("https://h:443/", "https://h");
    assert_origin("http://h:443/", "http://h:443");
}

TEST(parameters_are_percent_encoded)
{
    struct buf b;
    buf_init(&b, 1000);
    url_add_param(&b, "a", STR("x y&z=\xc3\xa4+~"));
    url_add_param(&b, "b", STR(""));
    assert_string_equal(buf_cstr(&b), "a=x%20y%26z%3D%C3%A4%2B~&b=");
    buf_clear(&b);
    url_encode(&b, STR("@a/b?\0"), "@/");
    assert_string_equal(buf_cstr(&b), "@a/b%3F%00");
    buf_done(&b);
}
