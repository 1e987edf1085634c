#include "bundle/network/network_rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include "net/address.h"

/* ---- addresses ---- */

static void unmap(struct network_ip *ip)
{
    static const uint8_t MAPPED[12] = {[10] = 0xff, [11] = 0xff};
    if (!ip->is_v6 || memcmp(ip->at, MAPPED, sizeof(MAPPED)) != 0)
        return;
    uint8_t v4[4];
    memcpy(v4, ip->at + 12, 4);
    *ip = (struct network_ip){.is_v6 = false};
    memcpy(ip->at, v4, 4);
}

bool network_ip_parse(str text, struct network_ip *ret)
{
    char cstr[INET6_ADDRSTRLEN];
    *ret = (struct network_ip){.is_v6 = str_find_char(text, ':') >= 0};
    if (text.n == 0 || text.n >= sizeof(cstr) || memchr(text.p, 0, text.n))
        return false;
    memcpy(cstr, text.p, text.n);
    cstr[text.n] = 0;
    if (inet_pton(ret->is_v6 ? AF_INET6 : AF_INET, cstr, ret->at) != 1)
        return false;
    unmap(ret);
    return true;
}

bool network_ip_equal(const struct network_ip *x, const struct network_ip *y)
{
    return x->is_v6 == y->is_v6 && memcmp(x->at, y->at, x->is_v6 ? 16 : 4) == 0;
}

void network_ip_text(const struct network_ip *ip, char ret[INET6_ADDRSTRLEN])
{
    (void)inet_ntop(ip->is_v6 ? AF_INET6 : AF_INET, ip->at, ret, INET6_ADDRSTRLEN);
}

bool network_ip_from(const struct sockaddr *sa, struct network_ip *ret)
{
    *ret = (struct network_ip){.is_v6 = sa->sa_family == AF_INET6};
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof(in));
        memcpy(ret->at, &in.sin_addr, 4);
        return true;
    }
    if (sa->sa_family != AF_INET6)
        return false;
    struct sockaddr_in6 in6;
    memcpy(&in6, sa, sizeof(in6));
    memcpy(ret->at, &in6.sin6_addr, 16);
    unmap(ret);
    return true;
}

socklen_t network_ip_to(const struct network_ip *ip, uint16_t port, struct sockaddr_storage *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (ip->is_v6) {
        struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        memcpy(&in6.sin6_addr, ip->at, 16);
        memcpy(ret, &in6, sizeof(in6));
        return sizeof(in6);
    }
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    memcpy(&in.sin_addr, ip->at, 4);
    memcpy(ret, &in, sizeof(in));
    return sizeof(in);
}

/* The kernel connects to one of its own addresses from that same address. */
bool network_is_own_address(const struct network_ip *ip)
{
    struct sockaddr_storage to, from;
    struct network_ip source;
    socklen_t len = sizeof(from);
    socklen_t to_len = network_ip_to(ip, 9, &to);
    int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool is_own = connect(fd, (struct sockaddr *)&to, to_len) == 0 &&
                  getsockname(fd, (struct sockaddr *)&from, &len) == 0 &&
                  network_ip_from((struct sockaddr *)&from, &source) &&
                  network_ip_equal(&source, ip);
    close(fd);
    return is_own;
}

/* ---- destinations ---- */

static bool is_number(str label)
{
    for (size_t i = 0; i < label.n; i++) {
        if (label.p[i] < '0' || label.p[i] > '9')
            return label.n > 2 && label.p[0] == '0' && label.p[1] == 'x';
    }
    return true;
}

/* Names whose last part is a number are addresses to some programs: "127.1", "0x7f000001". */
static bool is_host_name(str host)
{
    str rest = host, label = STR_NONE;
    if (host.n == 0 || host.n > NETWORK_HOST_MAX || host.p[host.n - 1] == '.')
        return false;
    while (str_split(&rest, '.', &label)) {
        if (label.n == 0 || label.n > 63 || label.p[0] == '-' || label.p[label.n - 1] == '-')
            return false;
        if (!str_is_made_of(label, "-_"))
            return false;
    }
    return !is_number(label);
}

static bool parse_port(str text, uint16_t *ret)
{
    uint64_t port;
    if (text.n > 5 || parse_u64(text, &port) < 0 || port == 0 || port > 65535 || text.p[0] == '0')
        return false;
    *ret = (uint16_t)port;
    return true;
}

static str lower_host(struct arena *a, str s)
{
    char *p = arena_cstr(a, s);
    for (size_t i = 0; i < s.n; i++)
        p[i] = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] - 'A' + 'a') : p[i];
    return str_make(p, s.n);
}

static bool take_host(struct arena *a, str host, struct network_dest *ret)
{
    bool is_bracketed = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (is_bracketed)
        host = str_slice(host, 1, host.n - 1);
    if ((str_find_char(host, ':') >= 0) != is_bracketed)
        return false;
    ret->host = lower_host(a, host);
    ret->is_ip = network_ip_parse(ret->host, &ret->ip);
    if (!ret->is_ip)
        return !is_bracketed && is_host_name(ret->host);
    char text[INET6_ADDRSTRLEN]; /* canonical spelling of the address */
    network_ip_text(&ret->ip, text);
    ret->host = arena_str(a, str_from(text));
    return true;
}

static bool is_printable(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    }
    return true;
}

int network_dest_parse(struct arena *a, str text, struct network_dest *ret, struct err *e)
{
    ptrdiff_t colon = str_rfind_char(text, ':');
    *ret = (struct network_dest){0};
    if (text.n > NETWORK_DEST_MAX || !is_printable(text))
        return err_set(e, -EINVAL,
                       "a destination is \"host:port\" in at most %d printable characters",
                       NETWORK_DEST_MAX);
    if (colon < 0 || !parse_port(str_skip(text, (size_t)colon + 1), &ret->port))
        return err_set(e, -EINVAL, "'%.*s' has no port from 1 to 65535: write \"host:port\"",
                       STR_ARG(text));
    if (!take_host(a, str_slice(text, 0, (size_t)colon), ret))
        return err_set(e, -EINVAL,
                       "'%.*s' does not begin with a host: a name such as api.example.com, an "
                       "address such as 127.0.0.1, or an IPv6 address in brackets",
                       STR_ARG(text));
    return 0;
}

int network_rules_make(struct arena *a, const struct json_strs *texts, struct network_rules *ret,
                       struct err *e)
{
    *ret = (struct network_rules){.at = arena_array(a, texts->len, sizeof(*ret->at))};
    for (size_t i = 0; i < texts->len; i++) {
        if (str_eq(texts->items[i], STR(NETWORK_PUBLIC))) {
            ret->is_public = true;
            continue;
        }
        struct network_dest *d = &ret->at[ret->n];
        int rc = network_dest_parse(a, texts->items[i], d, e);
        if (rc < 0)
            return rc;
        if (network_find(ret, d->host, d->port) >= 0)
            continue;
        if (++ret->n > NETWORK_DESTS_MAX)
            return err_set(e, -EINVAL, "more than %d destinations", NETWORK_DESTS_MAX);
    }
    return 0;
}

int network_find_name(const struct network_rules *r, str host)
{
    for (size_t i = 0; i < r->n; i++) {
        if (str_eq(r->at[i].host, host))
            return (int)i;
    }
    return -1;
}

int network_find(const struct network_rules *r, str host, uint16_t port)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->at[i].port == port && str_eq(r->at[i].host, host))
            return (int)i;
    }
    return -1;
}

/* ---- the decision ---- */

static bool is_declared(const struct network_rules *r, const struct network_ip *ip, uint16_t port)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->at[i].is_ip && r->at[i].port == port && network_ip_equal(&r->at[i].ip, ip))
            return true;
    }
    return false;
}

static bool refuse_because(const char **ret_why, const char *why)
{
    *ret_why = why;
    return false;
}

bool network_allows(const struct network_rules *r, str host, uint16_t port,
                    const struct network_ip *ip, bool is_own, const char **ret_why)
{
    struct sockaddr_storage sa;
    socklen_t len = network_ip_to(ip, port, &sa);
    enum address_class class = address_classify((struct sockaddr *)&sa, len);
    bool is_named = network_find(r, host, port) >= 0;
    *ret_why = "";
    if (is_declared(r, ip, port) ||
        (is_named && class == ADDRESS_LOOPBACK && str_eq(host, STR("localhost"))))
        return true;
    if (!is_named && !r->is_public)
        return refuse_because(ret_why, "it is not declared in sandbox.network");
    bool is_elsewhere =
        class == ADDRESS_PUBLIC || class == ADDRESS_PRIVATE || class == ADDRESS_RESERVED;
    if (is_elsewhere && is_own)
        return refuse_because(ret_why, "it is an address of this machine");
    if (class == ADDRESS_PUBLIC || (is_elsewhere && is_named))
        return true;
    return refuse_because(ret_why, address_class_name(class));
}
