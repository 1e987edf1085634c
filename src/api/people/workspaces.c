/* /v1/workspaces - workspaces and their members.
 *
 * Members see their workspaces; admins of a workspace and of the server manage it. For everybody
 * else it does not exist: the gate has checked that before a handler runs. */
#include <assert.h>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/people/people.h"

/* ---- reading ---- */

static void write_workspace(struct json_writer *w, const struct workspace *ws,
                            const struct actor *me)
{
    enum ws_role role = workspace_role(ws, actor_user(me));
    jw_object(w);
    jw_kstr(w, "id", ws->id);
    jw_kstr(w, "name", ws->name);
    jw_kstr_or_null(w, "role", role == WS_NONE ? STR_NONE : ws_role_name(role));
    jw_kint(w, "memberCount", (int64_t)ws->nmembers);
    jw_kint(w, "bundleCount",
            ws->bundles && ws->bundles->type == JSON_ARRAY ? (int64_t)ws->bundles->len : 0);
    jw_key(w, "createdAt");
    api_write_time(w, ws->created_ms);
    jw_end(w);
}

void api_write_workspaces(struct json_writer *w, const struct api *api, const struct actor *me,
                          bool is_all)
{
    const struct roster *all = api_roster(api);
    jw_array(w);
    for (size_t i = 0; i < all->nworkspaces; i++) {
        const struct workspace *ws = &all->workspaces[i];
        bool is_bound =
            actor_bound_workspace(me).n > 0 && !str_eq(actor_bound_workspace(me), ws->id);
        bool is_mine = workspace_role(ws, actor_user(me)) != WS_NONE;
        if (!is_bound && (is_all || is_mine || actor_is_operator(me)))
            write_workspace(w, ws, me);
    }
    jw_end(w);
}

void api_workspaces_list(void *ctx, struct http_req *r)
{
    const struct actor *me = api_actor(r);
    bool is_all;
    struct api_json j;
    if (!api_query_flag(r, "all", false, &is_all))
        return;
    api_json_begin(&j);
    jw_key(&j.w, "workspaces");
    api_write_workspaces(&j.w, ctx, me, is_all && api_is_org_admin(me));
    api_json_send(&j, r);
}

static void reply_workspace(struct api *api, struct http_req *r, str id)
{
    const struct workspace *ws = roster_workspace(api_roster(api), id);
    if (!ws) {
        api_not_found(r, "workspace");
        return;
    }
    struct api_json j;
    api_json_value(&j);
    write_workspace(&j.w, ws, api_actor(r));
    api_json_send(&j, r);
}

void api_workspaces_get(void *ctx, struct http_req *r)
{
    reply_workspace(ctx, r, r->params[0]);
}

/* ---- creating and changing ---- */

struct workspace_body {
    str name, id;
};

const struct json_field API_WORKSPACE_FIELDS[] = {
    {"name", JF_STR, offsetof(struct workspace_body, name), JF_REQUIRED, NULL, 0,
     "The name that people see."},
    {"id", JF_STR, offsetof(struct workspace_body, id), JF_NULLABLE, NULL, 0,
     "An id of your choice; absent: made from the name."},
    {0}};

static void reply_changed(struct api_change *c, str id)
{
    reply_workspace(c->api, c->req, id);
}

void api_workspaces_add(void *ctx, struct http_req *r)
{
    const struct actor *me = api_actor(r);
    struct workspace_body b = {0};
    if (!api_decode_body(r, API_WORKSPACE_FIELDS, &b))
        return;
    struct change c = {.kind = CHANGE_WORKSPACE_ADD,
                       .name = b.name,
                       .workspace_id = b.id,
                       .user_id = actor_user(me),
                       .actor = arena_cstr(&r->arena, actor_user(me))};
    api_change(ctx, r, &c, reply_changed, NULL);
}

const struct json_field API_WORKSPACE_NAME_FIELDS[] = {
    {"name", JF_STR, 0, JF_REQUIRED, NULL, 0, "The new name."}, {0}};

void api_workspaces_set(void *ctx, struct http_req *r)
{
    str name = STR_NONE;
    if (!api_decode_body(r, API_WORKSPACE_NAME_FIELDS, &name))
        return;
    struct change c = {.kind = CHANGE_WORKSPACE_SET, .workspace_id = r->params[0], .name = name};
    api_change(ctx, r, &c, reply_changed, NULL);
}

void api_workspaces_remove(void *ctx, struct http_req *r)
{
    struct change c = {.kind = CHANGE_WORKSPACE_REMOVE,
                       .workspace_id = r->params[0],
                       .actor = arena_cstr(&r->arena, api_user(r))};
    api_change(ctx, r, &c, api_reply_deleted, NULL);
}

/* ---- members ---- */

static void write_member(struct json_writer *w, const struct member *m)
{
    assert(m->user && m->role != WS_NONE);
    jw_object(w);
    jw_kstr(w, "userId", m->user->id);
    jw_kstr_or_null(w, "displayName", m->user->display_name);
    jw_kstr_or_null(w, "email", m->user->email);
    jw_kstr(w, "role", ws_role_name(m->role));
    jw_end(w);
}

static void reply_members(struct api *api, struct http_req *r)
{
    const struct workspace *ws = roster_workspace(api_roster(api), r->params[0]);
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "members");
    for (size_t i = 0; ws && i < ws->nmembers; i++)
        write_member(&j.w, &ws->members[i]);
    jw_end(&j.w);
    api_json_send(&j, r);
}

static void reply_new_members(struct api_change *c, str id)
{
    reply_members(c->api, c->req);
}

void api_members_list(void *ctx, struct http_req *r)
{
    reply_members(ctx, r);
}

struct member_body {
    str user_id, email, role;
};

const struct json_field API_MEMBER_FIELDS[] = {
    {"userId", JF_STR, offsetof(struct member_body, user_id), JF_NULLABLE, NULL, 0,
     "The person to add, by id,"},
    {"email", JF_STR, offsetof(struct member_body, email), JF_NULLABLE, NULL, 0,
     "or by address; one of the two is required."},
    {"role", JF_STR, offsetof(struct member_body, role), JF_NULLABLE, NULL, 0,
     "Their role; absent: member.", "'admin'|'member'"},
    {0}};

static void set_member(struct api *api, struct http_req *r, str user_id, str role)
{
    struct change c = {.kind = CHANGE_MEMBER_SET,
                       .workspace_id = r->params[0],
                       .user_id = user_id,
                       .ws_role = WS_MEMBER};
    if (role.p && ws_role_parse(role, &c.ws_role) < 0)
        api_bad_request(r, "role: expected admin or member");
    else
        api_change(api, r, &c, reply_new_members, NULL);
}

void api_members_add(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct member_body b = {0};
    if (!api_decode_body(r, API_MEMBER_FIELDS, &b))
        return;
    const struct user *u = b.user_id.n > 0 ? roster_user(api_roster(api), b.user_id)
                                           : roster_user_by_email(api_roster(api), b.email);
    if (b.user_id.n == 0 && b.email.n == 0)
        api_bad_request(r, "userId or email is required.");
    else if (!u)
        api_not_found(r, "user");
    else
        set_member(api, r, u->id, b.role);
}

const struct json_field API_ROLE_FIELDS[] = {
    {"role", JF_STR, 0, JF_REQUIRED, NULL, 0, "The new role.", "'admin'|'member'"}, {0}};

static bool is_member(const struct api *api, struct http_req *r)
{
    const struct workspace *w = roster_workspace(api_roster(api), r->params[0]);
    if (w && workspace_role(w, r->params[1]) != WS_NONE)
        return true;
    return api_not_found(r, "member");
}

void api_members_set(void *ctx, struct http_req *r)
{
    str role = STR_NONE;
    if (is_member(ctx, r) && api_decode_body(r, API_ROLE_FIELDS, &role))
        set_member(ctx, r, r->params[1], role);
}

void api_members_remove(void *ctx, struct http_req *r)
{
    struct change c = {
        .kind = CHANGE_MEMBER_REMOVE, .workspace_id = r->params[0], .user_id = r->params[1]};
    if (is_member(ctx, r))
        api_change(ctx, r, &c, api_reply_deleted, NULL);
}
