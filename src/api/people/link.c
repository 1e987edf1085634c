/* /v1/auth/link - the link that opens the page in dev mode, and replacing its key.
 *
 * Only for the owner of the files, through nb.sock: that user can read the key anyway. For
 * everybody else the route does not exist. */
#include <errno.h>

#include "api/api_impl.h"
#include "api/handlers.h"
#include "api/people/people.h"

void api_listens(struct api *a, uint16_t port)
{
    a->port = port;
    a->rates.shared = auth_shared_rate(a->deps.auth); /* the database is open now */
}

void api_sandbox_listens(struct api *a, uint16_t port)
{
    a->apps_port = port;
}

/* An address that means "all interfaces" cannot be opened in a browser. */
static const char *reachable_host(const char *host)
{
    bool is_any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    return is_any ? "127.0.0.1" : host;
}

str api_page_url(const struct api *api, struct arena *arena)
{
    const struct config_http *h = &api->deps.config->http;
    const char *host = reachable_host(h->host);
    bool is_v6 = strchr(host, ':') != NULL;
    return arena_printf(arena, "%s://%s%s%s:%u%.*s/", h->tls_cert.n > 0 ? "https" : "http",
                        is_v6 ? "[" : "", host, is_v6 ? "]" : "", api->port, STR_ARG(h->base_path));
}

str api_page_link(const struct api *api, struct arena *arena)
{
    str url = api_page_url(api, arena), key = auth_dev_key(api->deps.auth);
    if (key.n == 0)
        return url;
    return arena_printf(arena, "%.*s#key=%.*s", STR_ARG(url), STR_ARG(key));
}

static void reply_link(const struct api *api, struct http_req *r)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "mode", str_from(auth_mode_name(auth_mode(api->deps.auth))));
    jw_kstr(&j.w, "url", api->port ? api_page_url(api, &r->arena) : STR_NONE);
    jw_kstr(&j.w, "link", api->port ? api_page_link(api, &r->arena) : STR_NONE);
    jw_kstr(&j.w, "key", auth_dev_key(api->deps.auth));
    api_json_send(&j, r);
}

/* ---- GET /v1/auth/link ---- */

void api_auth_link(void *ctx, struct http_req *r)
{
    reply_link(ctx, r);
}

/* ---- POST /v1/auth/link/rotate ---- */

static void on_link_renewed(void *ctx, const struct err *err)
{
    struct api_auth_wait *w = ctx;
    if (err->code < 0)
        api_fail(w->req, FROM_AUTH, err);
    else
        reply_link(w->api, w->req);
}

void api_auth_link_rotate(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_auth_wait *w = api_auth_wait(api, r);
    w->op = auth_dev_renew(api->deps.auth, on_link_renewed, w);
}
