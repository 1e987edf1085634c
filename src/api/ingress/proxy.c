#include "api/ingress/proxy.h"

#include <assert.h>

#include "api/ingress/guard.h"
#include "base/bytes/ip.h"

#define NETWORK_BYTES 8 /* prefix of an IPv6 address that counts as one client */

bool proxy_strip_base(const struct config_http *h, struct http_req *r)
{
    str base = h->base_path;
    if (base.n == 0 || !str_starts(r->path, base))
        return true;
    if (r->path.n == base.n) {
        http_add_header(r, "Location", arena_concat(&r->arena, base, STR("/")));
        http_reply(r, 308, NULL, STR_NONE);
        return false;
    }
    if (r->path.p[base.n] == '/')
        r->path = str_skip(r->path, base.n);
    return true;
}

bool proxy_is_tls(const struct config_http *h, const struct http_req *r)
{
    return (h->tls_cert.n > 0 && !r->is_local_socket) ||
           str_eq_nocase(http_get_header(r, "x-forwarded-proto"), STR("https"));
}

str proxy_own_url(const struct config_http *h, struct http_req *r, const char *path)
{
    assert(path[0] == '/');
    return arena_printf(&r->arena, "%s://%.*s%.*s%s", proxy_is_tls(h, r) ? "https" : "http",
                        STR_ARG(http_get_header(r, "host")), STR_ARG(h->base_path), path);
}

/* ---- the client's address ---- */

static bool is_trusted(const struct config_http *h, const uint8_t ip[IP_LEN])
{
    struct ip_block b;
    for (size_t i = 0; i < h->trusted_proxies.len; i++)
        if (ip_block_parse(h->trusted_proxies.items[i], &b) == 0 && ip_block_has(&b, ip))
            return true;
    return false;
}

bool proxy_is_trusted(const struct config_http *h, str addr)
{
    uint8_t ip[IP_LEN];
    return ip_parse(addr, ip) == 0 && is_trusted(h, ip);
}

/* Each proxy appends the address that it saw, so the list is read from its end. */
static str last_of(str *list)
{
    ptrdiff_t comma = str_rfind_char(*list, ',');
    str last = str_trim(str_skip(*list, (size_t)(comma + 1)));
    *list = comma < 0 ? STR_NONE : str_slice(*list, 0, (size_t)comma);
    return last;
}

static str forwarded_for(const struct http_req *r)
{
    str last = STR_NONE;
    for (size_t i = 0; i < r->nheaders; i++)
        if (str_eq_nocase(r->headers[i].name, STR("x-forwarded-for")))
            last = r->headers[i].value;
    return last;
}

/* The last address that is not a trusted proxy, as far as the list goes. */
static bool find_client(const struct config_http *h, const struct http_req *r, uint8_t ip[IP_LEN])
{
    str list = forwarded_for(r);
    if (ip_parse(str_from(r->peer_addr), ip) < 0)
        return false;
    while (list.n > 0 && is_trusted(h, ip))
        if (ip_parse(last_of(&list), ip) < 0)
            break;
    return true;
}

str proxy_client(const struct config_http *h, struct http_req *r)
{
    uint8_t ip[IP_LEN];
    char text[IP_TEXT_MAX];
    if (!find_client(h, r, ip))
        return str_from(r->peer_addr);
    if (!ip_is_v4(ip))
        memset(ip + NETWORK_BYTES, 0, IP_LEN - NETWORK_BYTES);
    ip_format(ip, text);
    return arena_str(&r->arena, str_from(text));
}

bool proxy_count_client(const struct config_http *h, struct http_req *r)
{
    uint8_t ip[IP_LEN];
    char text[IP_TEXT_MAX];
    /* A proxy that sends no address must not make all its clients one client. */
    if (h->trusted_proxies.len == 0 || !find_client(h, r, ip) || is_trusted(h, ip))
        return true;
    ip_format(ip, text);
    return http_count_for_address(r, str_from(text));
}

/* ---- cookies ---- */

bool proxy_wants_secure(const struct config_http *h, const struct http_req *r)
{
    if (h->tls_cert.n > 0)
        return true;
    if (guard_is_loopback(http_get_header(r, "host")))
        return false;
    return !h->insecure_cookies || proxy_is_tls(h, r);
}

bool proxy_loses_cookies(const struct config_http *h, const struct http_req *r)
{
    return proxy_wants_secure(h, r) && str_starts(http_get_header(r, "origin"), STR("http://"));
}
