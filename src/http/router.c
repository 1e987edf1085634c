#include "http/router.h"

#include <assert.h>

/* Length of the segment that starts at s. */
static size_t segment_len(str s)
{
    ptrdiff_t slash = str_find_char(s, '/');
    return slash < 0 ? s.n : (size_t)slash;
}

static bool match(const char *pattern, str path, str params[HTTP_PARAMS_MAX])
{
    str at = path;
    size_t nparams = 0;
    while (*pattern) {
        if (*pattern == '*' && !pattern[1]) {
            assert(nparams < HTTP_PARAMS_MAX);
            params[nparams++] = at;
            at = STR_NONE;
            break;
        }
        if (*pattern == ':') {
            size_t n = segment_len(at);
            assert(nparams < HTTP_PARAMS_MAX);
            if (n == 0)
                return false;
            params[nparams++] = str_slice(at, 0, n);
            at = str_skip(at, n);
            while (*pattern && *pattern != '/')
                pattern++;
        } else {
            if (at.n == 0 || at.p[0] != *pattern)
                return false;
            at = str_skip(at, 1);
            pattern++;
        }
    }
    while (nparams < HTTP_PARAMS_MAX)
        params[nparams++] = STR_NONE;
    return at.n == 0;
}

static bool method_fits(const char *wanted, str method)
{
    str w = str_from(wanted);
    return str_eq(w, method) || (str_eq(method, STR("HEAD")) && str_eq(w, STR("GET")));
}

static void allow(struct buf *out, const char *method)
{
    if (!out || str_find(buf_str(out), str_from(method), 0) >= 0)
        return;
    if (out->n)
        buf_add_lit(out, ", ");
    buf_add_lit(out, method);
    if (str_eq(str_from(method), STR("GET")))
        buf_add_lit(out, ", HEAD");
}

enum route_result route_find(const struct route *table, size_t len, struct http_req *r,
                             struct buf *ret_allow)
{
    bool has_path = false;
    for (size_t i = 0; i < len; i++) {
        str params[HTTP_PARAMS_MAX];
        if (!match(table[i].pattern, r->path, params))
            continue;
        if (method_fits(table[i].method, r->method)) {
            memcpy(r->params, params, sizeof(params));
            r->route = &table[i];
            return ROUTE_FOUND;
        }
        has_path = true;
        allow(ret_allow, table[i].method);
    }
    return has_path ? ROUTE_WRONG_METHOD : ROUTE_NOT_FOUND;
}
