#include "api/ingress/guard.h"
#include "support/unit.h"

TEST(hosts)
{
    static const struct {
        const char *host;
        bool ok;
    } CASES[] = {
        {"127.0.0.1", true},
        {"127.0.0.1:27247", true},
        {"localhost", true},
        {"LOCALHOST:1", true},
        {"[::1]", true},
        {"[::1]:80", true},
        {"10.0.0.5:27247", true},
        {"nb.example.org", true},
        {"nb.example.org:443", true},
        {"other.example.org:443", true},
        {"another.example.org", false},
        {"", false},
        {"evil.example", false},
        {"localhost.evil.example", false},
        {"127.0.0.1.evil.example", false},
        {"evil.example:27247", false},
        {"[::1", false},
        {"127.0.0.1:x", false},
        {"127.1", false},
        {"0x7f000001", false},
        {"::1", false},
        {"localhost:80:80", false},
        {"[localhost]", false},
    };
    str more[] = {STR("Other.example.org")};
    struct guard_rules rules = {.own_host = "nb.example.org", .hosts = {more, 1}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        if (guard_host_ok(str_from(CASES[i].host), &rules) != CASES[i].ok)
            fail_msg("Host '%s' should be %s", CASES[i].host, CASES[i].ok ? "allowed" : "refused");
}

TEST(origins)
{
    static const struct {
        const char *origin, *host;
        bool ok;
    } CASES[] = {
        {"", "127.0.0.1:1", true},
        {"http://127.0.0.1:1", "127.0.0.1:1", true},
        {"https://nb.example.org", "nb.example.org", true},
        {"http://127.0.0.1:2", "127.0.0.1:1", false},
        {"http://localhost:1", "127.0.0.1:1", false},
        {"null", "127.0.0.1:1", false},
        {"http://evil.example", "127.0.0.1:1", false},
        {"file://127.0.0.1:1", "127.0.0.1:1", false},
        {"http://127.0.0.1:1.evil.example", "127.0.0.1:1", false},
        {"chrome-extension://127.0.0.1:1", "127.0.0.1:1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        if (guard_origin_ok(str_from(CASES[i].origin), str_from(CASES[i].host)) != CASES[i].ok)
            fail_msg("Origin '%s' at '%s'", CASES[i].origin, CASES[i].host);
}

TEST(links_of_other_sites)
{
    static const struct {
        const char *method, *mode;
        int status;
    } CASES[] = {
        {"GET", "navigate", 0},  {"HEAD", "navigate", 0},     {"POST", "navigate", 403},
        {"GET", "no-cors", 403}, {"DELETE", "navigate", 403}, {"POST", "cors", 403},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct http_header headers[] = {
            {STR("host"), STR("localhost")},
            {STR("sec-fetch-site"), STR("cross-site")},
            {STR("sec-fetch-mode"), str_from(CASES[i].mode)},
        };
        struct http_req r = {.method = str_from(CASES[i].method),
                             .headers = headers,
                             .nheaders = ARRAY_LEN(headers)};
        struct guard_refusal refusal = {0};
        struct guard_rules rules = {.own_host = "localhost"};
        (void)guard_check(&r, &rules, &refusal);
        assert_int_equal(refusal.status, CASES[i].status);
    }
}

/* Writes with a cookie: no page of another origin, and no page that does not say which. */
TEST(cookie_writes)
{
    static const struct {
        const char *origin, *site;
        bool ok;
    } CASES[] = {
        {"http://localhost", "", true},
        {"http://localhost", "same-origin", true},
        {"https://app.example", "cross-site", true},
        {"", "same-origin", true},
        {"", "", false},
        {"", "same-site", false},
        {"", "none", false},
        {"null", "same-origin", false},
        {"http://evil.example", "", false},
        {"http://localhost.evil.example", "", false},
        {"http://localhost:8080", "", false},
    };
    str listed[] = {STR("https://app.example")};
    struct guard_rules rules = {.own_host = "localhost", .origins = {listed, 1}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct http_header headers[] = {
            {STR("host"), STR("localhost")},
            {STR("origin"), str_from(CASES[i].origin)},
            {STR("sec-fetch-site"), str_from(CASES[i].site)},
        };
        struct http_req r = {.headers = headers, .nheaders = ARRAY_LEN(headers)};
        if (guard_same_site(&r, &rules) != CASES[i].ok)
            fail_msg("Origin '%s', site '%s'", CASES[i].origin, CASES[i].site);
    }
}

TEST(loopback_names)
{
    static const struct {
        const char *host;
        bool ok;
    } CASES[] = {
        {"localhost:27247", true},  {"127.0.0.1", true}, {"127.8.8.8:1", true},
        {"[::1]:80", true},         {"10.0.0.1", false}, {"nb.example.org", false},
        {"127.example.org", false}, {"[::2]", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        if (guard_is_loopback(str_from(CASES[i].host)) != CASES[i].ok)
            fail_msg("%s", CASES[i].host);
}
