/* Addresses of strangers. A URL that is accepted can be sent as it stands, and what it is resolved
 * to is one of the same origin. The input is a URL, a line feed and a reference. */
#include <assert.h>

#include "mcp/transport/transport.h"
#include "net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_parts(str whole, const struct url *u)
{
    assert(u->host.n > 0 && whole.n <= URL_MAX);
    for (size_t i = 0; i < whole.n; i++)
        assert(whole.p[i] > ' ' && whole.p[i] != '\\' && (unsigned char)whole.p[i] < 127);
    assert(str_find_char(u->target, '#') < 0);
    for (size_t i = 0; i < u->host.n; i++)
        assert(!strchr("/?#@%", u->host.p[i]));
}

static void check_origin(const struct url *u)
{
    struct buf b;
    struct url again;
    buf_init(&b, URL_MAX * 2);
    assert(url_add_origin(&b, u) == 0);
    assert(url_parse(buf_str(&b), &again, NULL) == 0 && url_same_origin(u, &again));
    assert(!again.has_userinfo && url_is_local(u) == url_is_local(&again));
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct url from, to;
    struct err e = {0};
    str in = str_make((const char *)data, size), address = STR_NONE, found;
    (void)str_split(&in, '\n', &address);
    if (url_parse(address, &from, &e) < 0) {
        assert(e.msg[0]);
        return 0;
    }
    check_parts(address, &from);
    check_origin(&from);
    arena_init(&a);
    if (endpoint_resolve(&a, address, in, &found, &e) == 0) {
        assert(url_parse(found, &to, NULL) == 0 && url_same_origin(&from, &to));
        assert(!to.has_userinfo);
        check_parts(found, &to);
    }
    arena_done(&a);
    return 0;
}
