#include "apps/ui_csp.h"
#include "support/unit.h"

static struct arena arena;

static int set_up(void **state)
{
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    arena_done(&arena);
    return 0;
}

static struct ui_csp csp_of(const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(&arena, str_from(text), JSON_COPY, &v, NULL), 0);
    return ui_csp_read(&arena, v);
}

TEST(one_host_source_is_accepted)
{
    static const char *const GOOD[] = {
        "https://example.com",
        "http://localhost:8080",
        "wss://live.example.com",
        "ws://127.0.0.1:*",
        "https://*.example.com",
        "https://*.cdn.example.com:8443",
        "https://a.b/lib/x-1.2_~/%20",
        "https://xn--bcher-kva.com",
        "https://a",
    };
    for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
        assert_true(ui_csp_is_source(str_from(GOOD[i])));
}

TEST(everything_that_is_more_or_less_than_a_host_source_is_refused)
{
    static const char *const BAD[] = {
        "",
        "*",
        "https:",
        "https://",
        "https://*",
        "https://*.",
        "//example.com",
        "example.com",
        "data:",
        "blob:",
        "'self'",
        "'unsafe-eval'",
        "'none'",
        "https://a.b; script-src *",
        "https://a.b;",
        "https://a.b,https://c.d",
        "https://a.b https://c.d",
        " https://a.b",
        "https://a.b ",
        "https://a.b\tx",
        "https://a.b\nx",
        "https://a.b'",
        "https://a.b\"",
        "https://a.*.b",
        "https://user@a.b",
        "https://a.b:",
        "https://a.b:x",
        "https://a.b:123456",
        "https://a..b",
        "https://.a",
        "https://a.",
        "https://-a",
        "https://a.b/x?y",
        "https://a.b/x#y",
        "https://[::1]",
        "ftp://a.b",
        "HTTPS://a.b",
        "javascript:alert(1)",
        "https://a.b/\xc3\xa9",
        "https://\xc3\xa9.b",
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_false(ui_csp_is_source(str_from(BAD[i])));
    assert_false(ui_csp_is_source(str_make("https://a\0b", 11)));
}

TEST_WITH(nothing_may_be_contacted_without_a_declaration, set_up, tear_down)
{
    struct ui_csp none = ui_csp_read(&arena, NULL);
    assert_string_equal(
        ui_csp_header(&arena, &none, STR("http://127.0.0.1:1"), true).p,
        "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; "
        "style-src 'self' 'unsafe-inline' blob: data:; img-src 'self' data: blob:; "
        "font-src 'self' data: blob:; media-src 'self' data: blob:; worker-src 'self' blob:; "
        "connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'; "
        "form-action 'none'; frame-ancestors http://127.0.0.1:1");
}

TEST_WITH(a_shared_origin_means_a_sandbox_and_no_access_to_that_origin, set_up, tear_down)
{
    struct ui_csp none = ui_csp_read(&arena, NULL), some = csp_of("{}");
    str h = ui_csp_header(&arena, &none, STR("https://nb.example.com"), false);
    assert_true(str_ends(h, STR("frame-ancestors https://nb.example.com; "
                                "sandbox allow-scripts allow-forms")));
    assert_true(str_find(h, STR("'self'"), 0) < 0);
    h = ui_csp_header(&arena, &some, STR("http://[::1]:1"), false);
    assert_true(str_find(h, STR("connect-src 'none'"), 0) >= 0);
    assert_true(str_find(h, STR("frame-ancestors 'self'"), 0) >= 0);
}

TEST_WITH(declared_hosts_appear_where_they_belong, set_up, tear_down)
{
    struct ui_csp csp =
        csp_of("{\"connectDomains\":[\"wss://c.d\"],\"resourceDomains\":[\"https://r.d\"],"
               "\"frameDomains\":[\"https://f.d\"],\"baseUriDomains\":[\"https://b.d\"]}");
    str h = ui_csp_header(&arena, &csp, STR("http://a"), true);
    static const char *const PARTS[] = {
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data: https://r.d;",
        "img-src 'self' data: blob: https://r.d;",
        "worker-src 'self' blob: https://r.d;",
        "connect-src 'self' wss://c.d;",
        "frame-src https://f.d;",
        "base-uri https://b.d;",
    };
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++)
        assert_true(str_find(h, str_from(PARTS[i]), 0) >= 0);
    assert_int_equal(csp.dropped.len, 0);
}

TEST_WITH(what_is_refused_is_reported, set_up, tear_down)
{
    struct ui_csp csp =
        csp_of("{\"connectDomains\":[\"https://x; script-src *\",7,null,\"https://ok.d\"],"
               "\"resourceDomains\":\"https://not-a-list.d\"}");
    assert_int_equal(csp.connect.len, 1);
    assert_int_equal(csp.resource.len, 0);
    assert_int_equal(csp.dropped.len, 3);
    assert_string_equal(csp.dropped.items[0].p, "https://x; script-src *");
    assert_string_equal(csp.dropped.items[1].p, "7");
}

TEST_WITH(lists_have_a_ceiling, set_up, tear_down)
{
    struct json *v = json_new(&arena, JSON_OBJECT), *list = json_new(&arena, JSON_ARRAY);
    for (int i = 0; i < 200; i++)
        json_push(&arena, list,
                  json_of_str(arena_printf(&arena, "https://host-%d.example.com", i)));
    json_set(&arena, v, STR("connectDomains"), *list);
    json_set(&arena, v, STR("resourceDomains"), *list);
    json_set(&arena, v, STR("frameDomains"), *list);
    json_set(&arena, v, STR("baseUriDomains"), *list);
    struct ui_csp csp = ui_csp_read(&arena, v);
    assert_int_equal(csp.connect.len, UI_CSP_SOURCES_MAX);
    assert_true(ui_csp_header(&arena, &csp, STR("http://a"), true).n < 12 * 1024);
    assert_true(ui_csp_allowlist(&arena, &csp, true).n < 12 * 1024);
    list->items[0] = json_of_str(arena_printf(&arena, "https://a/%01100d", 0));
    assert_int_equal(ui_csp_read(&arena, v).connect.len, UI_CSP_SOURCES_MAX);
}

TEST_WITH(connections_that_no_policy_governs_have_a_list, set_up, tear_down)
{
    struct ui_csp none = csp_of("{}");
    str h = ui_csp_allowlist(&arena, &none, false);
    assert_string_equal(h.p, "();redirects=allow;webrtc=block");
    struct ui_csp csp = csp_of("{\"connectDomains\":[\"wss://c.d:8443\",\"https://*.e.f\"],"
                               "\"resourceDomains\":[\"https://r.d/lib/x\"],"
                               "\"frameDomains\":[\"http://f.d:*\"]}");
    h = ui_csp_allowlist(&arena, &csp, true);
    assert_string_equal(h.p, "(response-origin \"wss://c.d:8443\" \"https://*.e.f\" "
                             "\"https://r.d\" \"http://f.d:*\");redirects=allow;webrtc=block");
}
