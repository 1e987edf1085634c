#include <errno.h>

#include "mcp/transport/transport.h"
#include "net/url.h"

static bool is_absolute(str s)
{
    return str_starts_nocase(s, STR("http://")) || str_starts_nocase(s, STR("https://"));
}

/* The part of the path that a relative reference is appended to. */
static str base_of(const struct url *u, str reference)
{
    str path = u->target;
    ptrdiff_t query = str_find_char(path, '?');
    if (query >= 0)
        path = str_slice(path, 0, (size_t)query);
    if (reference.n > 0 && reference.p[0] == '/')
        return STR_NONE;
    if (reference.n > 0 && reference.p[0] == '?')
        return path.n > 0 ? path : STR("/");
    ptrdiff_t slash = str_rfind_char(path, '/');
    return slash < 0 ? STR("/") : str_slice(path, 0, (size_t)slash + 1);
}

static str join_reference(struct arena *a, const struct url *u, str reference)
{
    struct buf b;
    buf_init(&b, URL_MAX * 2);
    (void)url_add_origin(&b, u);
    (void)buf_add_str(&b, base_of(u, reference));
    (void)buf_add_str(&b, reference);
    return buf_keep(&b, a);
}

int endpoint_resolve(struct arena *a, str stream_url, str reference, str *ret, struct err *e)
{
    struct url from, to;
    reference = str_trim(reference);
    int rc = url_parse(stream_url, &from, e);
    if (rc < 0)
        return rc;
    if (reference.n == 0 || reference.n > URL_MAX || str_starts(reference, STR("//")))
        return err_set(e, -EINVAL,
                       "the server sent no usable URL for messages (event \"endpoint\")");
    str whole =
        is_absolute(reference) ? arena_str(a, reference) : join_reference(a, &from, reference);
    rc = url_parse(whole, &to, e);
    if (rc < 0)
        return rc;
    if (!url_same_origin(&from, &to) || to.has_userinfo)
        return err_set(e, -EACCES,
                       "the server's URL for messages (event \"endpoint\") has another origin");
    *ret = whole;
    return 0;
}
