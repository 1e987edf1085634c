#include "api/routes.h"

#include "api/handlers.h"

#define API_TEXT_MAX        (1024u * 1024)
#define API_LOGIN_MAX       (4u * 1024)
#define API_PREFERENCES_MAX (32u * 1024) /* twice what can be kept: escapes take room */
#define API_MCP_BODY_MAX    (4u * 1024 * 1024)
#define API_COMPAT_BODY_MAX (8u * 1024 * 1024) /* pictures are part of it */
#define API_OFFER_MAX       (256u * 1024)
#define API_ANSWER_MAX      (4u * 1024 * 1024) /* more than any tool may give */

#define RULE(...)                                                                                  \
    &(const struct access_rule)                                                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* ---- kinds of rows: a scope, roles, a right, and which tokens ---- */

#define OPEN RULE(.scope = 0)
/* About the caller, independent of a workspace. */
#define ACCOUNT(s) RULE(.scope = SCOPE_##s, .tokens = RULE_TOKENS_WHOLE)
#define LOGGED_IN  RULE(.scope = SCOPE_ADMIN, .tokens = RULE_TOKENS_NONE)
/* About a person: for that person and admins of the server. */
#define PERSON(s)                                                                                  \
    RULE(.scope = SCOPE_##s, .server = ORG_ADMIN, .tokens = RULE_TOKENS_WHOLE, .is_own = true)
/* About the server. */
#define SERVER(s) RULE(.scope = SCOPE_##s, .server = ORG_ADMIN, .tokens = RULE_TOKENS_WHOLE)
#define OWNER(s)  RULE(.scope = SCOPE_##s, .server = ORG_OWNER, .tokens = RULE_TOKENS_WHOLE)
/* About a workspace and its contents. */
#define HOME      RULE(.scope = SCOPE_READ)
#define MEMBER(s) RULE(.scope = SCOPE_##s, .space = WS_MEMBER)
/* The same, but not for tokens that are limited to some tools. */
#define WIDE(s)    RULE(.scope = SCOPE_##s, .space = WS_MEMBER, .tokens = RULE_TOKENS_WIDE)
#define MANAGER(s) RULE(.scope = SCOPE_##s, .space = WS_ADMIN, .tokens = RULE_TOKENS_WIDE)
#define LEAVER                                                                                     \
    RULE(.scope = SCOPE_ADMIN, .space = WS_ADMIN, .tokens = RULE_TOKENS_WIDE, .is_own = true)
/* Only over nb.sock. */
#define LINK(s)  RULE(.scope = SCOPE_##s, .is_local = true)
#define LOCAL(s) RULE(.scope = SCOPE_##s, .space = WS_MEMBER, .is_local = true)
/* About a conversation. Tokens that are limited to some tools cannot make changes that the owner
 * cannot undo. */
#define VIEW(s) RULE(.scope = SCOPE_##s, .space = WS_MEMBER, .conv = RULE_CONV_VIEW)
#define SEND(s) RULE(.scope = SCOPE_##s, .space = WS_MEMBER, .conv = RULE_CONV_SEND)
#define MANAGE                                                                                     \
    RULE(.scope = SCOPE_WRITE, .space = WS_MEMBER, .conv = RULE_CONV_MANAGE,                       \
         .tokens = RULE_TOKENS_WIDE)
/* To read what only the owner sees. */
#define OWN                                                                                        \
    RULE(.scope = SCOPE_READ, .space = WS_MEMBER, .conv = RULE_CONV_MANAGE,                        \
         .tokens = RULE_TOKENS_WIDE)
#define SHARE                                                                                      \
    RULE(.scope = SCOPE_WRITE, .space = WS_MEMBER, .conv = RULE_CONV_SHARE,                        \
         .tokens = RULE_TOKENS_WIDE)
#define LEAVE                                                                                      \
    RULE(.scope = SCOPE_WRITE, .space = WS_MEMBER, .conv = RULE_CONV_LEAVE,                        \
         .tokens = RULE_TOKENS_WIDE)

#define ANYBODY (API_OPEN | API_NO_SPACE)
#define PEOPLE  API_NO_SPACE
#define USER    (API_NO_SPACE | API_USER)
#define WS      (API_NO_SPACE | API_WS)
#define CONV    API_CONV
#define TALK    (API_BODY_CONV | API_CHAT | API_LONG)
#define MCP     (API_MCP | API_LONG)
#define OPENAI  (API_OPENAI | API_CHAT | API_LONG)
#define CLAUDE  (API_ANTHROPIC | API_CHAT | API_LONG)
#define OUTSIDE API_LONG

/* clang-format off */
static const struct route ROUTES[] = {
    {"GET", "/v1/health", api_health_get, ANYBODY | API_ASKS, 0, OPEN},
    {"GET", "/healthz", api_healthz_get, ANYBODY, 0, OPEN},
    {"GET", "/readyz", api_readyz_get, ANYBODY, 0, OPEN},
    {"GET", "/v1/openapi.json", api_openapi_get, ANYBODY, 0, OPEN},
    {"POST", "/v1/auth/login", api_auth_login, ANYBODY, API_LOGIN_MAX, OPEN},
    {"POST", "/v1/auth/logout", api_auth_logout, ANYBODY, 0, OPEN},
    {"GET", "/v1/auth/session", api_auth_session, ANYBODY | API_ASKS, 0, OPEN},
    {"POST", "/v1/auth/refresh", api_auth_refresh, ANYBODY, 0, OPEN},
    {"GET", "/v1/auth/authorize", api_auth_authorize, ANYBODY | API_LONG, 0, OPEN},
    {"GET", "/v1/auth/callback", api_auth_callback, ANYBODY | API_LONG, 0, OPEN},
    {"GET", "/v1/auth/link", api_auth_link, PEOPLE, 0, LINK(READ)},
    {"POST", "/v1/auth/link/rotate", api_auth_link_rotate, PEOPLE, 0, LINK(WRITE)},
    {"GET", "/v1/bootstrap", api_bootstrap_get, API_HOME, 0, HOME},
    {"GET", "/v1/users", api_users_list, PEOPLE, 0, SERVER(ADMIN)},
    {"POST", "/v1/users", api_users_add, PEOPLE, 0, SERVER(ADMIN)},
    {"GET", "/v1/users/:user", api_users_get, USER, 0, PERSON(READ)},
    {"PATCH", "/v1/users/:user", api_users_set, USER, 0, PERSON(ADMIN)},
    {"DELETE", "/v1/users/:user", api_users_remove, USER, 0, SERVER(ADMIN)},
    {"POST", "/v1/users/:user/password", api_users_password, USER, 0, PERSON(ADMIN)},
    {"POST", "/v1/users/:user/sign-out", api_users_sign_out, USER, 0, PERSON(ADMIN)},
    {"GET", "/v1/preferences", api_preferences_get, PEOPLE, 0, ACCOUNT(READ)},
    {"PATCH", "/v1/preferences", api_preferences_set, PEOPLE, API_PREFERENCES_MAX, ACCOUNT(WRITE)},
    {"GET", "/v1/tokens", api_tokens_list, PEOPLE, 0, ACCOUNT(ADMIN)},
    {"POST", "/v1/tokens", api_tokens_add, PEOPLE, 0, LOGGED_IN},
    {"DELETE", "/v1/tokens/:token", api_tokens_revoke, PEOPLE, 0, ACCOUNT(ADMIN)},
    {"GET", "/v1/audit", api_audit_list, PEOPLE, 0, OWNER(ADMIN)},
    {"GET", "/v1/workspaces", api_workspaces_list, API_HOME, 0, HOME},
    {"POST", "/v1/workspaces", api_workspaces_add, PEOPLE, API_TEXT_MAX, SERVER(ADMIN)},
    {"GET", "/v1/workspaces/:ws", api_workspaces_get, WS, 0, MEMBER(READ)},
    {"PATCH", "/v1/workspaces/:ws", api_workspaces_set, WS, API_TEXT_MAX, MANAGER(ADMIN)},
    {"DELETE", "/v1/workspaces/:ws", api_workspaces_remove, WS, 0, MANAGER(ADMIN)},
    {"GET", "/v1/workspaces/:ws/members", api_members_list, WS, 0, MEMBER(READ)},
    {"POST", "/v1/workspaces/:ws/members", api_members_add, WS, 0, MANAGER(ADMIN)},
    {"PATCH", "/v1/workspaces/:ws/members/:user", api_members_set, WS, 0, MANAGER(ADMIN)},
    {"DELETE", "/v1/workspaces/:ws/members/:user", api_members_remove, WS, 0, LEAVER},
    {"GET", "/v1/apps", api_apps_list, 0, 0, MEMBER(READ)},
    {"GET", "/v1/apps/oauth/callback", api_apps_auth_callback, ANYBODY | API_ASKS | API_LONG, 0,
     OPEN},
    {"GET", "/v1/apps/oauth/client.json", api_apps_auth_document, ANYBODY, 0, OPEN},
    {"POST", "/v1/apps/import", api_apps_import, OUTSIDE, API_TEXT_MAX, MANAGER(ADMIN)},
    {"POST", "/v1/apps/install", api_apps_install, OUTSIDE, 0, MANAGER(ADMIN)},
    {"GET", "/v1/apps/:name", api_apps_get, 0, 0, MEMBER(READ)},
    {"DELETE", "/v1/apps/:name", api_apps_uninstall, OUTSIDE, 0, MANAGER(ADMIN)},
    {"POST", "/v1/apps/:name/start", api_apps_start, OUTSIDE, 0, MANAGER(ADMIN)},
    {"POST", "/v1/apps/:name/stop", api_apps_stop, OUTSIDE, 0, MANAGER(ADMIN)},
    {"POST", "/v1/apps/:name/restart", api_apps_restart, OUTSIDE, 0, MANAGER(ADMIN)},
    {"POST", "/v1/apps/:name/auth", api_apps_auth_start, OUTSIDE, 0, MANAGER(ADMIN)},
    {"DELETE", "/v1/apps/:name/auth", api_apps_auth_end, OUTSIDE, 0, MANAGER(ADMIN)},
    {"POST", "/v1/apps/:name/account", api_apps_account_start, OUTSIDE, 0, WIDE(WRITE)},
    {"DELETE", "/v1/apps/:name/account", api_apps_account_end, OUTSIDE, 0, WIDE(WRITE)},
    {"POST", "/v1/apps/:name/approve", api_apps_approve, 0, 0, MANAGER(ADMIN)},
    {"GET", "/v1/apps/:name/logs", api_apps_logs, 0, 0, MANAGER(READ)},
    {"GET", "/v1/apps/:name/resources/*", api_apps_resource, OUTSIDE, 0, MEMBER(READ)},
    {"GET", "/v1/bundles/health", api_bundles_health, 0, 0, MEMBER(READ)},
    {"GET", "/v1/tools", api_tools_list, 0, 0, MEMBER(READ)},
    {"POST", "/v1/tools/call", api_tools_call, API_CALLS | API_LONG, API_TEXT_MAX, MEMBER(WRITE)},
    {"POST", "/v1/chat", api_chat_post, TALK, API_TEXT_MAX, SEND(WRITE)},
    {"POST", "/v1/chat/start", api_chat_start, TALK, API_TEXT_MAX, SEND(WRITE)},
    {"POST", "/v1/chat/stream", api_chat_stream, TALK, API_TEXT_MAX, SEND(WRITE)},
    {"POST", "/v1/chat/completions", api_compat_chat, OPENAI, API_COMPAT_BODY_MAX, MEMBER(WRITE)},
    {"POST", "/v1/responses", api_compat_responses, OPENAI, API_COMPAT_BODY_MAX, MEMBER(WRITE)},
    {"GET", "/v1/responses/:response", api_compat_response_get, API_OPENAI, 0, MEMBER(READ)},
    {"POST", "/v1/messages", api_compat_messages, CLAUDE, API_COMPAT_BODY_MAX, MEMBER(WRITE)},
    {"GET", "/v1/conversations", api_conversations_list, 0, 0, MEMBER(READ)},
    {"GET", "/v1/conversations/stats", api_conversations_stats, 0, 0, MEMBER(READ)},
    {"POST", "/v1/conversations/import", api_import_given, OUTSIDE, 0, WIDE(WRITE)},
    {"GET", "/v1/conversations/import", api_import_given_get, 0, 0, MEMBER(READ)},
    {"GET", "/v1/conversations/:id", api_conversations_get, CONV, 0, VIEW(READ)},
    {"PATCH", "/v1/conversations/:id", api_conversations_rename, CONV, 0, MANAGE},
    {"DELETE", "/v1/conversations/:id", api_conversations_delete, CONV, 0, MANAGE},
    {"PATCH", "/v1/conversations/:id/marks", api_conversations_mark, CONV, 0, VIEW(WRITE)},
    {"PUT", "/v1/conversations/:id/project", api_conversations_move, CONV, 0, MANAGE},
    {"POST", "/v1/conversations/:id/restore", api_conversations_restore, CONV, 0, MANAGE},
    {"POST", "/v1/conversations/:id/fork", api_conversations_fork, CONV, 0, VIEW(WRITE)},
    {"GET", "/v1/conversations/:id/branches", api_conversations_branches, CONV, 0, VIEW(READ)},
    {"POST", "/v1/conversations/:id/promote", api_conversations_promote, CONV, 0, MANAGE},
    {"GET", "/v1/conversations/:id/links", api_links_list, CONV, 0, OWN},
    {"POST", "/v1/conversations/:id/links", api_links_add, CONV, 0, MANAGE},
    {"DELETE", "/v1/conversations/:id/links/:link", api_links_remove, CONV, 0, MANAGE},
    {"GET", "/v1/links", api_links_list_all, 0, 0, MANAGER(READ)},
    {"DELETE", "/v1/links/:link", api_links_remove_any, 0, 0, MANAGER(ADMIN)},
    {"POST", "/v1/shared", api_shared_read, ANYBODY, API_LOGIN_MAX, OPEN},
    {"GET", "/v1/conversations/:id/export", api_conversations_export, CONV | API_LONG, 0, VIEW(READ)},
    {"GET", "/v1/conversations/:id/notes", api_notes_list, CONV, 0, VIEW(READ)},
    {"POST", "/v1/conversations/:id/notes", api_notes_add, CONV, API_TEXT_MAX, SEND(WRITE)},
    {"POST", "/v1/conversations/:id/share", api_sharing_set, CONV, 0, SHARE},
    {"POST", "/v1/conversations/:id/unshare", api_sharing_end, CONV, 0, SHARE},
    {"POST", "/v1/conversations/:id/leave", api_sharing_leave, CONV, 0, LEAVE},
    {"POST", "/v1/conversations/:id/participants", api_participants_add, CONV, 0, SHARE},
    {"DELETE", "/v1/conversations/:id/participants/:user", api_participants_remove, CONV, 0, SHARE},
    {"GET", "/v1/conversations/:id/history", api_conversations_history, CONV, 0, VIEW(READ)},
    {"GET", "/v1/conversations/:id/blobs/:blob", api_results_blob, CONV, 0, VIEW(READ)},
    {"GET", "/v1/conversations/:id/calls/:call/parts/:part", api_results_part, CONV, 0, VIEW(READ)},
    {"GET", "/v1/conversations/:id/events", api_conversations_events, CONV | API_LONG, 0, VIEW(READ)},
    {"GET", "/v1/conversations/:id/files/:file", api_conversations_file, CONV, 0, VIEW(READ)},
    {"POST", "/v1/conversations/:id/typing", api_conversations_typing, CONV, 0, SEND(WRITE)},
    {"POST", "/v1/conversations/:id/cancel", api_conversations_cancel, CONV, 0, SEND(WRITE)},
    {"GET", "/v1/conversations/:id/inputs", api_inputs_list, CONV, 0, VIEW(READ)},
    {"POST", "/v1/conversations/:id/inputs/:input", api_inputs_answer, CONV, API_TEXT_MAX, SEND(WRITE)},
    {"GET", "/v1/conversations/:id/queue", api_queue_list, CONV, 0, VIEW(READ)},
    {"PATCH", "/v1/conversations/:id/queue/:message", api_queue_edit, CONV, API_TEXT_MAX, SEND(WRITE)},
    {"DELETE", "/v1/conversations/:id/queue/:message", api_queue_withdraw, CONV, 0, VIEW(WRITE)},
    {"POST", "/v1/files", api_files_add, API_UPLOAD | API_LONG, 0, MEMBER(WRITE)},
    {"GET", "/v1/files", api_files_list, 0, 0, MEMBER(READ)},
    {"POST", "/v1/files/uploads", api_uploads_add, 0, 0, MEMBER(WRITE)},
    {"GET", "/v1/files/uploads/:upload", api_uploads_get, 0, 0, MEMBER(READ)},
    {"PATCH", "/v1/files/uploads/:upload", api_uploads_write, API_UPLOAD | API_LONG, 0,
     MEMBER(WRITE)},
    {"DELETE", "/v1/files/uploads/:upload", api_uploads_remove, 0, 0, MEMBER(WRITE)},
    {"GET", "/v1/files/:file", api_files_get, 0, 0, MEMBER(READ)},
    {"DELETE", "/v1/files/:file", api_files_remove, 0, 0, MEMBER(WRITE)},
    {"GET", "/v1/events", api_events_get, OUTSIDE, 0, MEMBER(READ)},
    {"POST", "/v1/events/:stream/watch", api_events_watch, 0, 0, MEMBER(READ)},
    {"GET", "/v1/notices", api_notices_list, 0, 0, MEMBER(READ)},
    {"POST", "/v1/notices/seen", api_notices_seen, 0, 0, MEMBER(WRITE)},
    {"GET", "/v1/models", api_models_list, 0, 0, MEMBER(READ)},
    {"POST", "/v1/models/look", api_models_look, PEOPLE | API_LONG, 0, SERVER(ADMIN)},
    {"PUT", "/v1/models/default", api_models_set_default, PEOPLE, 0, SERVER(ADMIN)},
    {"GET", "/v1/models/*", api_models_get, API_OPENAI, 0, MEMBER(READ)},
    {"GET", "/v1/permissions", api_permissions_get, 0, 0, MEMBER(READ)},
    {"PUT", "/v1/permissions", api_permissions_set, 0, API_TEXT_MAX, MANAGER(ADMIN)},
    {"DELETE", "/v1/permissions/consents/:tool", api_permissions_withdraw, 0, 0, WIDE(WRITE)},
    {"DELETE", "/v1/permissions/workspace-consents/:tool", api_permissions_withdraw_all, 0, 0, MANAGER(ADMIN)},
    {"POST", "/v1/providers", api_providers_add, PEOPLE | API_LONG, API_LOGIN_MAX, SERVER(ADMIN)},
    {"DELETE", "/v1/providers/:name/key", api_provider_key_delete, PEOPLE, 0, SERVER(ADMIN)},
    {"PUT", "/v1/providers/:name/key", api_provider_key_set, PEOPLE | API_LONG, 0, SERVER(ADMIN)},
    {"POST", "/v1/prompt", api_prompt_preview, API_BODY_CONV, API_TEXT_MAX, SEND(READ)},
    {"GET", "/v1/search", api_search_get, 0, 0, MEMBER(READ)},
    {"GET", "/v1/trash", api_trash_list, 0, 0, MEMBER(READ)},
    {"POST", "/v1/import", api_import_start, OUTSIDE, 0, LOCAL(WRITE)},
    {"GET", "/v1/import", api_import_get, 0, 0, LOCAL(READ)},
    {"POST", "/v1/views", api_views_open, API_BODY_CONV | API_CALLS | API_LONG, 0, VIEW(READ)},
    {"GET", "/v1/views/:view", api_views_get, 0, 0, MEMBER(READ)},
    {"DELETE", "/v1/views/:view", api_views_close, 0, 0, MEMBER(READ)},
    {"POST", "/v1/views/:view/rpc", api_views_rpc, API_LONG, API_TEXT_MAX, MEMBER(WRITE)},
    {"POST", "/v1/views/:view/asks/:ask", api_views_answer, 0, 0, MEMBER(WRITE)},
    {"PUT", "/v1/views/:view/tools", api_views_offer, 0, API_OFFER_MAX, MEMBER(WRITE)},
    {"GET", "/v1/views/:view/calls", api_views_calls, 0, 0, MEMBER(READ)},
    {"POST", "/v1/views/:view/calls/:call", api_views_call_done, 0, API_ANSWER_MAX, MEMBER(WRITE)},
    {"GET", "/sandbox/:view", api_sandbox_get, ANYBODY, 0, OPEN},
    {"POST", "/v1/resources/read", api_resources_read, OUTSIDE, 0, MEMBER(READ)},
    {"GET", "/v1/shell", api_shell_get, 0, 0, MEMBER(READ)},
    {"GET", "/v1/skills", api_skills_list, 0, 0, MEMBER(READ)},
    {"POST", "/v1/skills/match", api_skills_match, 0, API_TEXT_MAX, MEMBER(READ)},
    {"PUT", "/v1/skills/workspace/:name", api_skills_put, 0, API_TEXT_MAX, MANAGER(ADMIN)},
    {"DELETE", "/v1/skills/workspace/:name", api_skills_delete, 0, 0, MANAGER(ADMIN)},
    {"PUT", "/v1/skills/personal/:name", api_skills_put_personal, 0, API_TEXT_MAX, WIDE(WRITE)},
    {"DELETE", "/v1/skills/personal/:name", api_skills_delete_personal, 0, 0, WIDE(WRITE)},
    {"GET", "/v1/instructions", api_instructions_get, 0, 0, MEMBER(READ)},
    {"PUT", "/v1/instructions/workspace", api_instructions_put, 0, 0, MANAGER(ADMIN)},
    {"PUT", "/v1/instructions/personal", api_instructions_put_personal, 0, 0, WIDE(WRITE)},
    {"GET", "/v1/prompts", api_prompts_list, 0, 0, MEMBER(READ)},
    {"PUT", "/v1/prompts/workspace/:name", api_prompts_put, 0, API_TEXT_MAX, MANAGER(ADMIN)},
    {"DELETE", "/v1/prompts/workspace/:name", api_prompts_delete, 0, 0, MANAGER(ADMIN)},
    {"PUT", "/v1/prompts/personal/:name", api_prompts_put_personal, 0, API_TEXT_MAX, WIDE(WRITE)},
    {"DELETE", "/v1/prompts/personal/:name", api_prompts_delete_personal, 0, 0, WIDE(WRITE)},
    {"GET", "/v1/projects", api_projects_list, 0, 0, MEMBER(READ)},
    {"POST", "/v1/projects", api_projects_add, 0, 0, WIDE(WRITE)},
    {"PATCH", "/v1/projects/:project", api_projects_set, 0, 0, WIDE(WRITE)},
    {"DELETE", "/v1/projects/:project", api_projects_remove, 0, 0, WIDE(WRITE)},
    {"GET", "/v1/projects/:project/files", api_project_files_list, 0, 0, MEMBER(READ)},
    {"POST", "/v1/projects/:project/files", api_project_files_add, 0, 0, WIDE(WRITE)},
    {"GET", "/v1/projects/:project/files/:file", api_project_files_get, 0, 0, MEMBER(READ)},
    {"DELETE", "/v1/projects/:project/files/:file", api_project_files_remove, 0, 0, WIDE(WRITE)},
    {"GET", "/v1/budgets", api_budgets_get, 0, 0, MEMBER(READ)},
    {"PUT", "/v1/budgets", api_budgets_set, 0, API_TEXT_MAX, MANAGER(ADMIN)},
    {"GET", "/v1/usage", api_usage_get, 0, 0, MEMBER(READ)},
    {"GET", "/v1/workspace", api_workspace_get, 0, 0, MEMBER(READ)},
    {"POST", "/mcp", api_mcp_handle, MCP, API_MCP_BODY_MAX, MEMBER(MCP)},
    {"GET", "/mcp", api_mcp_handle, MCP, 0, MEMBER(MCP)},
    {"DELETE", "/mcp", api_mcp_handle, MCP, 0, MEMBER(MCP)},
    {"POST", "/mcp/:source", api_mcp_handle, MCP, API_MCP_BODY_MAX, MEMBER(MCP)},
    {"GET", "/mcp/:source", api_mcp_handle, MCP, 0, MEMBER(MCP)},
    {"DELETE", "/mcp/:source", api_mcp_handle, MCP, 0, MEMBER(MCP)},
    {"GET", "/sse", api_mcp_sse_open, MCP, 0, MEMBER(MCP)},
    {"POST", "/sse/message", api_mcp_sse_post, MCP, API_MCP_BODY_MAX, MEMBER(MCP)},
    {"GET", "/metrics", api_metrics_get, PEOPLE, 0, SERVER(READ)},
    {"GET", "/.well-known/oauth-protected-resource", api_mcp_metadata, ANYBODY, 0, OPEN},
    {"GET", "/.well-known/oauth-protected-resource/mcp", api_mcp_metadata, ANYBODY, 0, OPEN},
};
/* clang-format on */

const struct route *api_routes(size_t *ret_n)
{
    *ret_n = ARRAY_LEN(ROUTES);
    return ROUTES;
}

const char *api_route_target(const struct route *route)
{
    static const struct {
        unsigned flag;
        const char *name;
    } TARGETS[] = {{API_CONV, "conversation"}, {API_BODY_CONV, "message"}, {API_WS, "workspace"},
                   {API_USER, "user"},         {API_HOME, "account"},      {API_OPEN, "open"}};
    for (size_t i = 0; i < ARRAY_LEN(TARGETS); i++)
        if (route->flags & TARGETS[i].flag)
            return TARGETS[i].name;
    if (!(route->flags & API_NO_SPACE))
        return "space";
    return api_rule(route)->server > ORG_MEMBER ? "server" : "account";
}
