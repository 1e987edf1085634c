/* /v1/users, /v1/preferences - the people of this instance. Admins manage them; all people may read
 * and name themselves. Only owners add, change or remove owners. */
#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/handlers.h"
#include "api/people/people.h"
#include "api/trail.h"
#include "auth/session/password.h"

#define ADMINS_ONLY "Only administrators may do this."

static void reply_user(struct api *api, struct http_req *r, str id)
{
    const struct user *u = roster_user(api_roster(api), id);
    if (!u) {
        api_not_found(r, "user");
        return;
    }
    struct api_json j;
    api_json_value(&j);
    api_write_user(&j.w, u, true);
    api_json_send(&j, r);
}

static void reply_changed(struct api_change *c, str id)
{
    reply_user(c->api, c->req, id);
}

static str user_in_path(const struct http_req *r)
{
    bool is_me = str_eq(r->params[0], STR("me"));
    return is_me ? api_user(r) : r->params[0];
}

/* ---- reading ---- */

void api_users_list(void *ctx, struct http_req *r)
{
    const struct roster *all = api_roster(ctx);
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "users");
    for (size_t i = 0; i < all->nusers; i++)
        api_write_user(&j.w, &all->users[i], false);
    jw_end(&j.w);
    api_write_strs(&j.w, "problems", all->problems);
    api_json_send(&j, r);
}

void api_users_get(void *ctx, struct http_req *r)
{
    reply_user(ctx, r, user_in_path(r));
}

/* ---- creating and changing ---- */

struct user_body {
    str email, display_name, role, password;
    const struct json *preferences;
};

const struct json_field API_USER_FIELDS[] = {
    {"email", JF_STR, offsetof(struct user_body, email), JF_NULLABLE, NULL, 0,
     "The address that the person logs in with; unique on this server."},
    {"displayName", JF_STR, offsetof(struct user_body, display_name), JF_NULLABLE, NULL, 0,
     "The name that others see."},
    {"orgRole", JF_STR, offsetof(struct user_body, role), JF_NULLABLE, NULL, 0,
     "The role on the server; only owners may make owners.", "'owner'|'admin'|'member'"},
    {"password", JF_STR, offsetof(struct user_body, password), JF_NULLABLE, NULL, 0,
     "A first password; only for a new person.", "string(8..1024)"},
    {"preferences", JF_JSON_OBJECT, offsetof(struct user_body, preferences), JF_NULLABLE, NULL, 0,
     "Members to change in the person's preferences; null removes one."},
    {0}};

/* Only an owner may create owners; the gate checks that only owners change owners. */
static bool may_give_role(const struct actor *me, enum org_role role)
{
    return actor_is_owner(me) || role != ORG_OWNER;
}

/* Fills in the given members. False: the request was answered. */
static bool read_body(struct http_req *r, struct user_body *b, struct change *c)
{
    if (!api_decode_body(r, API_USER_FIELDS, b))
        return false;
    c->email = b->email;
    c->display_name = b->display_name;
    c->preferences = b->preferences;
    c->has_role = b->role.p != NULL;
    if (c->has_role && org_role_parse(b->role, &c->role) < 0)
        return api_bad_request(r, "orgRole: expected owner, admin or member");
    return true;
}

static bool password_ok(struct http_req *r, str password)
{
    if (password.n >= PASSWORD_MIN && password.n <= PASSWORD_MAX)
        return true;
    str msg = arena_printf(&r->arena, "password: expected %d to %d characters", PASSWORD_MIN,
                           PASSWORD_MAX);
    return api_bad_request(r, msg.p);
}

static void on_first_password(void *ctx, const struct err *err, str id)
{
    struct api_change *c = ctx;
    if (err->code < 0)
        api_fail(c->req, FROM_CHANGE, err);
    else
        reply_user(c->api, c->req, c->data ? *(const str *)c->data : id);
}

static void set_first_password(struct api_change *c, str id)
{
    const str *password = c->data;
    assert(password->p);
    str *kept = ARENA_NEW(&c->req->arena, str);
    *kept = arena_str(&c->req->arena, id);
    c->data = kept;
    auth_only_if(
        auth_set_password(c->api->deps.auth, id, STR_NONE, *password, on_first_password, c),
        api_change_may);
}

void api_users_add(void *ctx, struct http_req *r)
{
    const struct actor *me = api_actor(r);
    struct user_body *b = ARENA_NEW(&r->arena, struct user_body);
    struct change c = {.kind = CHANGE_USER_ADD, .role = ORG_MEMBER};
    if (!read_body(r, b, &c) || (b->password.p && !password_ok(r, b->password)))
        return;
    else if (!may_give_role(me, c.role))
        api_forbidden(r, ADMINS_ONLY);
    else
        api_change(ctx, r, &c, b->password.p ? set_first_password : reply_changed, &b->password);
}

/* People may change their name and their preferences; everything else is for admins. */
static bool is_own_business(const struct user_body *b)
{
    return !b->email.p && !b->role.p;
}

void api_users_set(void *ctx, struct http_req *r)
{
    const struct actor *me = api_actor(r);
    struct user_body b = {0};
    struct change c = {.kind = CHANGE_USER_SET,
                       .user_id = user_in_path(r),
                       .actor = arena_cstr(&r->arena, actor_user(me))};
    if (!read_body(r, &b, &c))
        return;
    bool is_me = str_eq(c.user_id, actor_user(me));
    if (b.password.p)
        api_bad_request(r, "password: use /v1/users/:id/password");
    else if (is_me && !is_own_business(&b) && !api_is_org_admin(me))
        api_forbidden(r, ADMINS_ONLY);
    else if (c.has_role && !may_give_role(me, c.role))
        api_forbidden(r, ADMINS_ONLY);
    else
        api_change(ctx, r, &c, reply_changed, NULL);
}

void api_users_remove(void *ctx, struct http_req *r)
{
    const struct actor *me = api_actor(r);
    struct change c = {
        .kind = CHANGE_USER_REMOVE,
        .user_id = user_in_path(r),
        .actor = arena_cstr(&r->arena, actor_user(me)),
    };
    if (!api_query_flag(r, "cascade", false, &c.is_cascade))
        return;
    const struct user *u = roster_user(api_roster(ctx), c.user_id);
    if (u)
        trail_note(r, "email=%.*s", STR_ARG(u->email));
    api_change(ctx, r, &c, api_reply_deleted, NULL);
}

/* ---- POST /v1/users/:id/password, .../sign-out ---- */

struct password_body {
    str current, password;
};

const struct json_field API_PASSWORD_FIELDS[] = {
    {"current", JF_STR, offsetof(struct password_body, current), JF_NULLABLE, NULL, 0,
     "The current password; required to change one's own."},
    {"password", JF_STR, offsetof(struct password_body, password), JF_REQUIRED, NULL, 0,
     "The new password. All other logins of the person end.", "string(8..1024)"},
    {0}};

static void on_password(void *ctx, const struct err *err, str id)
{
    struct api_change *c = ctx;
    if (err->code == -EACCES) /* not 401: the caller is known, and stays logged in */
        http_reply_error(c->req, 403, "wrong_password", "The current password is wrong.", NULL);
    else if (err->code < 0)
        api_fail(c->req, FROM_AUTH, err);
    else
        api_reply_ok(c->req);
}

/* Changing one's own password requires the current one; a stolen session must not be enough. */
void api_users_password(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    const struct actor *me = api_actor(r);
    struct password_body b = {0};
    str id = user_in_path(r);
    bool is_me = !actor_is_operator(me) && str_eq(id, actor_user(me));
    if (!api_decode_body(r, API_PASSWORD_FIELDS, &b) || !password_ok(r, b.password))
        return;
    if (is_me && me->people[0].how == AUTH_BY_TOKEN) {
        api_forbidden(r, "A token cannot change a password.");
        return;
    }
    struct api_change *c = ARENA_NEW(&r->arena, struct api_change);
    *c = (struct api_change){.api = api, .req = r};
    str current = is_me ? (b.current.p ? b.current : STR("")) : STR_NONE;
    auth_only_if(auth_set_password(api->deps.auth, id, current, b.password, on_password, c),
                 api_change_may);
}

static void reply_signed_out(struct api_change *c, str id)
{
    api_reply_ok(c->req);
}

void api_users_sign_out(void *ctx, struct http_req *r)
{
    struct change c = {.kind = CHANGE_USER_SIGN_OUT, .user_id = user_in_path(r)};
    api_change(ctx, r, &c, reply_signed_out, NULL);
}

/* ---- /v1/preferences ---- */

static void reply_preferences(struct api *api, struct http_req *r, str id)
{
    const struct user *u = roster_user(api_roster(api), id);
    if (u)
        http_reply_json(r, 200, u->preferences);
    else
        http_reply(r, 200, "application/json", STR("{}"));
}

void api_preferences_get(void *ctx, struct http_req *r)
{
    reply_preferences(ctx, r, api_user(r));
}

static void reply_new_preferences(struct api_change *c, str id)
{
    reply_preferences(c->api, c->req, id);
}

void api_preferences_set(void *ctx, struct http_req *r)
{
    struct json *body;
    struct err e = {0};
    if (json_parse(&r->arena, r->body, JSON_UNIQUE, &body, &e) < 0 || body->type != JSON_OBJECT) {
        api_bad_request(r, "The body must be a JSON object.");
        return;
    }
    struct change c = {.kind = CHANGE_USER_SET, .user_id = api_user(r), .preferences = body};
    api_change(ctx, r, &c, reply_new_preferences, NULL);
}
