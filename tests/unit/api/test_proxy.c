#include "api/ingress/proxy.h"
#include "support/unit.h"

static struct http_req *request(struct http_req *r, const char *peer, struct http_header *headers,
                                size_t n)
{
    *r = (struct http_req){.headers = headers, .nheaders = n, .path = STR("/")};
    arena_init(&r->arena);
    snprintf(r->peer_addr, sizeof r->peer_addr, "%s", peer);
    return r;
}

TEST(the_client_is_whom_trusted_proxies_saw)
{
    static const struct {
        const char *peer, *forwarded, *client;
    } CASES[] = {
        {"192.0.2.1", "", "192.0.2.1"},
        {"192.0.2.1", "198.51.100.9", "192.0.2.1"}, /* anybody may claim that */
        {"127.0.0.1", "198.51.100.9", "198.51.100.9"},
        {"::ffff:127.0.0.1", "198.51.100.9", "198.51.100.9"},
        {"127.0.0.1", "203.0.113.5, 198.51.100.9", "198.51.100.9"},
        {"127.0.0.1", "203.0.113.5, 198.51.100.9 , 10.1.2.3", "198.51.100.9"},
        {"127.0.0.1", "10.1.1.1,10.1.2.3", "10.1.1.1"},
        {"127.0.0.1", "nonsense", "127.0.0.1"},
        {"127.0.0.1", "nonsense, 10.1.2.3", "10.1.2.3"},
        {"127.0.0.1", ",", "127.0.0.1"},
        {"2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::"},
        {"127.0.0.1", "2001:db8:1:2:ffff::9", "2001:db8:1:2::"},
        {"", "", ""},
    };
    str trusted[] = {STR("127.0.0.1"), STR("10.0.0.0/8")};
    struct config_http h = {.trusted_proxies = {trusted, 2}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct http_header list[] = {{STR("x-forwarded-for"), STR("198.51.100.77")},
                                     {STR("X-Forwarded-For"), str_from(CASES[i].forwarded)}};
        struct http_req r;
        str got = proxy_client(&h, request(&r, CASES[i].peer, list, 2));
        if (!str_eq(got, str_from(CASES[i].client)))
            fail_msg("%s, %s: %.*s", CASES[i].peer, CASES[i].forwarded, STR_ARG(got));
        arena_done(&r.arena);
    }
}

TEST(addresses_have_the_base_path)
{
    struct config_http h = {.base_path = STR("/a/nb")};
    struct http_header list[] = {{STR("host"), STR("example.org")},
                                 {STR("x-forwarded-proto"), STR("https")}};
    struct http_req r;
    str url = proxy_own_url(&h, request(&r, "", list, 2), "/mcp");
    assert_true(str_eq(url, STR("https://example.org/a/nb/mcp")));
    arena_done(&r.arena);
    url = proxy_own_url(&(struct config_http){0}, request(&r, "", list, 1), "/mcp");
    assert_true(str_eq(url, STR("http://example.org/mcp")));
    arena_done(&r.arena);
}

TEST(the_base_path_is_taken_off_once)
{
    static const struct {
        const char *path, *left;
    } CASES[] = {
        {"/nb/", "/"},        {"/nb/v1/health", "/v1/health"}, {"/v1/health", "/v1/health"},
        {"/nbx/y", "/nbx/y"}, {"/nb/nb/x", "/nb/x"},           {"/", "/"},
    };
    struct config_http h = {.base_path = STR("/nb")};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct http_req r = {.path = str_from(CASES[i].path)};
        assert_true(proxy_strip_base(&h, &r));
        assert_true(str_eq(r.path, str_from(CASES[i].left)));
    }
}

TEST(cookies_want_tls_beyond_this_machine)
{
    static const struct {
        const char *host, *proto, *origin;
        bool is_insecure, wants, loses;
    } CASES[] = {
        {"localhost:1", "", "http://localhost:1", false, false, false},
        {"127.0.0.1", "", "http://127.0.0.1", false, false, false},
        {"192.0.2.1", "", "http://192.0.2.1", false, true, true},
        {"192.0.2.1", "", "", false, true, false},
        {"nb.example.org", "", "https://nb.example.org", false, true, false},
        {"192.0.2.1", "", "http://192.0.2.1", true, false, false},
        {"nb.example.org", "https", "https://nb.example.org", true, true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct config_http h = {.insecure_cookies = CASES[i].is_insecure};
        struct http_header list[] = {{STR("host"), str_from(CASES[i].host)},
                                     {STR("x-forwarded-proto"), str_from(CASES[i].proto)},
                                     {STR("origin"), str_from(CASES[i].origin)}};
        struct http_req r;
        request(&r, "", list, 3);
        if (proxy_wants_secure(&h, &r) != CASES[i].wants ||
            proxy_loses_cookies(&h, &r) != CASES[i].loses)
            fail_msg("case %zu", i);
        arena_done(&r.arena);
    }
}
