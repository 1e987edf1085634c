#include "api/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include "base/hash.h"

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
    if (name.n >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", STR_ARG(name));
    return inet_pton(is_v6 ? AF_INET6 : AF_INET, text, addr) == 1;
}

bool guard_host_ok(str host_header, const char *own_host)
{
    str name;
    bool is_v6;
    if (!split_host(host_header, &name, &is_v6) || name.n == 0)
        return false;
    if (is_v6 || is_ip_literal(name, false))
        return is_ip_literal(name, is_v6);
    return str_eq_nocase(name, STR("localhost")) || str_eq_nocase(name, str_from(own_host));
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

static bool key_ok(const struct http_req *r, str key)
{
    str given = http_get_header(r, "authorization");
    if (!str_starts_nocase(given, STR("Bearer ")))
        return false;
    given = str_trim(str_skip(given, 7));
    /* Hashes have equal lengths, so the comparison tells nothing about the key. */
    uint8_t a[SHA256_LEN], b[SHA256_LEN];
    sha256(given, a);
    sha256(key, b);
    return bytes_eq_const_time(a, b, sizeof a);
}

/* A link on another page may lead here; a form of another page may not post here. */
static bool is_followed_link(const struct http_req *r)
{
    return str_eq(http_get_header(r, "sec-fetch-mode"), STR("navigate")) &&
           (str_eq(r->method, STR("GET")) || str_eq(r->method, STR("HEAD")));
}

int guard_check(const struct http_req *r, const char *own_host, str key, bool is_open,
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
    if (!guard_host_ok(host, own_host)) {
        *ret = (struct guard_refusal){
            403, "host_not_allowed",
            "This server does not answer to that Host name. Use its IP address or localhost, or "
            "set http.host to the name."};
        return -EACCES;
    }
    str origin = http_get_header(r, "origin");
    bool is_cross_site =
        str_eq(http_get_header(r, "sec-fetch-site"), STR("cross-site")) && !is_followed_link(r);
    if (!guard_origin_ok(origin, host) || is_cross_site) {
        *ret = (struct guard_refusal){403, "origin_not_allowed",
                                      "Requests from pages of other origins are refused."};
        return -EACCES;
    }
    if (!is_open && key.n > 0 && !key_ok(r, key)) {
        *ret = (struct guard_refusal){401, "unauthorized",
                                      "Send the API key: Authorization: Bearer <NB_API_KEY>."};
        return -EACCES;
    }
    return 0;
}
