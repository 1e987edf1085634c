/* internal.h - what the files of api/ share.
 *
 *   live/           streams: the hub of a workspace, one stream
 *   people/         logins, users, workspaces, tokens, permissions, the audit log
 *   apps/           bundles and their sign-in, tools, skills, models, the prompt, /mcp
 *   conversations/  chat, history, notes, sharing, search, import, export, usage
 *   .               how a request is admitted: guard.c (Host, Origin), admit.c (who asks, where),
 *                   gate.c (the rule of its route), rate.c, proxy.c; exchange.c (what handlers
 *                   have in common), trail.c (the audit log), frames.c (events as frames) */
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
    const struct trail_row **rows; /* of api_routes; NULL = not recorded */
    int64_t window;                /* this minute, */
    uint64_t n;                    /* and its records of unknown senders */
};

struct api {
    struct api_deps deps;
    struct trail trail;
    struct api_import *import;      /* the latest one, or NULL */
    struct list_node model_changes; /* being saved */
    struct list_node sign_ins;      /* to remote servers, from the page: app_auth.c */
    struct list_node probe_waiters; /* requests that wait for a look at this machine */
    uint16_t port;                  /* that listens; 0 = none */
    char boot_id[32];               /* of this process, in the ids of the workspace streams */
    struct map hubs;                /* workspace id -> struct hub */
    struct timer heartbeat;
    unsigned heartbeats; /* seconds counted */
    uint64_t nstreams;   /* opened so far */
    struct frame_names names;
    struct rates rates;
    struct map changing;   /* user id -> size_t: changes that are being saved, people.c */
    struct map exporting;  /* user id -> size_t: documents that are being built, export.c */
    size_t nexports;       /* of all */
    struct map provisions; /* user id -> their first workspace, which is being made */
    struct directory_observer people;
    struct auth_observer logins;
};

/* Who asks, and in which workspace; in the request's arena, as long as the request. It holds no
 * role and no right: the actor is asked for them when something depends on them. */
struct api_identity {
    struct actor *actor;     /* held until the request is over; NULL: unknown, only with API_OPEN */
    struct api_space *space; /* NULL with API_NO_SPACE and API_HOME */
    /* When the handler was called; only compared with the rights of now when the answer is sent. */
    struct {
        uint64_t generation; /* actor_generation */
        enum ws_role role;
        enum org_role server;
    } dispatched;
    bool is_pending;    /* the credentials are still being checked */
    bool is_dispatched; /* its handler was called */
    bool is_recorded;   /* in the audit log (trail.h) */
    str audit_user;     /* trail_user */
    str audit_note;     /* trail_note */
};

const struct api_identity *api_identity(const struct http_req *r);
struct api_space *api_space(const struct http_req *r);
struct actor *api_actor(const struct http_req *r); /* borrowed; NULL: unknown, with API_OPEN */
str api_user(const struct http_req *r);            /* the id of the person who asks */
/* Of the workspace, by the role of now: an answer that waited shows what is right when it is sent.
 */
bool api_is_admin(const struct http_req *r);
/* May the token use anything of this bundle? What it may not use, it does not see. */
bool api_token_sees(const struct http_req *r, str bundle);
str api_display_name(const struct api *api, str user_id); /* may be empty; for this turn */
/* What goes on when its request is over, holds the workspace itself. */
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
void api_apps_auth_drop(struct api *api); /* sign-ins that are not finished */
/* The bundle that the path names, and whether the asker may change bundles; both answer when the
 * result is negative. */
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
/* Where a client that was told 401 finds out who gives out tokens; empty = nowhere. */
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

void api_model_setup_drop(struct api *api);  /* what is being saved is not used any more */
void api_import_free(struct api_import *im); /* cancels it; accepts NULL */

/* ---- exchange.c: what handlers share ---- */

#define API_JSON_MAX (64u * 1024 * 1024) /* of one answer; what is larger gets an error */

/* False: the rights that the answer depends on were lost while it was prepared; 403 was sent. */
bool api_may_answer(struct http_req *r);

/* An answer in JSON: begin, write to `w`, send it one way or the other, which frees it. */
struct api_json {
    struct json_writer w;
    struct buf buf;
};
void api_json_begin(struct api_json *j);
void api_json_send(struct api_json *j, struct http_req *r); /* 200 */
void api_json_send_event(struct api_json *j, struct sse *to, str event);

/* Parses the body as a JSON object and decodes it; answers 400 itself and returns false when
 * that fails, or when it has a key that is not in the table: a misspelt one must not do the
 * opposite of what was meant. */
bool api_decode_body(struct http_req *r, const struct json_field *fields, void *ret_struct);
/* The same for bodies that may hold keys meant for others. */
bool api_decode_open_body(struct http_req *r, const struct json_field *fields, void *ret_struct);
void api_not_found(struct http_req *r, const char *what);
/* Answers with the status that fits a negative errno of the store. */
void api_store_error(struct http_req *r, const struct err *err);
/* workingDirectory {path, id}: a directory of this computer is lent only by the owner of nb's
 * files, through the socket that nobody else can open. Otherwise answers 403 and returns false. */
extern const struct json_field API_DIRECTORY_FIELDS[];
bool api_may_lend(struct http_req *r, const struct dir_grant *g);
/* Answers with the status that fits a turn which was not begun. */
void api_turn_refused(struct http_req *r, enum turn_refusal why, const struct err *err);
/* Positive integer from the query, or `otherwise` when absent. False: answered with 400. */
bool api_query_int(struct http_req *r, const char *name, int64_t otherwise, int64_t max,
                   int64_t *ret);

/* For one query of the store, with the rights of now; NULL = the operator. */
const struct viewer *api_viewer(struct http_req *r);

/* A request that waits for an answer of the store: `op` is cancelled when the client goes. */
struct api_wait {
    struct api *api;
    struct api_space *space;
    struct http_req *req;
    struct store_op *op;
    str id;     /* of the conversation, when the route has one */
    void *data; /* the handler's own, in the request's arena */
    void (*then)(struct api_wait *w, const struct conv *c);
};
struct api_wait *api_wait_new(struct api *api, struct http_req *r); /* in r's arena */
bool api_may(const struct api_wait *w, const struct conv *c, enum conv_right right);
/* The right that the row of the route names. Answers itself when it is missing. */
bool api_check_right(const struct api_wait *w, const struct conv *c);

/* Finds the conversation r->params[0] and goes on with `then` if the asker has the right that
 * the route's row names. Answers 404 when it is absent or the asker may not see it, 403 when they
 * see it but may not do this. */
struct api_wait *api_find_conv(struct api *api, struct http_req *r, void *data,
                               void (*then)(struct api_wait *w, const struct conv *c));

void api_write_strs(struct json_writer *w, const char *key, struct json_strs list);
void api_write_time(struct json_writer *w, int64_t ms); /* 0 = null */
/* An array of the workspaces somebody is in, or of all. */
void api_write_workspaces(struct json_writer *w, const struct api *api, const struct actor *me,
                          bool is_all);
/* Which skill a message gets, and why: an object. */
void api_write_match(struct json_writer *w, const struct skill_match *m);
/* A store_conv_fn with a struct api_wait: answers with the conversation, or with the error. */
void api_reply_conv(void *wait, const struct err *err, const struct conv *c);
