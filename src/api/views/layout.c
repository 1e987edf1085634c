#include "api/views/layout.h"

#include <arpa/inet.h>

static bool is_address(str name)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr addr;
    if (name.n == 0 || name.n >= sizeof text || str_find_char(name, '\0') >= 0)
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    return inet_pton(AF_INET, text, &addr) == 1;
}

/* The name in Host when this server was reached directly: at its own port, by an address or as
 * localhost. Behind a mapped port the next port leads elsewhere. Policies cannot name an address in
 * brackets. */
static str direct_name(const struct layout_facts *f)
{
    ptrdiff_t colon = str_rfind_char(f->host, ':');
    str name = colon < 0 ? f->host : str_slice(f->host, 0, (size_t)colon);
    uint64_t port = f->is_tls ? 443 : 80;
    if (f->is_proxied || f->base_path.n > 0 || f->apps_port == 0)
        return STR_NONE;
    if (colon >= 0 && parse_u64(str_skip(f->host, (size_t)colon + 1), &port) < 0)
        return STR_NONE;
    /* Only this server has the certificate: a name leads to it directly. */
    bool is_known = str_eq_nocase(name, STR("localhost")) || is_address(name) ||
                    (f->is_tls && name.n > 0 && name.p[0] != '[');
    return is_known && port == f->port ? name : STR_NONE;
}

struct view_layout layout_choose(struct arena *a, const struct layout_facts *f)
{
    struct view_layout single = {.page_origin = f->page_origin,
                                 .base = arena_concat(a, f->page_origin, f->base_path)};
    str name = direct_name(f), origin = f->apps_origin;
    if (f->is_single_wanted)
        return single;
    if (origin.n == 0 && name.n > 0)
        origin = arena_printf(a, "%s://%.*s:%u", f->is_tls ? "https" : "http", STR_ARG(name),
                              f->apps_port);
    if (origin.n == 0 || str_eq_nocase(origin, f->page_origin))
        return single;
    return (struct view_layout){true, origin, f->page_origin, origin};
}
