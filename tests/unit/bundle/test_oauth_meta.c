#include <errno.h>

#include "bundle/oauth/oauth_meta.h"
#include "unit/bundle/arena_rig.h"

TEST(a_challenge_says_where_and_what)
{
    static const struct {
        const char *header, *metadata, *scope;
    } CASES[] = {
        {"Bearer resource_metadata=\"https://x/meta\", scope=\"a b\"", "https://x/meta", "a b"},
        {"Bearer scope=a,resource_metadata=https://x/m", "https://x/m", "a"},
        {"Bearer error=\"invalid_token\", Scope=\"a\"", "", "a"},
        {"Bearer x_scope=\"no\", scopes=\"no\"", "", ""},
        {"Bearer scope=\"open", "", "open"},
        {"Bearer scope=", "", ""},
        {"Bearer scope", "", ""},
        {"", "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct oauth_challenge c;
        oauth_challenge_parse(str_from(CASES[i].header), &c);
        assert_true(str_eq(c.resource_metadata, str_from(CASES[i].metadata)));
        assert_true(str_eq(c.scope, str_from(CASES[i].scope)));
    }
}

static const char *join(const str *list, size_t n)
{
    str all = STR_NONE;
    for (size_t i = 0; i < n; i++)
        all = arena_printf(&arena, "%.*s%s%.*s", STR_ARG(all), i ? " " : "", STR_ARG(list[i]));
    return n > 0 ? all.p : "";
}

TEST(places_are_tried_in_order)
{
    struct oauth_challenge none = {0}, named = {.resource_metadata = STR("https://y/meta")};
    str p[OAUTH_PLACES_MAX];
    assert_string_equal(join(p, oauth_resource_places(&arena, STR("https://x/a/mcp?q"), &none, p)),
                        "https://x/.well-known/oauth-protected-resource/a/mcp "
                        "https://x/.well-known/oauth-protected-resource");
    assert_string_equal(join(p, oauth_resource_places(&arena, STR("https://x:8443/"), &none, p)),
                        "https://x:8443/.well-known/oauth-protected-resource");
    assert_string_equal(join(p, oauth_resource_places(&arena, STR("https://x/mcp"), &named, p)),
                        "https://y/meta");
    assert_string_equal(join(p, oauth_server_places(&arena, STR("https://as/tenant"), p)),
                        "https://as/.well-known/oauth-authorization-server/tenant "
                        "https://as/.well-known/openid-configuration/tenant "
                        "https://as/tenant/.well-known/openid-configuration");
    assert_string_equal(join(p, oauth_server_places(&arena, STR("https://as"), p)),
                        "https://as/.well-known/oauth-authorization-server "
                        "https://as/.well-known/openid-configuration");
    assert_int_equal(oauth_server_places(&arena, STR("javascript:x"), p), 0);
}

TEST(a_resource_is_the_server_or_what_it_is_part_of)
{
    static const struct {
        const char *resource;
        bool is_about;
    } CASES[] = {
        {"https://x/mcp", true},
        {"https://x/mcp/", true},
        {"https://x", true},
        {"https://x/", true},
        {"https://x/mc", false},
        {"https://x/mcp/v1", false},
        {"https://x:8443/mcp", false},
        {"http://x/mcp", false},
        {"https://x.evil/mcp", false},
        {"https://evil/mcp", false},
        {"", false},
        {"/mcp", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_int_equal(oauth_is_about(str_from(CASES[i].resource), STR("https://x/mcp")),
                         CASES[i].is_about);
}

TEST(resource_metadata)
{
    struct oauth_resource r;
    struct err e = {0};
    assert_int_equal(
        oauth_resource_decode(&arena,
                              STR("{\"resource\":\"https://x/\",\"authorization_servers\":["
                                  "\"https://as\"],\"scopes_supported\":[\"a\",\"b\",1]}"),
                              STR("https://x/mcp"), &r, &e),
        0);
    assert_true(str_eq(r.resource, STR("https://x/"))); /* as it is printed */
    assert_true(str_eq(r.issuer, STR("https://as")) && str_eq(r.scope, STR("a b")));
    assert_int_equal(oauth_resource_decode(&arena,
                                           STR("{\"resource\":\"https://evil/\","
                                               "\"authorization_servers\":[\"https://as\"]}"),
                                           STR("https://x/mcp"), &r, &e),
                     -EACCES);
    assert_int_equal(oauth_resource_decode(&arena, STR("{\"resource\":\"https://x/mcp\"}"),
                                           STR("https://x/mcp"), &r, &e),
                     -EPROTO);
    assert_int_equal(oauth_resource_decode(&arena, STR("<html>"), STR("https://x/mcp"), &r, &e),
                     -EPROTO);
}

static str resource_with_scopes(size_t n)
{
    struct buf b;
    buf_init(&b, 64u * 1024);
    buf_add_lit(&b, "{\"resource\":\"https://x/mcp\",\"authorization_servers\":[\"https://as\"],"
                    "\"scopes_supported\":[\"a\"");
    for (size_t i = 1; i < n; i++)
        buf_add_lit(&b, ",\"a\"");
    buf_add_lit(&b, "]}");
    str ret = arena_str(&arena, buf_str(&b));
    buf_done(&b);
    return ret;
}

TEST(a_scope_has_a_ceiling)
{
    struct oauth_resource r;
    struct oauth_challenge c;
    struct err e = {0};
    size_t most = OAUTH_SCOPE_MAX / 2; /* letters and spaces between them */
    assert_int_equal(
        oauth_resource_decode(&arena, resource_with_scopes(most), STR("https://x/mcp"), &r, &e), 0);
    assert_int_equal(r.scope.n, 2 * most - 1);
    assert_int_equal(
        oauth_resource_decode(&arena, resource_with_scopes(most + 1), STR("https://x/mcp"), &r, &e),
        0);
    assert_int_equal(r.scope.n, 0);
    char *word = arena_alloc(&arena, OAUTH_SCOPE_MAX + 1);
    memset(word, 'a', OAUTH_SCOPE_MAX + 1);
    oauth_challenge_parse(arena_printf(&arena, "Bearer scope=\"%.*s\"", (int)OAUTH_SCOPE_MAX, word),
                          &c);
    assert_int_equal(c.scope.n, OAUTH_SCOPE_MAX);
    oauth_challenge_parse(
        arena_printf(&arena, "Bearer scope=\"%.*s\"", (int)OAUTH_SCOPE_MAX + 1, word), &c);
    assert_int_equal(c.scope.n, 0);
}

/* more: members that come first, and count. */
static int decode_server(const char *more, struct oauth_server *ret, struct err *e)
{
    str text = arena_printf(
        &arena, "{\"issuer\":\"https://as\",%s\"token_endpoint\":\"https://as/t\"}", more);
    *e = (struct err){0};
    return oauth_server_decode(&arena, text, STR("https://as"), ret, e);
}

#define AUTHORIZE "\"authorization_endpoint\":\"https://as/a\","
#define PKCE      "\"code_challenge_methods_supported\":[\"plain\",\"S256\"],"

TEST(server_metadata)
{
    struct oauth_server s;
    struct err e;
    assert_int_equal(decode_server(AUTHORIZE PKCE, &s, &e), 0);
    assert_true(s.auth == OAUTH_AUTH_BASIC && !s.takes_public && !s.has_offline_access);
    assert_int_equal(decode_server(AUTHORIZE PKCE
                                   "\"scopes_supported\":[\"offline_access\"],"
                                   "\"token_endpoint_auth_methods_supported\":[\"none\","
                                   "\"client_secret_post\"],",
                                   &s, &e),
                     0);
    assert_true(s.auth == OAUTH_AUTH_POST && s.takes_public && s.has_offline_access);
    assert_int_equal(decode_server(AUTHORIZE, &s, &e), -EACCES);
    assert_non_null(strstr(e.msg, "PKCE"));
    assert_int_equal(decode_server(PKCE, &s, &e), -EPROTO);
    assert_int_equal(
        decode_server(PKCE "\"authorization_endpoint\":\"javascript:alert(1)\",", &s, &e), -EPROTO);
    assert_int_equal(
        oauth_server_decode(&arena, STR("{\"issuer\":\"https://as/\"}"), STR("https://as"), &s, &e),
        -EACCES);
}

static int check(const char *query, bool sends_issuer, struct err *e)
{
    struct oauth_server s = {.issuer = STR("https://as"), .sends_issuer = sends_issuer};
    struct oauth_callback c;
    *e = (struct err){0};
    oauth_callback_parse(&arena, str_from(query), &c);
    return oauth_callback_check(&c, &s, STR("s 1"), e);
}

TEST(only_the_right_answer_counts)
{
    struct err e;
    assert_int_equal(check("code=x&state=s+1", false, &e), 0);
    assert_int_equal(check("state=s%201&code=x&iss=https%3A%2F%2Fas", true, &e), 0);
    assert_int_equal(check("code=x&state=s", false, &e), -EACCES);
    assert_int_equal(check("code=x", false, &e), -EACCES);
    assert_int_equal(check("code=x&state=s+1", true, &e), -EACCES);
    assert_int_equal(check("code=x&state=s+1&iss=https%3A%2F%2Fas%2F", false, &e), -EACCES);
    assert_int_equal(check("error=denied&state=s+1&iss=evil", false, &e), -EACCES);
    assert_int_equal(check("error=denied&error_description=no%21&state=s+1", false, &e), -EPERM);
    assert_non_null(strstr(e.msg, "denied: no!"));
    assert_int_equal(check("state=s+1", false, &e), -EPROTO);
    assert_int_equal(check("%&=&&state=s+1%2", false, &e), -EACCES);
}

TESTS_SHARE(setup, teardown)
