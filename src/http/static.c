#include "http/static.h"

/* ---- negotiation ---- */

/* "gzip;q=0.5": the name, and whether the weight is above zero. */
static str parse_weighted(str item, bool *ret_allowed)
{
    str name, param;
    *ret_allowed = true;
    if (!str_split(&item, ';', &name))
        return STR_NONE;
    while (str_split(&item, ';', &param)) {
        double q;
        param = str_trim(param);
        if (str_starts_nocase(param, STR("q=")))
            *ret_allowed = parse_double(str_skip(param, 2), &q) == 0 && q > 0;
    }
    return str_trim(name);
}

bool static_accepts_coding(str accept_encoding, str coding)
{
    bool by_star = false;
    str item;
    while (str_split(&accept_encoding, ',', &item)) {
        bool is_allowed;
        str name = parse_weighted(item, &is_allowed);
        if (str_eq_nocase(name, coding))
            return is_allowed;
        if (str_eq(name, STR("*")))
            by_star = is_allowed;
    }
    return by_star;
}

static bool etag_matches(str if_none_match, str etag)
{
    str item;
    while (str_split(&if_none_match, ',', &item)) {
        item = str_trim(item);
        if (str_starts(item, STR("W/")))
            item = str_skip(item, 2);
        if (str_eq(item, STR("*")) || str_eq(item, etag))
            return true;
    }
    return false;
}

/* ---- choosing ---- */

static bool wants_page(const struct http_req *r, const struct static_site *site)
{
    for (const char *const *p = site->apart; p && *p; p++) {
        str prefix = str_from(*p);
        str bare = str_slice(prefix, 0, prefix.n - str_ends(prefix, STR("/")));
        if (str_eq(r->path, bare) || str_starts(r->path, prefix))
            return false;
    }
    str accept = http_get_header(r, "Accept");
    return str_find_nocase(accept, STR("text/html")) >= 0;
}

static const struct asset *find_in(const struct static_site *site, str path)
{
    return site->changing ? asset_table_find(site->changing, path) : site->find(path);
}

static const struct asset *static_choose(struct http_req *r, const struct static_site *site)
{
    if (str_ends(r->path, STR("/"))) {
        const struct asset *index =
            find_in(site, arena_concat(&r->arena, r->path, STR("index.html")));
        if (index)
            return index;
    }
    const struct asset *a = find_in(site, r->path);
    return a || !wants_page(r, site) ? a : find_in(site, STR("/index.html"));
}

/* The compressed copy is a different representation, so it has its own tag. */
static str tag_of(struct http_req *r, const struct asset *a, bool is_gzip)
{
    if (!is_gzip || a->etag.n < 2)
        return a->etag;
    return arena_printf(&r->arena, "%.*s-gz\"", STR_ARG(str_slice(a->etag, 0, a->etag.n - 1)));
}

/* What a browser opens or starts directly: documents, and workers, which are the scripts without a
 * hash in their name. For other files the policy is that of the document that loads them. */
static bool has_policy(const struct asset *a)
{
    return str_starts(a->mime, STR("text/html")) ||
           (!a->is_immutable && str_starts(a->mime, STR("text/javascript")));
}

static void reply_asset(struct http_req *r, const struct asset *a, str page_csp, bool is_copied)
{
    bool is_gzip =
        a->gzip.n > 0 && static_accepts_coding(http_get_header(r, "Accept-Encoding"), STR("gzip"));
    str etag = tag_of(r, a, is_gzip);
    http_add_header(r, "ETag", etag);
    http_add_header(r, "Cache-Control",
                    a->is_immutable ? STR("public, max-age=31536000, immutable") : STR("no-cache"));
    if (a->gzip.n)
        http_add_header(r, "Vary", STR("Accept-Encoding"));
    if (page_csp.n && has_policy(a))
        http_add_header(r, "Content-Security-Policy", page_csp);
    if (etag_matches(http_get_header(r, "If-None-Match"), etag)) {
        http_reply(r, 304, NULL, STR_NONE);
        return;
    }
    if (is_gzip)
        http_add_header(r, "Content-Encoding", STR("gzip"));
    const char *mime = arena_cstr(&r->arena, a->mime);
    if (is_copied)
        http_reply(r, 200, mime, is_gzip ? a->gzip : a->bytes);
    else
        http_reply_static(r, 200, mime, is_gzip ? a->gzip : a->bytes);
}

void static_reply(struct http_req *r, const struct asset *a, str page_csp)
{
    reply_asset(r, a, page_csp, false);
}

bool static_serve(struct http_req *r, const struct static_site *site)
{
    if (!str_eq(r->method, STR("GET")) && !str_eq(r->method, STR("HEAD")))
        return false;
    const struct asset *a = static_choose(r, site);
    if (a)
        reply_asset(r, a, site->page_csp, site->changing != NULL);
    return a != NULL;
}
