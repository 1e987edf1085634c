/* internal.h - declarations that the files of api/ share.
 *
 *   live/           streams: the hub of a workspace, one stream
 *   people/         logins, users, workspaces, tokens, permissions, the audit log
 *   apps/           bundles and their sign-in, tools, skills, models, the prompt, /mcp
 *   conversations/  chat, history, notes, sharing, search, import, export, usage
 *   .               how a request is admitted: guard.c (Host, Origin), admit.c (authentication,
 *                   workspace), gate.c (the rule of its route), rate.c, proxy.c; exchange.c
 *                   (shared by handlers), trail.c (the audit log), frames.c (events as frames) */
#pragma once

#include "api/api.h"
#include "api/frames.h"
#include "api/rate.h"
#include "api/routes.h"
#include "base/json/json_decode.h"
#include "base/map.h"
#include "loop/timer.h"

#define API_HEARTBEAT_S 30 /* between two heartbeats of a stream */

struct api_import;
struct sse;

struct trail_row;

struct trail {                     /* trail.h */
    const struct trail_row **rows; /* one for each row of api_routes; NULL = not recorded */
    int64_t window;                /* the current minute */
    uint64_t n;                    /* records of unknown senders in this minute */
};

struct api {
    struct api_deps deps;
    struct trail trail;
    struct api_import *import;      /* the latest import, or NULL */
    struct list_node model_changes; /* changes that are being saved */
    struct list_node sign_ins;      /* sign-ins to remote servers from the page: app_auth.c */
    /* requests that wait for a search for model servers on this machine */
    struct list_node probe_waiters;
    uint16_t port;    /* port that the server listens on; 0 = none */
    char boot_id[32]; /* random, new for each process: part of the ids of workspace streams */
    struct map hubs;  /* workspace id -> struct hub */
    struct timer heartbeat;
    unsigned heartbeats; /* seconds counted */
    uint64_t nstreams;   /* streams opened so far */
    struct frame_names names;
    struct rates rates;
    struct map changing;  /* user id -> size_t: changes that are being saved, people.c */
    struct map exporting; /* user id -> size_t: exports in progress, export.c */
    size_t nexports;      /* exports of all users */
    /* user id -> struct provision: the first workspace of a person, being created */
    struct map provisions;
    struct directory_observer people;
    struct auth_observer logins;
};

/* The caller and the workspace of a request; in the request's arena. It contains no role and no
 * right: the actor is asked for them whenever a decision depends on them. */
struct api_identity {
    struct actor *actor; /* held until the request is freed; NULL: unknown, only with API_OPEN */
    struct api_space *space; /* NULL with API_NO_SPACE and API_HOME */
    /* Rights when the handler was called; only compared with the current rights when the response
     * is sent. */
    struct {
        uint64_t generation; /* actor_generation */
        enum ws_role role;
        enum org_role server;
    } dispatched;
    bool is_pending;    /* the credentials are still being checked */
    bool is_dispatched; /* the handler was called */
    bool is_recorded;   /* for the audit log (trail.h) */
    str audit_user;     /* trail_user */
    str audit_note;     /* trail_note */
};

const struct api_identity *api_identity(const struct http_req *r);
struct api_space *api_space(const struct http_req *r);
struct actor *api_actor(const struct http_req *r); /* borrowed; NULL: unknown, only with API_OPEN */
str api_user(const struct http_req *r);            /* the id of the caller */
/* Role in the workspace now: a response that waited shows what is allowed when it is sent. */
bool api_is_admin(const struct http_req *r);
/* Whether the token allows anything of this bundle; otherwise the bundle is hidden. */
bool api_token_sees(const struct http_req *r, str bundle);
/* may be empty; valid in this turn of the loop */
str api_display_name(const struct api *api, str user_id);
/* Code that continues after its request must hold the workspace. */
struct api_space *api_hold(struct api *api, struct api_space *s);
void api_release(struct api *api, struct api_space *s);

/* Handlers: void api_<resource>_<verb>(void *api, struct http_req *r). */
void api_auth_link(void *ctx, struct http_req *r);
void api_auth_link_rotate(void *ctx, struct http_req *r);
void api_audit_list(void *ctx, struct http_req *r);
void api_health_get(void *ctx, struct http_req *r);
void api_apps_list(void *ctx, struct http_req *r);
void api_apps_get(void *ctx, struct http_req *r);
void api_apps_import(void *ctx, struct http_req *r);
void api_apps_install(void *ctx, struct http_req *r);
void api_apps_uninstall(void *ctx, struct http_req *r);
void api_apps_start(void *ctx, struct http_req *r);
void api_apps_stop(void *ctx, struct http_req *r);
void api_apps_resource(void *ctx, struct http_req *r);
void api_apps_restart(void *ctx, struct http_req *r);
void api_apps_logs(void *ctx, struct http_req *r);
void api_apps_auth_start(void *ctx, struct http_req *r);
void api_apps_auth_end(void *ctx, struct http_req *r);
void api_apps_account_start(void *ctx, struct http_req *r);
void api_apps_account_end(void *ctx, struct http_req *r);
void api_apps_auth_callback(void *ctx, struct http_req *r);
void api_apps_auth_document(void *ctx, struct http_req *r);
void api_apps_auth_drop(struct api *api); /* unfinished sign-ins */
/* The bundle that the path names, and whether the caller may change bundles; both reply with an
 * error when they fail. */
struct bundle *api_apps_find(struct http_req *r);
bool api_apps_may_change(struct http_req *r);
void api_apps_approve(void *ctx, struct http_req *r);
void api_bundles_health(void *ctx, struct http_req *r);
void api_tools_list(void *ctx, struct http_req *r);
void api_tools_call(void *ctx, struct http_req *r);
void api_chat_post(void *ctx, struct http_req *r);
void api_chat_start(void *ctx, struct http_req *r);
void api_chat_stream(void *ctx, struct http_req *r);
void api_conversations_list(void *ctx, struct http_req *r);
void api_conversations_get(void *ctx, struct http_req *r);
void api_conversations_rename(void *ctx, struct http_req *r);
void api_conversations_fork(void *ctx, struct http_req *r);
void api_conversations_delete(void *ctx, struct http_req *r);
void api_conversations_restore(void *ctx, struct http_req *r);
void api_conversations_history(void *ctx, struct http_req *r);
void api_conversations_events(void *ctx, struct http_req *r);
void api_conversations_typing(void *ctx, struct http_req *r);
void api_events_get(void *ctx, struct http_req *r);
void api_events_watch(void *ctx, struct http_req *r);
void api_conversations_cancel(void *ctx, struct http_req *r);
void api_conversations_export(void *ctx, struct http_req *r);
void api_conversations_stats(void *ctx, struct http_req *r);
void api_notes_list(void *ctx, struct http_req *r);
void api_notes_add(void *ctx, struct http_req *r);
void api_sharing_set(void *ctx, struct http_req *r);
void api_sharing_end(void *ctx, struct http_req *r);
void api_participants_add(void *ctx, struct http_req *r);
void api_participants_remove(void *ctx, struct http_req *r);
void api_search_get(void *ctx, struct http_req *r);
void api_import_start(void *ctx, struct http_req *r);
void api_import_get(void *ctx, struct http_req *r);
void api_inputs_list(void *ctx, struct http_req *r);
void api_inputs_answer(void *ctx, struct http_req *r);
void api_queue_list(void *ctx, struct http_req *r);
void api_queue_edit(void *ctx, struct http_req *r);
void api_queue_withdraw(void *ctx, struct http_req *r);
void api_mcp_handle(void *ctx, struct http_req *r);
void api_mcp_sse_open(void *ctx, struct http_req *r);
void api_mcp_sse_post(void *ctx, struct http_req *r);
void api_mcp_metadata(void *ctx, struct http_req *r);
/* The address of the metadata that tells a client where to get a token after a 401; empty =
 * none. */
str api_mcp_metadata_url(const struct api *api, struct http_req *r);
void api_metrics_get(void *ctx, struct http_req *r);
void api_models_list(void *ctx, struct http_req *r);
void api_models_look(void *ctx, struct http_req *r);
void api_models_set_default(void *ctx, struct http_req *r);
void api_permissions_get(void *ctx, struct http_req *r);
void api_permissions_set(void *ctx, struct http_req *r);
void api_permissions_withdraw(void *ctx, struct http_req *r);
void api_permissions_withdraw_all(void *ctx, struct http_req *r);
void api_provider_key_set(void *ctx, struct http_req *r);
void api_prompt_preview(void *ctx, struct http_req *r);
void api_resources_read(void *ctx, struct http_req *r);
void api_skills_list(void *ctx, struct http_req *r);
void api_skills_match(void *ctx, struct http_req *r);
void api_skills_put(void *ctx, struct http_req *r);
void api_skills_delete(void *ctx, struct http_req *r);
void api_skills_put_personal(void *ctx, struct http_req *r);
void api_skills_delete_personal(void *ctx, struct http_req *r);
void api_usage_get(void *ctx, struct http_req *r);
void api_workspace_get(void *ctx, struct http_req *r);

void api_auth_authorize(void *ctx, struct http_req *r);
void api_auth_callback(void *ctx, struct http_req *r);
void api_auth_login(void *ctx, struct http_req *r);
void api_auth_logout(void *ctx, struct http_req *r);
void api_auth_refresh(void *ctx, struct http_req *r);
void api_auth_session(void *ctx, struct http_req *r);
void api_bootstrap_get(void *ctx, struct http_req *r);
void api_members_add(void *ctx, struct http_req *r);
void api_members_list(void *ctx, struct http_req *r);
void api_members_remove(void *ctx, struct http_req *r);
void api_members_set(void *ctx, struct http_req *r);
void api_preferences_get(void *ctx, struct http_req *r);
void api_preferences_set(void *ctx, struct http_req *r);
void api_tokens_add(void *ctx, struct http_req *r);
void api_tokens_list(void *ctx, struct http_req *r);
void api_tokens_revoke(void *ctx, struct http_req *r);
void api_users_add(void *ctx, struct http_req *r);
void api_users_get(void *ctx, struct http_req *r);
void api_users_list(void *ctx, struct http_req *r);
void api_users_password(void *ctx, struct http_req *r);
void api_users_remove(void *ctx, struct http_req *r);
void api_users_set(void *ctx, struct http_req *r);
void api_users_sign_out(void *ctx, struct http_req *r);
void api_workspaces_add(void *ctx, struct http_req *r);
void api_workspaces_get(void *ctx, struct http_req *r);
void api_workspaces_list(void *ctx, struct http_req *r);
void api_workspaces_remove(void *ctx, struct http_req *r);
void api_workspaces_set(void *ctx, struct http_req *r);

/* changes that are being saved do not use the API any more */
void api_model_setup_drop(struct api *api);
void api_import_free(struct api_import *im); /* cancels it; accepts NULL */

/* ---- exchange.c: shared by handlers ---- */

/* ceiling of one response; a larger one becomes an error */
#define API_JSON_MAX (64u * 1024 * 1024)

/* False: the rights that the response depends on were lost meanwhile; 403 was sent. */
bool api_may_answer(struct http_req *r);

/* A JSON response: begin, write to `w`, send it in one of these ways, which frees it. */
struct api_json {
    struct json_writer w;
    struct buf buf;
};
void api_json_begin(struct api_json *j);
void api_json_send(struct api_json *j, struct http_req *r); /* 200 */
void api_json_send_event(struct api_json *j, struct sse *to, str event);

/* Parses the body as a JSON object and decodes it; replies with 400 and returns false when that
 * fails, or when the body has a key that is not in the table: a misspelt key must not be
 * ignored. */
bool api_decode_body(struct http_req *r, const struct json_field *fields, void *ret_struct);
/* The same for bodies that may contain keys for other code. */
bool api_decode_open_body(struct http_req *r, const struct json_field *fields, void *ret_struct);
void api_not_found(struct http_req *r, const char *what);
/* Replies with the status that matches a negative errno of the store. */
void api_store_error(struct http_req *r, const struct err *err);
/* Replies with 401, 403, 429 or 503, depending on the error of auth/identity.h. */
void api_auth_error(struct http_req *r, const struct err *err);
/* Replies with the status that matches an error of workspace/roster/change.h. */
void api_change_error(struct http_req *r, const struct err *err);
/* workingDirectory {path, id}: only the owner of nb's files may pass a directory of this machine,
 * through the socket that nobody else can open. Otherwise replies with 403 and returns false. */
extern const struct json_field API_DIRECTORY_FIELDS[];
bool api_may_lend(struct http_req *r, const struct dir_grant *g);
/* Replies with the status that matches a turn that was not started. */
void api_turn_refused(struct http_req *r, enum turn_refusal why, const struct err *err);
/* A positive integer from the query, or `otherwise` when absent. False: 400 was sent. */
bool api_query_int(struct http_req *r, const char *name, int64_t otherwise, int64_t max,
                   int64_t *ret);

/* For one query of the store, with the current rights; NULL = the operator. */
const struct viewer *api_viewer(struct http_req *r);

/* A request that waits for the store: `op` is cancelled when the client disconnects. */
struct api_wait {
    struct api *api;
    struct api_space *space;
    struct http_req *req;
    struct store_op *op;
    str id;     /* id of the conversation, when the route has one */
    void *data; /* the handler's own, in the request's arena */
    void (*then)(struct api_wait *w, const struct conv *c);
};
struct api_wait *api_wait_new(struct api *api, struct http_req *r); /* in r's arena */
bool api_may(const struct api_wait *w, const struct conv *c, enum conv_right right);
/* Checks the right that the rule of the route names. Replies with an error when it is missing. */
bool api_check_right(const struct api_wait *w, const struct conv *c);

/* Finds the conversation r->params[0] and continues with `then` if the caller has the right that
 * the rule of the route names. Replies with 404 when it does not exist or the caller may not see
 * it, 403 when they may see it but not do this. */
struct api_wait *api_find_conv(struct api *api, struct http_req *r, void *data,
                               void (*then)(struct api_wait *w, const struct conv *c));

void api_write_strs(struct json_writer *w, const char *key, struct json_strs list);
void api_write_time(struct json_writer *w, int64_t ms); /* 0 = null */
/* An array of a person's workspaces, or of all. */
void api_write_workspaces(struct json_writer *w, const struct api *api, const struct actor *me,
                          bool is_all);
/* Writes an object: which skill a message selects, and why. */
void api_write_match(struct json_writer *w, const struct skill_match *m);
/* A store_conv_fn with a struct api_wait: replies with the conversation, or with the error. */
void api_reply_conv(void *wait, const struct err *err, const struct conv *c);
