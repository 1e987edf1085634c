#include "api/api.h"

#include "api/admit.h"
#include "api/hub.h"
#include "api/internal.h"
#include "api/proxy.h"
#include "api/trail.h"
#include "base/random.h"
#include "http/static.h"

/* ---- the table ---- */

#define API_BODY_MAX        (64u * 1024) /* where the table does not say otherwise */
#define API_TEXT_MAX        (1024u * 1024)
#define API_LOGIN_MAX       (4u * 1024)
#define API_PREFERENCES_MAX (32u * 1024) /* twice what can be kept: escapes take room */
#define API_MCP_BODY_MAX    (4u * 1024 * 1024)
#define CONV                API_CONV
#define OPEN                (API_OPEN | API_NO_SPACE)

static const struct route ROUTES[] = {
    {"GET", "/v1/health", api_health_get, OPEN, 0},
    {"POST", "/v1/auth/login", api_auth_login, OPEN, API_LOGIN_MAX},
    {"POST", "/v1/auth/logout", api_auth_logout, OPEN, 0},
    {"GET", "/v1/auth/session", api_auth_session, OPEN, 0},
    {"POST", "/v1/auth/refresh", api_auth_refresh, OPEN, 0},
    {"GET", "/v1/auth/authorize", api_auth_authorize, OPEN, 0},
    {"GET", "/v1/auth/callback", api_auth_callback, OPEN, 0},
    {"GET", "/v1/auth/link", api_auth_link, API_NO_SPACE, 0},
    {"POST", "/v1/auth/link/rotate", api_auth_link_rotate, API_NO_SPACE, 0},
    {"GET", "/v1/bootstrap", api_bootstrap_get, API_HOME, 0},
    {"GET", "/v1/audit", api_audit_list, API_NO_SPACE | API_ADMIN, 0},
    {"GET", "/v1/users", api_users_list, API_NO_SPACE | API_ADMIN, 0},
    {"POST", "/v1/users", api_users_add, API_NO_SPACE | API_ADMIN, 0},
    {"GET", "/v1/users/:user", api_users_get, API_NO_SPACE, 0},
    {"PATCH", "/v1/users/:user", api_users_set, API_NO_SPACE | API_ADMIN, 0},
    {"DELETE", "/v1/users/:user", api_users_remove, API_NO_SPACE | API_ADMIN, 0},
    {"POST", "/v1/users/:user/password", api_users_password, API_NO_SPACE | API_ADMIN, 0},
    {"POST", "/v1/users/:user/sign-out", api_users_sign_out, API_NO_SPACE | API_ADMIN, 0},
    {"GET", "/v1/preferences", api_preferences_get, API_NO_SPACE, 0},
    {"PATCH", "/v1/preferences", api_preferences_set, API_NO_SPACE, API_PREFERENCES_MAX},
    {"GET", "/v1/tokens", api_tokens_list, API_NO_SPACE | API_ADMIN, 0},
    {"POST", "/v1/tokens", api_tokens_add, API_NO_SPACE | API_ADMIN, 0},
    {"DELETE", "/v1/tokens/:token", api_tokens_revoke, API_NO_SPACE | API_ADMIN, 0},
    {"GET", "/v1/workspaces", api_workspaces_list, API_HOME, 0},
    {"POST", "/v1/workspaces", api_workspaces_add, API_NO_SPACE | API_ADMIN, API_TEXT_MAX},
    {"GET", "/v1/workspaces/:ws", api_workspaces_get, API_NO_SPACE, 0},
    {"PATCH", "/v1/workspaces/:ws", api_workspaces_set, API_NO_SPACE | API_ADMIN, API_TEXT_MAX},
    {"DELETE", "/v1/workspaces/:ws", api_workspaces_remove, API_NO_SPACE | API_ADMIN, 0},
    {"GET", "/v1/workspaces/:ws/members", api_members_list, API_NO_SPACE, 0},
    {"POST", "/v1/workspaces/:ws/members", api_members_add, API_NO_SPACE | API_ADMIN, 0},
    {"PATCH", "/v1/workspaces/:ws/members/:user", api_members_set, API_NO_SPACE | API_ADMIN, 0},
    {"DELETE", "/v1/workspaces/:ws/members/:user", api_members_remove, API_NO_SPACE | API_ADMIN, 0},
    {"GET", "/v1/apps", api_apps_list, 0, 0},
    {"POST", "/v1/apps/import", api_apps_import, API_ADMIN | API_READS, API_TEXT_MAX},
    {"POST", "/v1/apps/install", api_apps_install, API_ADMIN, 0},
    {"GET", "/v1/apps/oauth/callback", api_apps_auth_callback, OPEN, 0},
    {"GET", "/v1/apps/oauth/client.json", api_apps_auth_document, OPEN, 0},
    {"GET", "/v1/apps/:name", api_apps_get, 0, 0},
    {"DELETE", "/v1/apps/:name", api_apps_uninstall, API_ADMIN, 0},
    {"POST", "/v1/apps/:name/start", api_apps_start, API_ADMIN, 0},
    {"POST", "/v1/apps/:name/stop", api_apps_stop, API_ADMIN, 0},
    {"POST", "/v1/apps/:name/restart", api_apps_restart, API_ADMIN, 0},
    {"POST", "/v1/apps/:name/auth", api_apps_auth_start, API_ADMIN, 0},
    {"DELETE", "/v1/apps/:name/auth", api_apps_auth_end, API_ADMIN, 0},
    {"POST", "/v1/apps/:name/approve", api_apps_approve, API_ADMIN, 0},
    {"GET", "/v1/apps/:name/logs", api_apps_logs, 0, 0},
    {"GET", "/v1/apps/:name/resources/*", api_apps_resource, 0, 0},
    {"GET", "/v1/bundles/health", api_bundles_health, 0, 0},
    {"GET", "/v1/tools", api_tools_list, 0, 0},
    {"POST", "/v1/tools/call", api_tools_call, API_CALLS, API_TEXT_MAX},
    {"POST", "/v1/chat", api_chat_post, API_BODY_CONV | API_CHAT, API_TEXT_MAX},
    {"POST", "/v1/chat/start", api_chat_start, API_BODY_CONV | API_CHAT, API_TEXT_MAX},
    {"POST", "/v1/chat/stream", api_chat_stream, API_BODY_CONV | API_CHAT, API_TEXT_MAX},
    {"GET", "/v1/conversations", api_conversations_list, 0, 0},
    {"GET", "/v1/conversations/stats", api_conversations_stats, 0, 0},
    {"GET", "/v1/conversations/:id", api_conversations_get, CONV, 0},
    {"PATCH", "/v1/conversations/:id", api_conversations_rename, CONV, 0},
    {"DELETE", "/v1/conversations/:id", api_conversations_delete, CONV, 0},
    {"POST", "/v1/conversations/:id/restore", api_conversations_restore, CONV, 0},
    {"POST", "/v1/conversations/:id/fork", api_conversations_fork, CONV, 0},
    {"GET", "/v1/conversations/:id/export", api_conversations_export, CONV, 0},
    {"GET", "/v1/conversations/:id/notes", api_notes_list, CONV, 0},
    {"POST", "/v1/conversations/:id/notes", api_notes_add, CONV, API_TEXT_MAX},
    {"POST", "/v1/conversations/:id/share", api_sharing_set, CONV, 0},
    {"POST", "/v1/conversations/:id/unshare", api_sharing_end, CONV, 0},
    {"POST", "/v1/conversations/:id/participants", api_participants_add, CONV, 0},
    {"DELETE", "/v1/conversations/:id/participants/:user", api_participants_remove, CONV, 0},
    {"GET", "/v1/conversations/:id/history", api_conversations_history, CONV, 0},
    {"GET", "/v1/conversations/:id/events", api_conversations_events, CONV, 0},
    {"POST", "/v1/conversations/:id/typing", api_conversations_typing, CONV, 0},
    {"POST", "/v1/conversations/:id/cancel", api_conversations_cancel, CONV, 0},
    {"GET", "/v1/conversations/:id/inputs", api_inputs_list, CONV, 0},
    {"POST", "/v1/conversations/:id/inputs/:input", api_inputs_answer, CONV, API_TEXT_MAX},
    {"GET", "/v1/conversations/:id/queue", api_queue_list, CONV, 0},
    {"PATCH", "/v1/conversations/:id/queue/:message", api_queue_edit, CONV, API_TEXT_MAX},
    {"DELETE", "/v1/conversations/:id/queue/:message", api_queue_withdraw, CONV, 0},
    {"GET", "/v1/events", api_events_get, 0, 0},
    {"POST", "/v1/events/:stream/watch", api_events_watch, API_READS, 0},
    {"GET", "/v1/models", api_models_list, 0, 0},
    {"POST", "/v1/models/look", api_models_look, API_NO_SPACE | API_ADMIN, 0},
    {"PUT", "/v1/models/default", api_models_set_default, API_NO_SPACE | API_ADMIN, 0},
    {"GET", "/v1/permissions", api_permissions_get, 0, 0},
    {"PUT", "/v1/permissions", api_permissions_set, API_ADMIN, API_TEXT_MAX},
    {"DELETE", "/v1/permissions/consents/:tool", api_permissions_withdraw, API_ADMIN, 0},
    {"PUT", "/v1/providers/:name/key", api_provider_key_set, API_NO_SPACE | API_ADMIN, 0},
    {"POST", "/v1/prompt", api_prompt_preview, API_BODY_CONV | API_READS, API_TEXT_MAX},
    {"GET", "/v1/search", api_search_get, 0, 0},
    {"POST", "/v1/import", api_import_start, 0, 0},
    {"GET", "/v1/import", api_import_get, 0, 0},
    {"POST", "/v1/resources/read", api_resources_read, API_READS, 0},
    {"GET", "/v1/skills", api_skills_list, 0, 0},
    {"POST", "/v1/skills/match", api_skills_match, API_READS, API_TEXT_MAX},
    {"GET", "/v1/usage", api_usage_get, 0, 0},
    {"GET", "/v1/workspace", api_workspace_get, 0, 0},
    {"POST", "/mcp", api_mcp_handle, API_MCP, API_MCP_BODY_MAX},
    {"GET", "/mcp", api_mcp_handle, API_MCP, 0},
    {"DELETE", "/mcp", api_mcp_handle, API_MCP, 0},
    {"POST", "/mcp/:source", api_mcp_handle, API_MCP, API_MCP_BODY_MAX},
    {"GET", "/mcp/:source", api_mcp_handle, API_MCP, 0},
    {"DELETE", "/mcp/:source", api_mcp_handle, API_MCP, 0},
    {"GET", "/sse", api_mcp_sse_open, API_MCP, 0},
    {"POST", "/sse/message", api_mcp_sse_post, API_MCP, API_MCP_BODY_MAX},
    {"GET", "/metrics", api_metrics_get, API_NO_SPACE, 0},
    {"GET", "/.well-known/oauth-protected-resource", api_mcp_metadata, API_OPEN | API_NO_SPACE, 0},
    {"GET", "/.well-known/oauth-protected-resource/mcp", api_mcp_metadata, API_OPEN | API_NO_SPACE,
     0},
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
           str_starts(path, STR("/mcp")) || str_starts(path, STR("/.well-known/"));
}

/* ---- every request ---- */

const struct api_identity *api_identity(const struct http_req *r)
{
    return r->caller;
}

struct api_space *api_space(const struct http_req *r)
{
    return api_identity(r)->space;
}

struct json_strs api_token_tools(const struct http_req *r)
{
    const struct json_strs *globs = &api_identity(r)->who.tools;
    return globs->len > 0 ? *globs : (struct json_strs){0};
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

static bool on_head(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct buf allow;
    if (!proxy_strip_base(&api->deps.config->http, r))
        return false;
    buf_init(&allow, 256);
    enum route_result found = route_find(ROUTES, ARRAY_LEN(ROUTES), r, &allow);
    const struct route *route = found == ROUTE_FOUND ? r->route : NULL;
    bool is_page = found == ROUTE_NOT_FOUND && !is_api_path(r->path);
    bool go_on = admit_head(api, r, is_page);
    if (go_on && !route && !is_page) {
        reply_no_route(r, found, &allow);
        go_on = false;
    }
    if (go_on && route)
        r->body_max = route->body_max > 0 ? route->body_max : API_BODY_MAX;
    buf_done(&allow);
    return go_on;
}

static void on_request(void *ctx, struct http_req *r)
{
    if (r->route)
        admit_request(ctx, r);
    else if (!static_serve(r, &SITE))
        http_reply_error(r, 404, "not_found", "There is nothing at this address.", NULL);
}

static bool is_proxy(void *ctx, const char *peer_addr)
{
    const struct api *api = ctx;
    return proxy_is_trusted(&api->deps.config->http, str_from(peer_addr));
}

static void on_answered(void *ctx, const struct http_req *r, int status)
{
    trail_answered(ctx, r, status);
}

static void on_released(void *ctx, struct http_req *r)
{
    trail_released(ctx, r);
    admit_released(ctx, r);
}

str api_display_name(const struct api *api, str user_id)
{
    const struct user *u = roster_user(directory_roster(api->deps.directory), user_id);
    return u ? u->display_name : STR_NONE;
}

static str find_name(void *ctx, str user_id)
{
    return api_display_name(ctx, user_id);
}

/* ---- whose access ends ---- */

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

/* Streams and runs of who has left end now; requests on their way are checked by themselves. */
static void end_membership(struct api *api, const struct directory_item *item)
{
    struct api_space *s = api->deps.find_space(api->deps.space_ctx, item->workspace_id);
    hub_end_user(api, item->workspace_id, item->user_id);
    if (api->deps.mcp.drop_user)
        api->deps.mcp.drop_user(api->deps.mcp.ctx, item->workspace_id, item->user_id);
    if (s)
        runtime_cancel_user(s->runtime, item->user_id);
    tell_space(api, item, STR("member.left"));
}

static void change_role(struct api *api, const struct directory_item *item)
{
    struct viewer now = {0};
    if (directory_viewer(api->deps.directory, item->workspace_id, item->user_id, &now))
        hub_role_changed(api, item->workspace_id, item->user_id, now.is_workspace_admin);
    tell_space(api, item, STR("member.changed"));
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
        tell_space(api, item, STR("member.joined"));
        break;
    case NEWS_USER_REMOVED:
        hub_end_user(api, STR_NONE, item->user_id);
        break;
    case NEWS_WORKSPACE_REMOVED:
        hub_end_workspace(api, item->workspace_id);
        api->deps.close_space(api->deps.space_ctx, item->workspace_id);
        break;
    default:
        break;
    }
}

/* Whoever else had the token must not have the last word. */
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
    map_init(&a->changing);
    map_init(&a->exporting);
    list_init(&a->model_changes);
    list_init(&a->sign_ins);
    list_init(&a->lookers);
    rates_init(&a->rates);
    random_id("b", a->boot_id);
    a->people = (struct directory_observer){.on_news = on_news, .ctx = a};
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
    hubs_free(a);
}

void api_free(struct api *a)
{
    struct map_entry *m;
    if (!a)
        return;
    map_done(&a->hubs);
    map_done(&a->provisions);
    for (size_t i = 0; (m = map_next(&a->changing, &i)) != NULL;)
        free(m->value);
    map_done(&a->changing);
    for (size_t i = 0; (m = map_next(&a->exporting, &i)) != NULL;)
        free(m->value);
    map_done(&a->exporting);
    rates_done(&a->rates);
    free(a);
}

struct http_handlers api_handlers(struct api *a)
{
    return (struct http_handlers){
        .on_head = on_head,
        .on_request = on_request,
        .is_proxy = is_proxy,
        .on_answered = on_answered,
        .on_released = on_released,
        .ctx = a,
    };
}
