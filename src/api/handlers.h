/* handlers.h - the handlers of the routes in routes.c: api_<resource>_<verb>(api, request).
 *
 * admit.c calls a handler once, when the caller, the workspace and the rule of the route have been
 * checked. The handler replies, or takes the request over and replies later. */
#pragma once

#include "http/router.h"

typedef void api_handler(void *api, struct http_req *r);

/* health.c */
api_handler api_health_get, api_healthz_get, api_readyz_get, api_workspace_get;
/* openapi.c */
api_handler api_openapi_get;
/* metrics.c */
api_handler api_metrics_get;
/* views/sandbox_page.c */
api_handler api_sandbox_get;
/* views/shell.c */
api_handler api_shell_get;
/* views/view_open.c */
api_handler api_views_close, api_views_get, api_views_open;
/* views/view_rpc.c */
api_handler api_views_answer, api_views_rpc;
/* views/view_tools.c */
api_handler api_views_call_done, api_views_calls, api_views_offer;
/* people/audit.c */
api_handler api_audit_list;
/* people/bootstrap.c */
api_handler api_bootstrap_get;
/* people/link.c */
api_handler api_auth_link, api_auth_link_rotate;
/* people/login.c */
api_handler api_auth_authorize, api_auth_callback, api_auth_login, api_auth_logout,
    api_auth_refresh, api_auth_session;
/* live/notify.c */
api_handler api_notices_list, api_notices_seen;
/* people/permissions.c */
api_handler api_permissions_get, api_permissions_set, api_permissions_withdraw,
    api_permissions_withdraw_all;
/* people/tokens.c */
api_handler api_tokens_add, api_tokens_list, api_tokens_revoke;
/* people/users.c */
api_handler api_preferences_get, api_preferences_set, api_users_add, api_users_get, api_users_list,
    api_users_password, api_users_remove, api_users_set, api_users_sign_out;
/* people/workspaces.c */
api_handler api_members_add, api_members_list, api_members_remove, api_members_set,
    api_workspaces_add, api_workspaces_get, api_workspaces_list, api_workspaces_remove,
    api_workspaces_set;
/* apps/app_auth.c */
api_handler api_apps_account_end, api_apps_account_start, api_apps_auth_callback,
    api_apps_auth_document, api_apps_auth_end, api_apps_auth_start;
/* apps/app_resources.c */
api_handler api_apps_resource, api_resources_read;
/* apps/app_trust.c */
api_handler api_apps_approve;
/* apps/apps.c */
api_handler api_apps_get, api_apps_import, api_apps_install, api_apps_list, api_apps_logs,
    api_apps_restart, api_apps_start, api_apps_stop, api_apps_uninstall, api_bundles_health;
/* apps/mcp.c */
api_handler api_mcp_handle, api_mcp_metadata, api_mcp_sse_open, api_mcp_sse_post;
/* apps/model_setup.c */
api_handler api_models_look, api_models_set_default, api_provider_key_delete, api_provider_key_set;
api_handler api_providers_add;
/* apps/models.c */
api_handler api_models_get, api_models_list;
/* apps/prompt.c */
api_handler api_prompt_preview;
/* apps/skill_edit.c */
api_handler api_skills_delete, api_skills_delete_personal, api_skills_put, api_skills_put_personal;
/* apps/skills.c */
api_handler api_skills_list, api_skills_match;
/* people/budgets.c */
api_handler api_budgets_get, api_budgets_set;
/* projects/project_files.c */
api_handler api_project_files_list, api_project_files_add, api_project_files_get,
    api_project_files_remove;
/* projects/projects.c */
api_handler api_projects_list, api_projects_add, api_projects_set, api_projects_remove;
api_handler api_conversations_move;
/* apps/texts.c */
api_handler api_instructions_get, api_instructions_put, api_instructions_put_personal;
api_handler api_prompts_list, api_prompts_put, api_prompts_put_personal;
api_handler api_prompts_delete, api_prompts_delete_personal;
/* apps/tools.c */
api_handler api_tools_call, api_tools_list;
/* files/conversation_file.c */
api_handler api_conversations_file;
/* files/file_add.c */
api_handler api_files_add, api_uploads_write;
/* files/files.c */
api_handler api_files_get, api_files_list, api_files_remove;
/* files/uploads.c */
api_handler api_uploads_add, api_uploads_get, api_uploads_remove;
/* conversations/chat.c */
api_handler api_chat_post, api_chat_start, api_chat_stream;
/* compat/compat_call.c */
api_handler api_compat_chat, api_compat_messages, api_compat_responses;
api_handler api_compat_response_get;
/* conversations/conversations.c */
api_handler api_conversations_branches, api_conversations_promote, api_conversations_cancel,
    api_conversations_delete, api_conversations_fork, api_conversations_get, api_conversations_list,
    api_conversations_rename, api_conversations_restore;
/* conversations/events.c */
api_handler api_conversations_events, api_conversations_typing, api_events_get, api_events_watch;
/* conversations/export.c */
api_handler api_conversations_export;
/* conversations/history.c */
api_handler api_conversations_history;
api_handler api_results_blob;
api_handler api_results_part;
/* conversations/import.c */
api_handler api_import_get, api_import_start;
/* conversations/import_given.c */
api_handler api_import_given, api_import_given_get;
/* conversations/inputs.c */
api_handler api_inputs_answer, api_inputs_list;
/* conversations/marks.c */
api_handler api_conversations_mark, api_trash_list;
/* conversations/notes.c */
api_handler api_notes_add, api_notes_list;
/* conversations/queue.c */
api_handler api_queue_edit, api_queue_list, api_queue_withdraw;
/* conversations/search.c */
api_handler api_search_get;
/* conversations/links.c */
api_handler api_links_add, api_links_list, api_links_list_all, api_links_remove,
    api_links_remove_any;
/* conversations/shared.c */
api_handler api_shared_read;
/* conversations/sharing.c */
api_handler api_participants_add, api_participants_remove, api_sharing_end, api_sharing_leave,
    api_sharing_set;
/* conversations/stats.c */
api_handler api_conversations_stats;
/* conversations/usage.c */
api_handler api_usage_get;
