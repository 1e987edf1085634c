/* /v1/apps/:name/resources, /v1/resources/read - resources of a bundle, as its server returns them.
 *
 * The response is MCP's own, {"contents": [...]}, never the page itself: HTML of strangers must not
 * be served from the origin where people are logged in. */
#include <assert.h>

#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "bundle/bundle.h"
#include "tools/tool_selection.h"

#define URI_MAX 2048

struct resource_wait { /* in the request's arena */
    struct http_req *req;
    struct bundle *bundle;
    str uris[2]; /* the URIs to try; the first that exists is returned */
    size_t n, tried;
    struct bundle_call *call;
};

static void try_next(struct resource_wait *g);

static void on_resource_read(void *ctx, const struct mcp_reply *r)
{
    struct resource_wait *g = ctx;
    const struct json *contents = json_get(r->result, "contents");
    struct api_json j;
    g->call = NULL;
    g->req->on_gone = NULL;
    if (r->err) {
        str why = bundle_failure(g->bundle, &g->req->arena, r->err);
        http_reply_error(g->req, 503, "bundle_unavailable",
                         arena_printf(&g->req->arena, "The bundle %.*s.", STR_ARG(why)).p, NULL);
        return;
    }
    if (!json_is(contents, JSON_ARRAY) || contents->len == 0) {
        try_next(g);
        return;
    }
    api_json_begin(&j);
    jw_kval(&j.w, "contents", contents);
    api_json_send(&j, g->req);
}

static void on_resource_gone(struct http_req *r)
{
    bundle_cancel(((struct resource_wait *)r->user)->call, "The client disconnected.");
}

static void try_next(struct resource_wait *g)
{
    static const struct mcp_call_events EVENTS = {.done = on_resource_read};
    struct arena *a = &g->req->arena;
    assert(!g->call && g->tried <= g->n && g->n <= ARRAY_LEN(g->uris));
    if (g->tried == g->n) {
        http_reply_error(g->req, 404, "resource_not_found", "No such resource.", NULL);
        return;
    }
    struct json *params = json_new(a, JSON_OBJECT);
    json_set(a, params, STR("uri"), json_of_str(g->uris[g->tried++]));
    struct mcp_request req = {.method = STR("resources/read"), .params = params};
    g->req->user = g;
    g->req->on_gone = on_resource_gone;
    str user_id = actor_sole_user(api_actor(g->req));
    g->call = bundle_request_as(g->bundle, user_id, &req, &EVENTS, g);
}

/* A token that allows only some tools of a bundle does not allow its resources. */
static bool is_for(struct http_req *r, str server)
{
    return tool_selection_may_use_source(api_actor(r), server);
}

/* Replies with 404 when the bundle does not exist for this person. */
static struct resource_wait *resource_begin(struct http_req *r, str server)
{
    struct api_space *s = api_space(r);
    struct bundle *b = s->bundles ? bundles_find(s->bundles, server) : NULL;
    if (!b) {
        api_not_found(r, "bundle");
        return NULL;
    }
    if (!is_for(r, server)) {
        api_forbidden(r, "This token does not allow that bundle.");
        return NULL;
    }
    struct resource_wait *g = ARENA_NEW(&r->arena, struct resource_wait);
    g->req = r;
    g->bundle = b;
    return g;
}

/* The first page that the manifest names. */
static str primary(struct bundle *b)
{
    const struct json *ui = bundle_info(b)->ui;
    str uri = json_get_string(json_get(ui, "primaryView"), "resourceUri");
    return uri.n > 0 ? uri : json_get_string(json_at(json_get(ui, "placements"), 0), "resourceUri");
}

void api_apps_resource(void *ctx, struct http_req *r)
{
    str path = r->params[1];
    struct resource_wait *g = resource_begin(r, r->params[0]);
    if (!g)
        return;
    if (str_eq(path, STR("primary")) && primary(g->bundle).n > 0) {
        g->uris[g->n++] = arena_str(&r->arena, primary(g->bundle));
    } else if (path.n > 0 && path.n <= URI_MAX) {
        g->uris[g->n++] = arena_concat(&r->arena, STR("ui://"), path);
        g->uris[g->n++] = arena_printf(&r->arena, "ui://%.*s/%.*s",
                                       STR_ARG(bundle_info(g->bundle)->name), STR_ARG(path));
    }
    try_next(g);
}

struct read_in {
    str server, uri;
};

const struct json_field API_RESOURCE_FIELDS[] = {
    {"server", JF_STR, offsetof(struct read_in, server), JF_REQUIRED, NULL, 0,
     "The name of the app."},
    {"uri", JF_STR, offsetof(struct read_in, uri), JF_REQUIRED, NULL, 0,
     "The address of the resource, as the app gives it."},
    {0}};

void api_resources_read(void *ctx, struct http_req *r)
{
    struct read_in in = {0};
    if (!api_decode_body(r, API_RESOURCE_FIELDS, &in))
        return;
    struct resource_wait *g = resource_begin(r, in.server);
    if (!g)
        return;
    if (in.uri.n > 0 && in.uri.n <= URI_MAX)
        g->uris[g->n++] = in.uri;
    try_next(g);
}
