#include "api/api.h"

#include <assert.h>

#include "api/admit.h"
#include "api/api_impl.h"
#include "api/apps/app_auth.h"
#include "api/apps/model_setup.h"
#include "api/compat/compat_error.h"
#include "api/conversations/import.h"
#include "api/identity.h"
#include "api/ingress/proxy.h"
#include "api/ingress/request_log.h"
#include "api/live/hub.h"
#include "api/routes.h"
#include "api/trail.h"
#include "api/views/sandbox_page.h"
#include "base/bytes/random.h"
#include "bundle/bundle.h"
#include "bus/vocabulary.h"
#include "http/page_dir.h"
#include "http/static.h"
#include "workspace/notices.h"
#include "workspace/texts.h"

/* The page loads nothing from other hosts and runs no inline script. */
static const char *const NOT_PAGES[] = {"/v1/", "/mcp", "/docs/", NULL};
#define PAGE_CSP                                                                                   \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "        \
    "media-src blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; "                  \
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; frame-src 'self'"

/* The manual talks to no server and has no forms. */
#define MANUAL "/docs"
#define MANUAL_CSP                                                                                 \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "                    \
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/* Anybody may read it: it is the same on every server of this version. */
static bool serve_manual(struct api *api, struct http_req *r)
{
    struct static_site site = {
        .find = assets_find, .page_csp = STR(MANUAL_CSP), .apart = NOT_PAGES};
    if (!str_eq(r->path, STR(MANUAL)))
        return static_serve(r, &site);
    http_add_header(r, "Location",
                    arena_concat(&r->arena, api->deps.config->http.base_path, STR(MANUAL "/")));
    http_reply(r, 308, NULL, STR_NONE);
    return true;
}

/* Frames show the documents around interfaces of tools, and nothing else. */
static bool serve_page(struct api *api, struct http_req *r)
{
    struct view_layout l = view_layout(api, r, false);
    struct static_site site = {
        .find = assets_find,
        .page_csp = l.is_apart ? arena_printf(&r->arena, PAGE_CSP " %.*s", STR_ARG(l.origin))
                               : STR(PAGE_CSP),
        .apart = NOT_PAGES,
        .changing = api->deps.page_dir ? page_dir_table(api->deps.page_dir) : NULL,
    };
    return static_serve(r, &site);
}

static bool is_manual(const struct http_req *r)
{
    return str_eq(r->path, STR(MANUAL)) || str_starts(r->path, STR(MANUAL "/"));
}

static bool is_api_path(str path)
{
    return str_starts(path, STR("/v1/")) || str_eq(path, STR("/v1")) ||
           str_starts(path, STR("/mcp")) || str_starts(path, STR("/.well-known/"));
}

/* ---- every request ---- */

static void reply_no_route(struct http_req *r, enum route_result found, const struct buf *allow)
{
    if (found == ROUTE_WRONG_METHOD) {
        http_add_header(r, "Allow", buf_str(allow));
        http_reply_error(r, 405, "method_not_allowed", "This path does not support that method.",
                         NULL);
    } else {
        http_reply_error(r, 404, "not_found", "There is nothing at this path.", NULL);
    }
}

static bool count_client(struct api *api, struct http_req *r)
{
    if (proxy_count_client(&api->deps.config->http, r))
        return true;
    http_add_header(r, "Retry-After", STR("1"));
    http_reply_error(
        r, 429, "too_many_connections",
        "Too many requests from your address are in progress. Wait for one of them to finish.",
        NULL);
    return false;
}

static bool on_api_head(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct buf allow;
    if (!proxy_strip_base(&api->deps.config->http, r) || !count_client(api, r))
        return false;
    size_t nroutes;
    const struct route *routes = api_routes(&nroutes);
    buf_init(&allow, 256);
    enum route_result found = route_find(routes, nroutes, r, &allow);
    const struct route *route = found == ROUTE_FOUND ? r->route : NULL;
    if (route)
        r->write_error = compat_error_form(route->flags);
    bool is_page = found == ROUTE_NOT_FOUND && !is_api_path(r->path);
    bool go_on = admit_head(api, r, is_page);
    if (go_on && !route && !is_page) {
        reply_no_route(r, found, &allow);
        go_on = false;
    }
    if (go_on && route) {
        r->body_max = route->body_max > 0 ? route->body_max : API_BODY_MAX;
        r->is_long = route->flags & API_LONG;
    }
    if (go_on && route && (route->flags & API_UPLOAD)) { /* its handler reads the body */
        admit_request(api, r);
        go_on = false;
    }
    buf_done(&allow);
    return go_on;
}

static void on_request(void *ctx, struct http_req *r)
{
    if (r->route)
        admit_request(ctx, r);
    else if (!(is_manual(r) ? serve_manual : serve_page)(ctx, r))
        http_reply_error(r, 404, "not_found", "There is nothing at this path.", NULL);
}

static bool is_proxy(void *ctx, const char *peer_addr)
{
    const struct api *api = ctx;
    return proxy_is_trusted(&api->deps.config->http, str_from(peer_addr));
}

static void on_answered(void *ctx, const struct http_req *r, int status)
{
    const struct api *api = ctx;
    const struct route *route = r->route;
    struct request_answer answer = {.status = status};
    if (route) {
        answer.method = route->method;
        answer.pattern = route->pattern;
    }
    trail_answered(ctx, r, status);
    request_log_answered(api->deps.log, api->deps.tracer, r, &answer);
}

static void on_released(void *ctx, struct http_req *r)
{
    trail_released(ctx, r);
    admit_released(ctx, r);
}

static str find_name(void *ctx, str user_id)
{
    return api_display_name(ctx, user_id);
}

/* ---- ending access ---- */

static void tell_space(struct api *api, const struct directory_item *item, str type)
{
    struct arena a;
    arena_init(&a);
    struct bus_msg msg = {
        .topic = arena_printf(&a, "space/%.*s", STR_ARG(item->workspace_id)),
        .type = type,
        .data = arena_printf(&a, "{\"userId\":\"%.*s\"}", STR_ARG(item->user_id)),
    };
    bus_publish(api->deps.bus, &msg);
    arena_done(&a);
}

/* Ends streams and runs of people who lost access; requests in progress check the access
 * themselves. */
static void end_membership(struct api *api, const struct directory_item *item)
{
    struct api_space *s = api->deps.find_space(api->deps.space_ctx, item->workspace_id);
    hub_end_user(api, item->workspace_id, item->user_id);
    if (api->deps.mcp.drop_user)
        api->deps.mcp.drop_user(api->deps.mcp.ctx, item->workspace_id, item->user_id);
    if (s) {
        runtime_cancel_user(s->runtime, item->user_id);
        runtime_forget_user(s->runtime, item->user_id);
        if (s->notices)
            notices_forget(s->notices, item->user_id);
        if (s->bundles)
            bundles_forget_person(s->bundles, item->user_id);
    }
    tell_space(api, item, event_name(EV_MEMBER_LEFT));
}

static void change_role(struct api *api, const struct directory_item *item)
{
    hub_role_changed(api, item->workspace_id, item->user_id);
    tell_space(api, item, event_name(EV_MEMBER_CHANGED));
}

/* In every workspace: the person may have left some before. Those that are not open do the same
 * when they are opened. A person whose documents cannot be read is not known here either, but not
 * gone. */
static void forget_user(struct api *api, str user_id)
{
    const struct roster *all = directory_roster(api->deps.directory);
    hub_end_user(api, STR_NONE, user_id);
    for (size_t i = 0; !all->misses_users && i < all->nworkspaces; i++) {
        const struct api_space *s =
            api->deps.find_space(api->deps.space_ctx, all->workspaces[i].id);
        if (s)
            texts_forget(s->texts, user_id);
    }
}

static void on_news(void *ctx, const struct directory_item *item)
{
    struct api *api = ctx;
    switch (item->news) {
    case NEWS_MEMBER_LEFT:
        end_membership(api, item);
        break;
    case NEWS_MEMBER_ROLE:
        change_role(api, item);
        break;
    case NEWS_MEMBER_JOINED:
        tell_space(api, item, event_name(EV_MEMBER_JOINED));
        break;
    case NEWS_USER_REMOVED:
        forget_user(api, item->user_id);
        break;
    case NEWS_WORKSPACE_REMOVED:
        hub_end_workspace(api, item->workspace_id);
        api->deps.close_space(api->deps.space_ctx, item->workspace_id);
        break;
    default:
        break;
    }
}

/* A holder of the revoked token must not get the last response. */
static void end_token(struct api *api, str token_id)
{
    const struct roster *all = directory_roster(api->deps.directory);
    for (size_t i = 0; i < all->nworkspaces; i++) {
        struct api_space *s = api->deps.find_space(api->deps.space_ctx, all->workspaces[i].id);
        if (s)
            runtime_cancel_token(s->runtime, token_id);
    }
}

static void on_login_ended(void *ctx, str user_id, str session_id, str token_id)
{
    struct api *api = ctx;
    if (session_id.n == 0 && token_id.n == 0) /* the dev key was replaced */
        hub_end_user(api, STR_NONE, user_id);
    hub_end_login(api, session_id, token_id);
    if (token_id.n > 0)
        end_token(api, token_id);
    if (api->deps.mcp.drop_login)
        api->deps.mcp.drop_login(api->deps.mcp.ctx, session_id, token_id);
}

/* ---- life ---- */

struct api *api_new(const struct api_deps *deps)
{
    struct api *a = xcalloc(1, sizeof *a);
    a->deps = *deps;
    a->names = (struct frame_names){find_name, a};
    map_init(&a->hubs);
    map_init(&a->provisions);
    counts_init(&a->changing);
    counts_init(&a->exporting);
    list_init(&a->model_changes);
    list_init(&a->sign_ins);
    list_init(&a->probe_waiters);
    rates_init(&a->rates);
    trail_init(&a->trail);
    random_id("b", a->boot_id);
    a->people = (struct directory_observer){.on_news = on_news, .ctx = a};
    a->views = views_new(a);
    a->logins = (struct auth_observer){.on_ended = on_login_ended, .ctx = a};
    directory_observe(deps->directory, &a->people);
    auth_observe(deps->auth, &a->logins);
    return a;
}

void api_stop(struct api *a)
{
    api_import_free(a->import);
    a->import = NULL;
    api_model_setup_drop(a);
    api_apps_auth_drop(a);
    directory_unobserve(&a->people);
    auth_unobserve(&a->logins);
    views_end_all(a->views);
    hubs_free(a);
}

void api_free(struct api *a)
{
    if (!a)
        return;
    assert(map_len(&a->hubs) == 0 && !a->import); /* api_stop has run */
    assert(list_empty(&a->sign_ins) && list_empty(&a->model_changes));
    assert(list_empty(&a->probe_waiters) &&
           a->exporting.total == 0); /* of requests, which are over */
    views_free(a->views);
    free(a->threads);
    map_done(&a->hubs);
    map_done(&a->provisions);
    counts_done(&a->changing);
    counts_done(&a->exporting);
    rates_done(&a->rates);
    trail_done(&a->trail);
    api_document_free(a->document);
    free(a);
}

struct http_handlers api_sandbox_handlers(struct api *a)
{
    return sandbox_handlers(a);
}

struct http_handlers api_handlers(struct api *a)
{
    return (struct http_handlers){
        .on_head = on_api_head,
        .on_request = on_request,
        .is_proxy = is_proxy,
        .on_answered = on_answered,
        .on_released = on_released,
        .ctx = a,
    };
}
