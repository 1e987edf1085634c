#include <assert.h>
#include <errno.h>

#include "base/bytes/base64.h"
#include "base/utf8.h"
#include "gateway/http/http.h"
#include "gateway/methods/method.h"
#include "mcp/transport/param_headers.h"

#define VALUE_MAX (8u * 1024)

/* "=?base64?...?=" stands for the value that it encodes; a value with only one of the two ends is
 * literal. */
static bool header_decode(struct arena *a, str value, str *ret)
{
    static const str PREFIX = STR_INIT("=?base64?"), SUFFIX = STR_INIT("?=");
    *ret = value;
    if (!str_starts(value, PREFIX) || !str_ends(value, SUFFIX) || value.n < PREFIX.n + SUFFIX.n)
        return true;
    struct buf b;
    buf_init(&b, VALUE_MAX);
    int r = base64_decode(&b, str_slice(value, PREFIX.n, value.n - SUFFIX.n));
    if (r == 0 && utf8_valid(buf_str(&b)))
        *ret = arena_str(a, buf_str(&b));
    else
        r = -EINVAL;
    buf_done(&b);
    return r == 0;
}

static bool name_fits(struct gw_request *q, const struct http_req *r, struct err *e)
{
    const char *member = protocol_name_member(q->method);
    str value;
    if (!member)
        return true;
    if (!http_has_header(r, "mcp-name")) {
        err_set(e, -EINVAL, "Mcp-Name is missing: it must equal params.%s", member);
        return false;
    }
    if (header_decode(&q->arena, http_get_header(r, "mcp-name"), &value) &&
        str_eq(value, json_get_string(q->params, member)))
        return true;
    err_set(e, -EINVAL, "Mcp-Name does not equal params.%s", member);
    return false;
}

/* 1 and 1.0 are equal numbers. */
static bool values_equal(str header, str argument)
{
    double x, y;
    if (str_eq(header, argument))
        return true;
    return parse_double(header, &x) == 0 && parse_double(argument, &y) == 0 && x == y;
}

static bool param_fits(struct gw_request *q, const struct http_req *r, const struct param_header *h,
                       struct err *e)
{
    char name[256];
    str wanted, value = STR_NONE;
    snprintf(name, sizeof name, "mcp-param-%.*s", STR_ARG(str_slice(h->name, 0, 200)));
    bool is_wanted = param_header_value(&q->arena, h, json_get(q->params, "arguments"), &wanted);
    bool is_there = http_has_header(r, name);
    if (is_wanted)
        /* the wanted value is in the encoded form of a header */
        (void)header_decode(&q->arena, wanted, &wanted);
    if (is_there && !header_decode(&q->arena, http_get_header(r, name), &value)) {
        err_set(e, -EINVAL, "%s is not valid base64", name);
        return false;
    }
    if (is_there == is_wanted && (!is_wanted || values_equal(value, wanted)))
        return true;
    err_set(e, -EINVAL, "%s does not equal its argument", name);
    return false;
}

void gw_headers_done(struct gw_space *s)
{
    toolset_unref(s->headers.of);
    arena_done(&s->headers.arena);
    s->headers = (struct gw_headers){0};
}

/* The schema of a tool is walked once and the result is cached. A schema with invalid annotations
 * requires no headers. */
static const struct param_headers *wanted_by(struct gw_space *s, const struct toolset_item *it)
{
    struct gw_headers *h = &s->headers;
    struct toolset *now = registry_tools(s->tools);
    if (h->of != now) {
        gw_headers_done(s);
        h->of = toolset_ref(now);
        h->known = arena_array(&h->arena, now->len, sizeof *h->known);
    }
    assert(it >= now->items && it < now->items + now->len);
    const struct param_headers **known = &h->known[it - now->items];
    if (!*known) {
        struct param_headers *all = ARENA_NEW(&h->arena, struct param_headers);
        (void)param_headers_compile(&h->arena, it->tool->input_schema, all, NULL);
        *known = all;
    }
    return *known;
}

static bool params_fit(struct gw_request *q, const struct http_req *r, struct err *e)
{
    struct bundle *b;
    if (!str_eq(q->method, STR("tools/call")))
        return true;
    const struct toolset_item *it = gw_tools_find(q, json_get_string(q->params, "name"), &b);
    if (!it)
        return true;
    const struct param_headers *all = wanted_by(q->space, it);
    for (size_t i = 0; i < all->n; i++) {
        if (!param_fits(q, r, &all->items[i], e))
            return false;
    }
    return true;
}

bool gw_headers_fit(struct gw_request *q, const struct http_req *r, struct err *e)
{
    if (!str_eq(http_get_header(r, "mcp-method"), q->method)) {
        err_set(e, -EINVAL, "Mcp-Method is missing, or does not equal the method of the request");
        return false;
    }
    return name_fits(q, r, e) && params_fit(q, r, e);
}
