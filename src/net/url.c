#include "net/url.h"

#include <errno.h>

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_host_char(char c)
{
    return is_alnum(c) || c == '-' || c == '.' || c == '_';
}

static bool is_literal_char(char c)
{
    return is_alnum(c) || c == ':' || c == '.';
}

static bool is_ipv4_char(char c)
{
    return (c >= '0' && c <= '9') || c == '.';
}

static bool all_chars(str s, bool (*accept)(char))
{
    for (size_t i = 0; i < s.n; i++) {
        if (!accept(s.p[i]))
            return false;
    }
    return s.n > 0;
}

static int check_bytes(str s, struct err *e)
{
    if (s.n > URL_MAX)
        return err_set(e, -EINVAL, "the URL is longer than %d bytes", URL_MAX);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c >= 0x7f || c == '\\')
            return err_set(e, -EINVAL,
                           "the URL has a space, backslash, control or non-ASCII character at "
                           "position %zu; write it percent-encoded",
                           i + 1);
    }
    return 0;
}

static int parse_scheme(str *rest, struct url *u, struct err *e)
{
    if (str_starts_nocase(*rest, STR("https://"))) {
        u->is_https = true;
        *rest = str_skip(*rest, sizeof("https://") - 1);
        return 0;
    }
    if (str_starts_nocase(*rest, STR("http://"))) {
        *rest = str_skip(*rest, sizeof("http://") - 1);
        return 0;
    }
    return err_set(e, -EINVAL, "the URL does not start with https:// or http://");
}

static int parse_port(str s, struct url *u, struct err *e)
{
    uint64_t port;
    if (parse_u64(s, &port) < 0 || port == 0 || port > UINT16_MAX)
        return err_set(e, -EINVAL, "the URL's port is not a number from 1 to 65535");
    u->port = (uint16_t)port;
    return 0;
}

static int parse_literal(str authority, struct url *u, struct err *e)
{
    ptrdiff_t close = str_find_char(authority, ']');
    u->host = close < 0 ? STR_NONE : str_slice(authority, 1, (size_t)close);
    u->is_ip_literal = true;
    if (!all_chars(u->host, is_literal_char))
        return err_set(e, -EINVAL, "the URL's host in brackets is not an IPv6 address");
    str rest = str_skip(authority, (size_t)close + 1);
    if (rest.n == 0)
        return 0;
    if (rest.p[0] != ':')
        return err_set(e, -EINVAL, "the URL has text between its host and its port");
    return parse_port(str_skip(rest, 1), u, e);
}

static int parse_authority(str authority, struct url *u, struct err *e)
{
    ptrdiff_t at = str_rfind_char(authority, '@');
    if (at >= 0) {
        u->has_userinfo = true;
        authority = str_skip(authority, (size_t)at + 1);
    }
    u->port = u->is_https ? 443 : 80;
    if (authority.n > 0 && authority.p[0] == '[')
        return parse_literal(authority, u, e);
    ptrdiff_t colon = str_find_char(authority, ':');
    u->host = colon < 0 ? authority : str_slice(authority, 0, (size_t)colon);
    if (!all_chars(u->host, is_host_char))
        return err_set(e, -EINVAL, "the URL has no valid host name");
    return colon < 0 ? 0 : parse_port(str_skip(authority, (size_t)colon + 1), u, e);
}

int url_parse(str s, struct url *ret, struct err *e)
{
    struct url u = {0};
    str rest = s;
    int rc = check_bytes(s, e);
    if (rc == 0)
        rc = parse_scheme(&rest, &u, e);
    if (rc < 0)
        return rc;
    size_t end = 0;
    while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?' && rest.p[end] != '#')
        end++;
    rc = parse_authority(str_slice(rest, 0, end), &u, e);
    if (rc < 0)
        return rc;
    u.target = str_skip(rest, end);
    ptrdiff_t fragment = str_find_char(u.target, '#');
    if (fragment >= 0)
        u.target = str_slice(u.target, 0, (size_t)fragment);
    *ret = u;
    return 0;
}

bool url_same_origin(const struct url *a, const struct url *b)
{
    return a->is_https == b->is_https && a->port == b->port &&
           a->is_ip_literal == b->is_ip_literal && str_eq_nocase(a->host, b->host);
}

bool url_is_local(const struct url *u)
{
    if (u->is_ip_literal)
        return str_eq(u->host, STR("::1"));
    return str_eq_nocase(u->host, STR("localhost")) ||
           (str_starts(u->host, STR("127.")) && all_chars(u->host, is_ipv4_char));
}

int url_add_origin(struct buf *out, const struct url *u)
{
    (void)buf_printf(out, u->is_ip_literal ? "%s://[%.*s]" : "%s://%.*s",
                     u->is_https ? "https" : "http", STR_ARG(u->host));
    if (u->port != (u->is_https ? 443 : 80))
        (void)buf_printf(out, ":%u", (unsigned)u->port);
    return buf_failed(out) ? -ENOBUFS : 0;
}

void url_encode(struct buf *out, str s, const char *also)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') ||
                        (c != 0 && (strchr("-._~", c) || (also && strchr(also, c))));
        if (is_plain)
            buf_add_char(out, c);
        else
            buf_printf(out, "%%%02X", (unsigned char)c);
    }
}

void url_add_param(struct buf *out, const char *name, str value)
{
    if (out->n > 0)
        buf_add_char(out, '&');
    buf_add_lit(out, name);
    buf_add_char(out, '=');
    url_encode(out, value, NULL);
}
