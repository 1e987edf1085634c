#include "http/router.h"

#include <assert.h>

/* Runs for every route of a table until one matches, so it goes over bytes, not slices. */
static bool match(const char *pattern, str path, str params[HTTP_PARAMS_MAX])
{
    const char *at = path.n > 0 ? path.p : "", *end = at + path.n;
    size_t nparams = 0;
    while (*pattern) {
        if (*pattern == '*' && !pattern[1]) {
            assert(nparams < HTTP_PARAMS_MAX);
            params[nparams++] = str_make(at, (size_t)(end - at));
            at = end;
            break;
        }
        if (*pattern == ':') {
            const char *from = at;
            while (at < end && *at != '/')
                at++;
            assert(nparams < HTTP_PARAMS_MAX);
            if (at == from)
                return false;
            params[nparams++] = str_make(from, (size_t)(at - from));
            while (*pattern && *pattern != '/')
                pattern++;
        } else {
            if (at == end || *at != *pattern)
                return false;
            at++;
            pattern++;
        }
    }
    while (nparams < HTTP_PARAMS_MAX)
        params[nparams++] = STR_NONE;
    return at == end;
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
