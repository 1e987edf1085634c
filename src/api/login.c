/* /v1/auth/... - logging in and out, and staying logged in. */
#include <errno.h>

#include "api/admit.h"
#include "api/guard.h"

/* ---- cookies ---- */

static bool is_secure(const struct http_req *r)
{
    return !guard_is_loopback(http_get_header(r, "host"));
}

static void set_cookie(struct http_req *r, const char *name, str value, const char *more,
                       int64_t max_age_s)
{
    str cookie =
        arena_printf(&r->arena, "%s=%.*s; HttpOnly; %s; Max-Age=%lld%s", name, STR_ARG(value), more,
                     (long long)max_age_s, is_secure(r) ? "; Secure" : "");
    http_add_header(r, "Set-Cookie", cookie);
}

#define FOR_ALL  "SameSite=Lax; Path=/"
#define FOR_AUTH "SameSite=Strict; Path=/v1/auth"
#define FOR_FLOW "SameSite=Lax; Path=/v1/auth"

static void set_session(struct http_req *r, const struct auth_session *s)
{
    if (s->session_value.n == 0) /* another tab of this browser has just got new ones */
        return;
    set_cookie(r, AUTH_COOKIE_SESSION, s->session_value, FOR_ALL, s->session_max_age_s);
    set_cookie(r, AUTH_COOKIE_REFRESH, s->refresh_value, FOR_AUTH, s->refresh_max_age_s);
}

static void clear_session(struct http_req *r)
{
    set_cookie(r, AUTH_COOKIE_SESSION, STR_NONE, FOR_ALL, 0);
    set_cookie(r, AUTH_COOKIE_REFRESH, STR_NONE, FOR_AUTH, 0);
}

/* ---- waiting for an answer of auth ---- */

struct auth_wait { /* in the request's arena */
    struct api *api;
    struct http_req *req;
    struct auth_op *op;
};

static void on_gone(struct http_req *r)
{
    struct auth_wait *w = r->user;
    auth_cancel(w->op);
}

static struct auth_wait *wait_new(struct api *api, struct http_req *r)
{
    struct auth_wait *w = ARENA_NEW(&r->arena, struct auth_wait);
    w->api = api;
    w->req = r;
    r->user = w;
    r->on_gone = on_gone;
    return w;
}

static void reply_ok(struct http_req *r)
{
    http_reply(r, 200, "application/json", STR("{\"ok\":true}"));
}

/* ---- POST /v1/auth/login {email, password} or {key} ---- */

static void on_login(void *ctx, const struct err *err, const struct auth_session *s)
{
    struct auth_wait *w = ctx;
    if (err->code < 0) {
        api_auth_error(w->req, err);
        return;
    }
    set_session(w->req, s);
    reply_ok(w->req);
}

static const struct json_field LOGIN_FIELDS[] = {
    {"email", JF_STR, offsetof(struct auth_login, email), JF_NULLABLE, NULL, 0},
    {"password", JF_STR, offsetof(struct auth_login, password), JF_NULLABLE, NULL, 0},
    {"key", JF_STR, offsetof(struct auth_login, key), JF_NULLABLE, NULL, 0},
    {0}};

void api_auth_login(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct auth_login in = {.client = str_from(r->peer_addr)};
    if (!api_decode_body(r, LOGIN_FIELDS, &in))
        return;
    if (in.key.n == 0 && (in.email.n == 0 || in.password.n == 0)) {
        http_reply_error(r, 400, "bad_request", "Send email and password, or key.", NULL);
        return;
    }
    struct auth_wait *w = wait_new(api, r);
    w->op = auth_login(api->deps.auth, &in, on_login, w);
}

/* ---- POST /v1/auth/logout ---- */

static void on_logged_out(void *ctx)
{
    struct http_req *r = ctx;
    clear_session(r);
    reply_ok(r);
}

void api_auth_logout(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    auth_logout(api->deps.auth, http_cookie(r, AUTH_COOKIE_SESSION), on_logged_out, r);
}

/* ---- GET /v1/auth/session ---- */

/* A page has to know which way to log in it may offer. */
static void refuse_session(struct api *api, struct http_req *r)
{
    struct arena *a = &r->arena;
    struct json *details = json_new(a, JSON_OBJECT);
    const char *mode = auth_mode_name(auth_mode(api->deps.auth));
    json_set(a, details, STR("mode"), json_of_str(str_from(mode)));
    json_set(a, details, STR("orgName"), json_of_str(api->deps.org_name));
    http_add_header(r, "WWW-Authenticate", STR("Bearer"));
    http_reply_error(r, 401, "unauthorized", "Nobody is logged in.", details);
}

void api_auth_session(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    const struct api_identity *me = api_identity(r);
    if (!me->is_known) {
        refuse_session(api, r);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kbool(&j.w, "authenticated", true);
    jw_kstr(&j.w, "mode", str_from(auth_mode_name(auth_mode(api->deps.auth))));
    jw_kstr(&j.w, "userId", me->who.user_id);
    jw_kstr_or_null(&j.w, "displayName", api_display_name(api, me->who.user_id));
    jw_kstr(&j.w, "orgRole", org_role_name(me->who.role));
    jw_key(&j.w, "expiresAt");
    api_write_time(&j.w, me->who.expires_ms);
    jw_end(&j.w);
    api_json_send(&j, r);
}

/* ---- POST /v1/auth/refresh ---- */

static void on_refreshed(void *ctx, const struct err *err, const struct auth_session *s)
{
    struct auth_wait *w = ctx;
    if (err->code == -EACCES) {
        clear_session(w->req);
        http_reply_error(w->req, 401, "refresh_failed", "Log in again.", NULL);
    } else {
        on_login(w, err, s);
    }
}

void api_auth_refresh(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    const struct config_http *h = &api->deps.config->http;
    struct guard_rules rules = {h->host, h->allowed_hosts, h->allowed_origins};
    str value = http_cookie(r, AUTH_COOKIE_REFRESH);
    if (value.n == 0) {
        http_reply_error(r, 401, "no_refresh_token", "There is nothing to refresh; log in.", NULL);
    } else if (!guard_same_site(r, &rules)) {
        http_reply_error(r, 403, "origin_not_allowed",
                         "Requests with a cookie must come from a page of this server.", NULL);
    } else {
        struct auth_wait *w = wait_new(api, r);
        w->op = auth_refresh(api->deps.auth, value, on_refreshed, w);
    }
}

/* ---- GET /v1/auth/authorize, /v1/auth/callback: OpenID Connect ---- */

static void redirect(struct http_req *r, str to)
{
    http_add_header(r, "Location", to);
    http_reply(r, 302, NULL, STR_NONE);
}

/* A proxy in front may speak TLS for us. The Host has been checked. */
static str own_url(struct http_req *r, const char *path)
{
    bool is_tls = str_eq_nocase(http_get_header(r, "x-forwarded-proto"), STR("https"));
    str host = http_get_header(r, "host");
    return arena_printf(&r->arena, "%s://%.*s%s", is_tls ? "https" : "http", STR_ARG(host), path);
}

static void on_authorize(void *ctx, const struct err *err, str url, str flow)
{
    struct auth_wait *w = ctx;
    if (err->code < 0) {
        api_auth_error(w->req, err);
        return;
    }
    set_cookie(w->req, AUTH_COOKIE_FLOW, flow, FOR_FLOW, AUTH_FLOW_MAX_AGE_S);
    redirect(w->req, arena_str(&w->req->arena, url));
}

void api_auth_authorize(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct auth_authorize in = {own_url(r, "/v1/auth/callback"), http_query(r, "returnTo")};
    struct auth_wait *w = wait_new(api, r);
    w->op = auth_authorize(api->deps.auth, &in, on_authorize, w);
}

static void on_callback(void *ctx, const struct err *err, const struct auth_session *s)
{
    struct auth_wait *w = ctx;
    set_cookie(w->req, AUTH_COOKIE_FLOW, STR_NONE, FOR_FLOW, 0);
    if (err->code < 0) {
        log_warn(w->api->deps.log, "auth", "a login at the provider failed: %s", err->msg);
        redirect(w->req, STR("/?error=auth_failed"));
        return;
    }
    set_session(w->req, s);
    redirect(w->req, s->return_to.n > 0 ? arena_str(&w->req->arena, s->return_to) : STR("/"));
}

void api_auth_callback(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct auth_callback in = {
        .state = http_query(r, "state"),
        .code = http_query(r, "code"),
        .error = http_query(r, "error"),
        .iss = http_query(r, "iss"),
        .flow = http_cookie(r, AUTH_COOKIE_FLOW),
    };
    struct auth_wait *w = wait_new(api, r);
    w->op = auth_callback(api->deps.auth, &in, on_callback, w);
}
