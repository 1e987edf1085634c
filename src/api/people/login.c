/* /v1/auth/... - logging in and out, and refreshing a login. */
#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/handlers.h"
#include "api/ingress/guard.h"
#include "api/ingress/proxy.h"
#include "api/people/people.h"
#include "api/trail.h"

/* ---- cookies ---- */

struct cookie_rule {
    const char *name, *same_site, *path;
};

static const struct cookie_rule SESSION = {AUTH_COOKIE_SESSION, "Lax", "/"};
static const struct cookie_rule REFRESH = {AUTH_COOKIE_REFRESH, "Strict", "/v1/auth"};
static const struct cookie_rule FLOW = {AUTH_COOKIE_FLOW, "Lax", "/v1/auth"};

static const struct config_http *settings(const struct api *api)
{
    return &api->deps.config->http;
}

static void set_cookie(const struct api *api, struct http_req *r, const struct cookie_rule *c,
                       str value, int64_t max_age_s)
{
    const struct config_http *h = settings(api);
    /* Dev mode has no identity provider that redirects back, so links of other sites need no login
     * cookie. */
    bool is_strict = auth_mode(api->deps.auth) == AUTH_DEV;
    str text =
        arena_printf(&r->arena, "%s=%.*s; HttpOnly; SameSite=%s; Path=%.*s%s; Max-Age=%lld%s",
                     auth_cookie_name(api->deps.auth, &r->arena, c->name), STR_ARG(value),
                     is_strict ? "Strict" : c->same_site, STR_ARG(h->base_path), c->path,
                     (long long)max_age_s, proxy_wants_secure(h, r) ? "; Secure" : "");
    http_add_header(r, "Set-Cookie", text);
}

static str cookie(const struct api *api, struct http_req *r, const char *name)
{
    return http_cookie(r, auth_cookie_name(api->deps.auth, &r->arena, name));
}

static void set_session(const struct api *api, struct http_req *r, const struct auth_session *s)
{
    if (s->session_value.n == 0) /* another tab of this browser has just received new ones */
        return;
    set_cookie(api, r, &SESSION, s->session_value, s->session_max_age_s);
    set_cookie(api, r, &REFRESH, s->refresh_value, s->refresh_max_age_s);
}

static void clear_session(const struct api *api, struct http_req *r)
{
    set_cookie(api, r, &SESSION, STR_NONE, 0);
    set_cookie(api, r, &REFRESH, STR_NONE, 0);
}

/* ---- POST /v1/auth/login {email, password} or {key} ---- */

static void on_login(void *ctx, const struct err *err, const struct auth_session *s)
{
    struct api_auth_wait *w = ctx;
    if (err->code < 0) {
        api_fail(w->req, FROM_AUTH, err);
        return;
    }
    assert(s && s->user_id.n > 0);
    set_session(w->api, w->req, s);
    trail_user(w->req, s->user_id);
    api_reply_ok(w->req);
}

const struct json_field API_LOGIN_FIELDS[] = {
    {"email", JF_STR, offsetof(struct auth_login, email), JF_NULLABLE, NULL, 0,
     "The address of the person."},
    {"password", JF_STR, offsetof(struct auth_login, password), JF_NULLABLE, NULL, 0,
     "Their password."},
    {"key", JF_STR, offsetof(struct auth_login, key), JF_NULLABLE, NULL, 0,
     "The key of the page's link, on a server without users."},
    {0}};

void api_auth_login(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct auth_login in = {.client = proxy_client(settings(api), r)};
    if (!api_decode_body(r, API_LOGIN_FIELDS, &in))
        return;
    if (proxy_loses_cookies(settings(api), r)) {
        http_reply_error(r, 400, "https_needed",
                         "Browsers do not store the login cookie of this server over plain HTTP. "
                         "Use https, or set http.insecureCookies if you trust the network.",
                         NULL);
        return;
    }
    if (in.key.n == 0 && (in.email.n == 0 || in.password.n == 0)) {
        api_bad_request(r, "email and password, or key, are required.");
        return;
    }
    struct api_auth_wait *w = api_auth_wait(api, r);
    w->op = auth_login(api->deps.auth, &in, on_login, w);
}

/* ---- POST /v1/auth/logout ---- */

static void on_logged_out(void *ctx, const struct err *err)
{
    struct api_auth_wait *w = ctx;
    if (err->code < 0) {
        api_fail(w->req, FROM_AUTH, err);
        return;
    }
    clear_session(w->api, w->req);
    api_reply_ok(w->req);
}

void api_auth_logout(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_auth_wait *w = ARENA_NEW(&r->arena, struct api_auth_wait);
    w->api = api;
    w->req = r; /* lives until the reply is sent */
    auth_logout(api->deps.auth, cookie(api, r, AUTH_COOKIE_SESSION),
                cookie(api, r, AUTH_COOKIE_REFRESH), on_logged_out, w);
}

/* ---- GET /v1/auth/session ---- */

/* The page needs to know which ways to log in it can offer. */
static void refuse_session(struct api *api, struct http_req *r)
{
    struct arena *a = &r->arena;
    struct json *details = json_new(a, JSON_OBJECT);
    const char *mode = auth_mode_name(auth_mode(api->deps.auth));
    json_set(a, details, STR("mode"), json_of_str(str_from(mode)));
    json_set(a, details, STR("orgName"), json_of_str(api->deps.org_name));
    http_add_header(r, "WWW-Authenticate", STR("Bearer"));
    http_reply_error(r, 401, "unauthorized", "You are not logged in.", details);
}

void api_auth_session(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    const struct actor *me = api_actor(r);
    const struct err *why = &api_identity(r)->check;
    if (!me && why->code < 0 && why->code != -EACCES) { /* 401 would log the person out */
        api_fail(r, FROM_AUTH, why);
        return;
    }
    if (!me) {
        refuse_session(api, r);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_kbool(&j.w, "authenticated", true);
    jw_kstr(&j.w, "mode", str_from(auth_mode_name(auth_mode(api->deps.auth))));
    jw_kstr(&j.w, "userId", actor_user(me));
    jw_kstr_or_null(&j.w, "displayName", api_display_name(api, actor_user(me)));
    jw_kstr(&j.w, "orgRole", org_role_name(actor_org_role(me)));
    jw_key(&j.w, "expiresAt");
    api_write_time(&j.w, me->people[0].expires_ms);
    api_json_send(&j, r);
}

/* ---- POST /v1/auth/refresh ---- */

static void on_refreshed(void *ctx, const struct err *err, const struct auth_session *s)
{
    struct api_auth_wait *w = ctx;
    if (err->code == -EACCES) {
        clear_session(w->api, w->req);
        http_reply_error(w->req, 401, "refresh_failed", "Log in again.", NULL);
    } else {
        on_login(w, err, s);
    }
}

void api_auth_refresh(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    const struct config_http *h = settings(api);
    struct guard_rules rules = {h->host, h->allowed_hosts, h->allowed_origins};
    str value = cookie(api, r, AUTH_COOKIE_REFRESH);
    if (value.n == 0) {
        http_reply_error(r, 401, "no_refresh_token", "No login to refresh. Log in.", NULL);
    } else if (!guard_same_site(r, &rules)) {
        http_reply_error(r, 403, "origin_not_allowed",
                         "Requests with a cookie must come from a page of this server.", NULL);
    } else {
        struct api_auth_wait *w = api_auth_wait(api, r);
        w->op = auth_refresh(api->deps.auth, value, on_refreshed, w);
    }
}

/* ---- GET /v1/auth/authorize, /v1/auth/callback: OpenID Connect ---- */

static void redirect(struct http_req *r, str to)
{
    http_add_header(r, "Location", to);
    http_reply(r, 302, NULL, STR_NONE);
}

static str own_path(const struct api *api, struct http_req *r, str path)
{
    return arena_concat(&r->arena, settings(api)->base_path, path);
}

static void on_authorize(void *ctx, const struct err *err, str url, str flow)
{
    struct api_auth_wait *w = ctx;
    if (err->code < 0) {
        api_fail(w->req, FROM_AUTH, err);
        return;
    }
    set_cookie(w->api, w->req, &FLOW, flow, AUTH_FLOW_MAX_AGE_S);
    redirect(w->req, arena_str(&w->req->arena, url));
}

void api_auth_authorize(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct auth_authorize in = {
        .redirect_uri = proxy_own_url(settings(api), r, "/v1/auth/callback"),
        .return_to = api_query(r, "returnTo"),
        .client = proxy_client(settings(api), r),
    };
    struct api_auth_wait *w = api_auth_wait(api, r);
    w->op = auth_authorize(api->deps.auth, &in, on_authorize, w);
}

static void on_callback(void *ctx, const struct err *err, const struct auth_session *s)
{
    struct api_auth_wait *w = ctx;
    set_cookie(w->api, w->req, &FLOW, STR_NONE, 0);
    if (err->code < 0) {
        if (err->code != -ENOENT) /* an unknown state: anybody can send it, in any number */
            log_warn(w->api->deps.log, "auth", "a login at the provider failed: %s", err->msg);
        trail_login(w->api, w->req, STR_NONE, err);
        redirect(w->req, own_path(w->api, w->req, STR("/?error=auth_failed")));
        return;
    }
    set_session(w->api, w->req, s);
    trail_login(w->api, w->req, s->user_id, NULL);
    redirect(w->req, s->return_to.n > 0 ? arena_str(&w->req->arena, s->return_to)
                                        : own_path(w->api, w->req, STR("/")));
}

void api_auth_callback(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct auth_callback in = {
        .state = api_query(r, "state"),
        .code = api_query(r, "code"),
        .error = api_query(r, "error"),
        .iss = api_query(r, "iss"),
        .flow = cookie(api, r, AUTH_COOKIE_FLOW),
    };
    struct api_auth_wait *w = api_auth_wait(api, r);
    w->op = auth_callback(api->deps.auth, &in, on_callback, w);
}
