#include "api/ingress/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

/* Splits "name:port", "[v6]:port"; false when the port is not a number. */
static bool split_host(str header, str *ret_name, bool *ret_is_v6)
{
    str rest = header;
    *ret_is_v6 = false;
    if (str_starts(rest, STR("["))) {
        ptrdiff_t close = str_find_char(rest, ']');
        if (close < 0)
            return false;
        *ret_name = str_slice(rest, 1, (size_t)close);
        *ret_is_v6 = true;
        rest = str_skip(rest, (size_t)close + 1);
    } else {
        ptrdiff_t colon = str_find_char(rest, ':');
        *ret_name = colon < 0 ? rest : str_slice(rest, 0, (size_t)colon);
        rest = colon < 0 ? STR_NONE : str_skip(rest, (size_t)colon);
    }
    uint64_t port;
    return rest.n == 0 || (rest.p[0] == ':' && parse_u64(str_skip(rest, 1), &port) == 0);
}

static bool is_ip_literal(str name, bool is_v6)
{
    char text[64];
    unsigned char addr[16];
    if (name.n == 0 || name.n >= sizeof text || str_find_char(name, '\0') >= 0)
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    return inet_pton(is_v6 ? AF_INET6 : AF_INET, text, addr) == 1;
}

static bool is_listed(const struct json_strs *list, str s)
{
    for (size_t i = 0; i < list->len; i++)
        if (str_eq_nocase(list->items[i], s))
            return true;
    return false;
}

bool guard_host_ok(str host_header, const struct guard_rules *rules)
{
    str name;
    bool is_v6;
    if (!split_host(host_header, &name, &is_v6) || name.n == 0)
        return false;
    if (is_v6 || is_ip_literal(name, false))
        return is_ip_literal(name, is_v6);
    return str_eq_nocase(name, STR("localhost")) ||
           str_eq_nocase(name, str_from(rules->own_host)) || is_listed(&rules->hosts, name);
}

bool guard_is_loopback(str host_header)
{
    str name;
    bool is_v6;
    if (!split_host(host_header, &name, &is_v6))
        return false;
    if (is_v6)
        return str_eq(name, STR("::1"));
    return str_eq_nocase(name, STR("localhost")) ||
           (is_ip_literal(name, false) && str_starts(name, STR("127.")));
}

bool guard_origin_ok(str origin_header, str host_header)
{
    if (origin_header.n == 0)
        return true;
    str rest = origin_header;
    if (str_starts(rest, STR("http://")))
        rest = str_skip(rest, 7);
    else if (str_starts(rest, STR("https://")))
        rest = str_skip(rest, 8);
    else
        return false;
    return str_eq_nocase(rest, host_header);
}

bool guard_origin_listed(str origin_header, const struct guard_rules *rules)
{
    return origin_header.n > 0 && is_listed(&rules->origins, origin_header);
}

bool guard_same_site(const struct http_req *r, const struct guard_rules *rules)
{
    str origin = http_get_header(r, "origin");
    if (origin.n == 0)
        return str_eq(http_get_header(r, "sec-fetch-site"), STR("same-origin"));
    return guard_origin_ok(origin, http_get_header(r, "host")) ||
           guard_origin_listed(origin, rules);
}

/* A link on another site may lead here; a form of another site may not post here. */
static bool is_followed_link(const struct http_req *r)
{
    return str_eq(http_get_header(r, "sec-fetch-mode"), STR("navigate")) &&
           (str_eq(r->method, STR("GET")) || str_eq(r->method, STR("HEAD")));
}

/* Load balancers send HTTP/1.0 without a Host. The check protects browsers, which always send
 * one. */
static bool is_bare_health_check(const struct http_req *r, str host)
{
    static const char *const PATHS[] = {"/v1/health", "/healthz", "/readyz"};
    bool is_health = false;
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++)
        is_health |= str_ends(r->path, str_from(PATHS[i]));
    return is_health && host.n == 0 && http_get_header(r, "origin").n == 0;
}

int guard_check(const struct http_req *r, const struct guard_rules *rules,
                struct guard_refusal *ret)
{
    if (r->is_local_socket) {
        if (r->peer_uid == getuid())
            return 0;
        *ret = (struct guard_refusal){403, "forbidden",
                                      "This socket belongs to another user of the machine."};
        return -EACCES;
    }
    str host = http_get_header(r, "host");
    if (is_bare_health_check(r, host))
        return 0;
    if (!guard_host_ok(host, rules)) {
        *ret = (struct guard_refusal){
            403, "host_not_allowed",
            "This server does not answer to that Host name. Use its IP address or localhost, or "
            "add the name to http.allowedHosts."};
        return -EACCES;
    }
    str origin = http_get_header(r, "origin");
    if (guard_origin_listed(origin, rules))
        return 0;
    bool is_cross_site =
        str_eq(http_get_header(r, "sec-fetch-site"), STR("cross-site")) && !is_followed_link(r);
    if (!guard_origin_ok(origin, host) || is_cross_site) {
        *ret = (struct guard_refusal){403, "origin_not_allowed",
                                      "Requests from pages of other origins are refused."};
        return -EACCES;
    }
    return 0;
}
