/* mcp.c - passes requests to the MCP endpoint, after checking the caller and whether it is enabled.
 * The gateway handles them (api_deps.mcp). */
#include "api/apps/mcp.h"

#include <assert.h>

#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/ingress/proxy.h"

/* False: the request was answered. */
static bool admit(struct api *api, struct http_req *r, struct api_caller *ret)
{
    const struct api_identity *id = api_identity(r);
    assert(id->space && id->actor);
    if (!api->deps.mcp.handle || !id->space->config->features.mcp_server) {
        http_reply_error(r, 403, "feature_disabled",
                         "The MCP server is switched off: features.mcpServer in the settings.",
                         NULL);
        return false;
    }
    *ret = (struct api_caller){id->space, id->actor};
    return true;
}

void api_mcp_handle(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_caller who;
    if (admit(api, r, &who))
        api->deps.mcp.handle(api->deps.mcp.ctx, r, &who, r->params[0]);
}

void api_mcp_sse_open(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_caller who;
    if (admit(api, r, &who))
        api->deps.mcp.sse_open(api->deps.mcp.ctx, r, &who);
}

void api_mcp_sse_post(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_caller who;
    if (admit(api, r, &who))
        api->deps.mcp.sse_post(api->deps.mcp.ctx, r, &who);
}

/* ---- RFC 9728 ---- */

str api_mcp_metadata_url(const struct api *api, struct http_req *r)
{
    if (api->deps.issuer.n == 0)
        return STR_NONE;
    return proxy_own_url(&api->deps.config->http, r, "/.well-known/oauth-protected-resource/mcp");
}

void api_mcp_metadata(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_json j;
    if (api->deps.issuer.n == 0) {
        http_reply_error(r, 404, "not_found",
                         "This server issues its tokens itself and has no authorization server.",
                         NULL);
        return;
    }
    api_json_begin(&j);
    jw_kstr(&j.w, "resource", proxy_own_url(&api->deps.config->http, r, "/mcp"));
    jw_karray(&j.w, "authorization_servers");
    jw_str(&j.w, api->deps.issuer);
    jw_end(&j.w);
    jw_karray(&j.w, "bearer_methods_supported");
    jw_str(&j.w, STR("header"));
    jw_end(&j.w);
    api_json_send(&j, r);
}
