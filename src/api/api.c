#include "api/api.h"

#include <errno.h>

#include "api/guard.h"
#include "api/hub.h"
#include "api/internal.h"
#include "base/hash.h"
#include "base/random.h"
#include "http/static.h"

/* ---- the table ---- */

#define API_MCP_BODY_MAX (4u * 1024 * 1024)

static const struct route ROUTES[] = {
    {"GET", "/v1/health", api_health_get, API_OPEN, 0},
    {"GET", "/v1/apps", api_apps_list, 0, 0},
    {"POST", "/v1/apps/install", api_apps_install, 0, 0},
    {"GET", "/v1/apps/:name", api_apps_get, 0, 0},
    {"DELETE", "/v1/apps/:name", api_apps_uninstall, 0, 0},
    {"POST", "/v1/apps/:name/start", api_apps_start, 0, 0},
    {"POST", "/v1/apps/:name/stop", api_apps_stop, 0, 0},
    {"POST", "/v1/apps/:name/restart", api_apps_restart, 0, 0},
    {"GET", "/v1/apps/:name/logs", api_apps_logs, 0, 0},
    {"GET", "/v1/bundles/health", api_bundles_health, 0, 0},
    {"GET", "/v1/tools", api_tools_list, 0, 0},
    {"POST", "/v1/tools/call", api_tools_call, 0, 0},
    {"POST", "/v1/chat", api_chat_post, 0, 0},
    {"POST", "/v1/chat/start", api_chat_start, 0, 0},
    {"POST", "/v1/chat/stream", api_chat_stream, 0, 0},
    {"GET", "/v1/conversations", api_conversations_list, 0, 0},
    {"GET", "/v1/conversations/stats", api_conversations_stats, 0, 0},
    {"GET", "/v1/conversations/:id", api_conversations_get, 0, 0},
    {"PATCH", "/v1/conversations/:id", api_conversations_rename, 0, 0},
    {"DELETE", "/v1/conversations/:id", api_conversations_delete, 0, 0},
    {"POST", "/v1/conversations/:id/restore", api_conversations_restore, 0, 0},
    {"POST", "/v1/conversations/:id/fork", api_conversations_fork, 0, 0},
    {"GET", "/v1/conversations/:id/export", api_conversations_export, 0, 0},
    {"GET", "/v1/conversations/:id/notes", api_notes_list, 0, 0},
    {"POST", "/v1/conversations/:id/notes", api_notes_add, 0, 0},
    {"POST", "/v1/conversations/:id/share", api_sharing_set, 0, 0},
    {"POST", "/v1/conversations/:id/unshare", api_sharing_end, 0, 0},
    {"POST", "/v1/conversations/:id/participants", api_participants_add, 0, 0},
    {"DELETE", "/v1/conversations/:id/participants/:user", api_participants_remove, 0, 0},
    {"GET", "/v1/conversations/:id/history", api_conversations_history, 0, 0},
    {"GET", "/v1/conversations/:id/events", api_conversations_events, 0, 0},
    {"POST", "/v1/conversations/:id/typing", api_conversations_typing, 0, 0},
    {"GET", "/v1/events", api_events_get, 0, 0},
    {"POST", "/v1/events/:stream/watch", api_events_watch, 0, 0},
    {"POST", "/v1/conversations/:id/cancel", api_conversations_cancel, 0, 0},
    {"GET", "/v1/conversations/:id/inputs", api_inputs_list, 0, 0},
    {"POST", "/v1/conversations/:id/inputs/:input", api_inputs_answer, 0, 0},
    {"GET", "/v1/models", api_models_list, 0, 0},
    {"POST", "/v1/prompt", api_prompt_preview, 0, 0},
    {"GET", "/v1/search", api_search_get, 0, 0},
    {"POST", "/v1/import", api_import_start, 0, 0},
    {"GET", "/v1/import", api_import_get, 0, 0},
    {"GET", "/v1/skills", api_skills_list, 0, 0},
    {"POST", "/v1/skills/match", api_skills_match, 0, 0},
    {"GET", "/v1/usage", api_usage_get, 0, 0},
    {"GET", "/v1/workspace", api_workspace_get, 0, 0},
    {"POST", "/mcp", api_mcp_handle, 0, API_MCP_BODY_MAX},
    {"GET", "/mcp", api_mcp_handle, 0, 0},
    {"DELETE", "/mcp", api_mcp_handle, 0, 0},
    {"POST", "/mcp/:source", api_mcp_handle, 0, API_MCP_BODY_MAX},
    {"GET", "/mcp/:source", api_mcp_handle, 0, 0},
    {"DELETE", "/mcp/:source", api_mcp_handle, 0, 0},
    {"GET", "/sse", api_mcp_sse_open, 0, 0},
    {"POST", "/sse/message", api_mcp_sse_post, 0, API_MCP_BODY_MAX},
    {"GET", "/metrics", api_metrics_get, 0, 0},
};

/* The page loads nothing from elsewhere and runs no inline script. */
static const char *const NOT_PAGES[] = {"/v1/", "/mcp", NULL};
static const struct static_site SITE = {
    .find = assets_find,
    .page_csp = STR_INIT("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
                         "data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; "
                         "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"),
    .apart = NOT_PAGES,
};

static bool is_api_path(str path)
{
    return str_starts(path, STR("/v1/")) || str_eq(path, STR("/v1")) ||
           str_starts(path, STR("/mcp"));
}

/* ---- every request ---- */

/* Without users there is one person, the owner of the machine's account, in one workspace.
 * False: answered. */
static bool identify(struct api *api, struct http_req *r)
{
    struct api_identity *id = ARENA_NEW(&r->arena, struct api_identity);
    struct err e = {0};
    id->viewer.user_id = STR("usr_default");
    id->viewer.is_workspace_admin = true;
    id->is_operator = r->is_local_socket;
    id->space = api->deps.open_space(api->deps.space_ctx, STR("ws_default"), &e);
    if (!id->space) {
        http_reply_error(r, 500, "workspace_error", e.msg, NULL);
        return false;
    }
    api_hold(api, id->space);
    r->caller = id;
    return true;
}

const struct api_identity *api_identity(const struct http_req *r)
{
    return r->caller;
}

struct api_space *api_space(const struct http_req *r)
{
    return api_identity(r)->space;
}

struct api_space *api_hold(struct api *api, struct api_space *s)
{
    api->deps.hold_space(api->deps.space_ctx, s);
    return s;
}

void api_release(struct api *api, struct api_space *s)
{
    api->deps.release_space(api->deps.space_ctx, s);
}

static bool refuse(struct http_req *r, const struct guard_refusal *g)
{
    if (g->status == 401)
        http_add_header(r, "WWW-Authenticate", STR("Bearer"));
    http_reply_error(r, g->status, g->code, g->message, NULL);
    return false;
}

static void reply_no_route(struct http_req *r, enum route_result found, const struct buf *allow)
{
    if (found == ROUTE_WRONG_METHOD) {
        http_add_header(r, "Allow", buf_str(allow));
        http_reply_error(r, 405, "method_not_allowed", "This address does not take that method.",
                         NULL);
    } else {
        http_reply_error(r, 404, "not_found", "There is nothing at this address.", NULL);
    }
}

static int check_key(const struct http_req *r, str key, struct guard_refusal *ret)
{
    str given = http_get_header(r, "authorization");
    if (key.n == 0 || r->is_local_socket)
        return 0;
    given = str_starts_nocase(given, STR("Bearer ")) ? str_trim(str_skip(given, 7)) : STR_NONE;
    /* Hashes have equal lengths, so the comparison tells nothing about the key. */
    uint8_t a[SHA256_LEN], b[SHA256_LEN];
    sha256(given, a);
    sha256(key, b);
    if (bytes_eq_const_time(a, b, sizeof a))
        return 0;
    *ret = (struct guard_refusal){401, "unauthorized",
                                  "Send the API key: Authorization: Bearer <NB_API_KEY>."};
    return -EACCES;
}

static bool on_head(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct guard_refusal g;
    struct buf allow;
    buf_init(&allow, 256);
    enum route_result found = route_find(ROUTES, ARRAY_LEN(ROUTES), r, &allow);
    const struct route *route = found == ROUTE_FOUND ? r->route : NULL;
    bool is_page = found == ROUTE_NOT_FOUND && !is_api_path(r->path);
    bool is_open = is_page || (route && (route->flags & API_OPEN));
    bool go_on = false;

    const struct config *c = api->deps.config;
    struct guard_rules rules = {c->http.host, c->http.allowed_hosts, c->http.allowed_origins};
    if (guard_check(r, &rules, &g) < 0 ||
        (!is_open && check_key(r, c->secrets.nb_api_key, &g) < 0)) {
        refuse(r, &g);
    } else if (!route && !is_page) {
        reply_no_route(r, found, &allow);
    } else {
        if (route && route->body_max > 0)
            r->body_max = route->body_max;
        go_on = identify(api, r);
    }
    buf_done(&allow);
    return go_on;
}

static void on_request(void *ctx, struct http_req *r)
{
    const struct route *route = r->route;
    if (route)
        route->handle(ctx, r);
    else if (!static_serve(r, &SITE))
        http_reply_error(r, 404, "not_found", "There is nothing at this address.", NULL);
}

static void on_released(void *ctx, struct http_req *r)
{
    const struct api_identity *id = r->caller;
    if (id)
        api_release(ctx, id->space);
}

str api_display_name(const struct api *api, str user_id)
{
    return STR_NONE;
}

static str find_name(void *ctx, str user_id)
{
    return api_display_name(ctx, user_id);
}

struct api *api_new(const struct api_deps *deps)
{
    struct api *a = xcalloc(1, sizeof *a);
    a->deps = *deps;
    a->names = (struct frame_names){find_name, a};
    map_init(&a->hubs);
    random_id("b", a->boot_id);
    return a;
}

void api_stop(struct api *a)
{
    api_import_free(a->import);
    a->import = NULL;
    hubs_free(a);
}

void api_free(struct api *a)
{
    if (a)
        map_done(&a->hubs);
    free(a);
}

struct http_handlers api_handlers(struct api *a)
{
    return (struct http_handlers){
        .on_head = on_head, .on_request = on_request, .on_released = on_released, .ctx = a};
}
