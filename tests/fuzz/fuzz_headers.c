/* Headers that browsers and proxies add to a request: Host, Origin, Cookie, X-Forwarded-For, the query.
 * The input is a request target and header lines. A host that is let in is one that no stranger
 * controls, an origin that is let in is the host's; values are slices of what was sent. */
#include <assert.h>

#include "api/ingress/guard.h"
#include "api/ingress/proxy.h"
#include "base/utf8.h"

enum { HEADERS_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_headers(str in, struct http_header *out)
{
    size_t n = 0;
    str line, name;
    while (n < HEADERS_MAX && str_split(&in, '\n', &line)) {
        if (str_split(&line, ':', &name) && name.n > 0)
            out[n++] = (struct http_header){.name = name, .value = str_trim(line)};
    }
    return n;
}

static void check_host(str host, const struct guard_rules *rules)
{
    bool is_ok = guard_host_ok(host, rules);
    assert(!is_ok || host.n > 0);
    for (size_t i = 0; is_ok && i < host.n; i++)
        assert((unsigned char)host.p[i] > ' ' && !strchr("/?#@\\", host.p[i]));
    /* Names of strangers, whatever surrounds them. */
    assert(!is_ok || str_find_nocase(host, STR("evil")) < 0);
    assert(!guard_is_loopback(host) || is_ok);
}

static void check_origin(str origin, str host)
{
    if (origin.n == 0 || !guard_origin_ok(origin, host))
        return;
    ptrdiff_t at = str_find(origin, STR("://"), 0);
    assert(at > 0 && str_eq_nocase(str_skip(origin, (size_t)at + 3), host));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static str names[] = {STR_INIT("nb.example.com")};
    static str proxies[] = {STR_INIT("127.0.0.1"), STR_INIT("10.0.0.0/8")};
    struct guard_rules rules = {.own_host = "127.0.0.1", .hosts = {names, 1}};
    struct config_http conf = {.base_path = STR("/nb"), .trusted_proxies = {proxies, 2}};
    struct guard_refusal why;
    struct http_header headers[HEADERS_MAX];
    str in = str_make((const char *)data, size), target = STR_NONE;
    (void)str_split(&in, '\n', &target);
    struct http_req r = {.method = STR("POST"), .path = STR("/"), .peer_addr = "127.0.0.1"};
    arena_init(&r.arena);
    ptrdiff_t mark = str_find_char(target, '?');
    r.query = mark < 0 ? STR_NONE : str_skip(target, (size_t)mark + 1);
    r.headers = headers;
    r.nheaders = read_headers(in, headers);

    str host = http_get_header(&r, "host"), origin = http_get_header(&r, "origin");
    check_host(host, &rules);
    check_origin(origin, host);
    assert(guard_check(&r, &rules, &why) < 0 || guard_host_ok(host, &rules));
    (void)guard_same_site(&r, &rules);
    (void)proxy_wants_secure(&conf, &r);
    str client = proxy_client(&conf, &r);
    assert(client.n > 0 && client.n < 64 && utf8_valid(client));
    str value = http_query(&r, "q");
    assert(value.n <= r.query.n);
    str cookie = http_cookie(&r, "nb_session");
    for (size_t i = 0; i < cookie.n; i++)
        assert(cookie.p[i] != ';');
    arena_done(&r.arena);
    return 0;
}
