/* /v1/apps/:name/auth, /v1/apps/:name/account, /v1/apps/oauth/... - signing in to a remote server
 * from the page: by an admin for the whole workspace (auth), or by each person with an account of
 * their own (account).
 *
 *   POST auth or account -> address for the browser -> authorization server -> GET callback ->
 * token
 *
 * A sign-in accepts one callback, within SIGN_IN_MS, from the browser that started it: the cookie
 * contains a secret of its own, and the person must be the same. So an address that an attacker
 * sends to others signs nobody in, and the code of one person never reaches another. The callback
 * always redirects to this server's own page. Tokens are never part of a response, an event or a
 * log line. */
#include "api/apps/app_auth.h"

#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/apps/apps.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/ingress/proxy.h"
#include "base/bytes/random.h"
#include "bundle/bundle.h"
#include "bundle/entry/entry.h"
#include "bundle/oauth/oauth.h"
#include "bundle/settings/plain_secrets.h"
#include "workspace/secrets/credentials.h"

#define SIGN_IN_MS         (10u * 60 * 1000)
#define SIGN_INS_MAX       64 /* unfinished sign-ins; beyond it, the oldest is dropped */
#define SIGN_INS_OF_PERSON 4
#define COOKIE             "nb_bundle_auth"
#define SECRET_BYTES       32
#define CALLBACK           "/v1/apps/oauth/callback"
#define DOCUMENT           "/v1/apps/oauth/client.json"

struct sign_in {
    struct list_node node; /* in api->sign_ins, oldest first */
    struct api *api;       /* NULL after it was stopped while a pool job still runs */
    struct arena arena;
    struct oauth_login *login;
    struct http_req *req; /* the request that waits for the next step, or NULL */
    str user_id, space_id, bundle, dir, slug;
    char secret[2 * SECRET_BYTES + 1];
    bool is_personal; /* for the account of this person */
    bool is_answered; /* the callback has arrived; further callbacks are refused */
    bool has_job;     /* a job runs on the pool */
    struct oauth_state state;
    const char *credentials_dir;
    struct bundle_entry entry; /* a copy, with its client secret */
    struct timer limit;
    struct err err;
    struct job job;
};

static const struct config_http *settings(const struct api *api)
{
    return &api->deps.config->http;
}

static str own_url(const struct api *api, struct http_req *r, const char *path)
{
    str base = settings(api)->public_url;
    return base.n > 0 ? arena_printf(&r->arena, "%.*s%s", STR_ARG(base), path)
                      : proxy_own_url(settings(api), r, path);
}

static void sign_in_free(struct sign_in *s)
{
    assert(!s->has_job); /* its job would use it */
    list_del(&s->node);
    timer_stop(&s->limit);
    oauth_login_free(s->login);
    explicit_bzero(s->secret, sizeof(s->secret));
    arena_done(&s->arena);
    free(s);
}

static void on_sign_in_gone(struct http_req *r)
{
    ((struct sign_in *)r->user)->req = NULL;
}

/* The request that waits now; NULL when its client has disconnected. */
static struct http_req *take_request(struct sign_in *s)
{
    struct http_req *r = s->req;
    s->req = NULL;
    if (r)
        r->on_gone = NULL;
    return r;
}

static void wait_with(struct sign_in *s, struct http_req *r)
{
    assert(!s->req && !r->on_gone);
    s->req = r;
    r->user = s;
    r->on_gone = on_sign_in_gone;
}

static void sign_in_submit(struct sign_in *s, void (*work)(struct job *j),
                           void (*done)(struct job *j))
{
    assert(!s->has_job && s->api);
    s->has_job = true;
    pool_run(s->api->deps.pool, &s->job, work, done);
}

static struct sign_in *sign_in_of(struct job *j)
{
    return CONTAINER_OF(j, struct sign_in, job);
}

static struct sign_in *sign_in_done(struct job *j)
{
    struct sign_in *s = sign_in_of(j);
    assert(s->has_job);
    s->has_job = false;
    return s;
}

static void choose_file(struct sign_in *s)
{
    struct arena *a = &s->arena;
    const struct bundle_entry *e = &s->entry;
    const char *credentials_dir = s->credentials_dir;
    s->dir =
        str_from(s->is_personal ? credentials_people_dir(a, credentials_dir) : credentials_dir);
    s->slug = arena_str(a, s->is_personal ? credentials_person_slug(a, e->server_name, s->user_id)
                                          : entry_credentials(a, e));
}

static struct sign_in *sign_in_new(struct api *api, struct http_req *r, const struct bundle *b)
{
    struct sign_in *s = xcalloc(1, sizeof(*s));
    arena_init(&s->arena);
    s->api = api;
    s->user_id = arena_str(&s->arena, api_user(r));
    s->space_id = arena_str(&s->arena, api_space(r)->id);
    s->bundle = arena_str(&s->arena, bundle_entry(b)->server_name);
    s->is_personal = bundle_is_per_person(b);
    s->credentials_dir = arena_printf(&s->arena, "%s/credentials", api_space(r)->root).p;
    s->entry = bundle_entry_copy(&s->arena, bundle_entry(b));
    choose_file(s);
    list_push(&api->sign_ins, &s->node);
    wait_with(s, r);
    return s;
}

/* ---- the browser's cookie ---- */

static void set_cookie(struct api *api, struct http_req *r, str value, unsigned max_age_s)
{
    const struct config_http *h = settings(api);
    str text = arena_printf(
        &r->arena, COOKIE "=%.*s; HttpOnly; SameSite=Lax; Path=%.*s/v1/apps/oauth; Max-Age=%u%s",
        STR_ARG(value), STR_ARG(h->base_path), max_age_s,
        proxy_wants_secure(h, r) ? "; Secure" : "");
    http_add_header(r, "Set-Cookie", text);
}

static bool is_same_secret(str given, const char *secret)
{
    unsigned char different = given.n != 2 * SECRET_BYTES;
    for (size_t i = 0; i < given.n && i < 2 * SECRET_BYTES; i++)
        different |= (unsigned char)(given.p[i] ^ secret[i]);
    return different == 0;
}

static void make_secret(char ret[2 * SECRET_BYTES + 1])
{
    static const char DIGITS[] = "0123456789abcdef";
    unsigned char bytes[SECRET_BYTES];
    random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < SECRET_BYTES; i++) {
        ret[2 * i] = DIGITS[bytes[i] >> 4];
        ret[2 * i + 1] = DIGITS[bytes[i] & 15];
    }
    ret[2 * SECRET_BYTES] = '\0';
}

/* ---- starting a sign-in ---- */

/* The bundle of the path, if it supports a sign-in of this kind and the caller may do it; replies
 * with an error otherwise. Roles were checked by the rule of the route. */
static struct bundle *find_guarded(struct http_req *r, bool is_personal)
{
    struct bundle *b = is_personal || api_apps_may_change(r) ? api_apps_find(r) : NULL;
    if (!b || (bundle_entry(b)->oauth.is_on && bundle_is_per_person(b) == is_personal))
        return b;
    http_reply_error(r, 409, "no_sign_in",
                     !bundle_entry(b)->oauth.is_on
                         ? "This bundle does not support sign-in: its entry has no "
                           "transport.auth of the type oauth."
                     : is_personal ? "An admin signs in to this bundle for the whole workspace."
                                   : "Each person signs in to this bundle: use account, not auth.",
                     NULL);
    return NULL;
}

static void on_sign_in_limit(void *ctx)
{
    struct sign_in *s = ctx;
    struct http_req *r = take_request(s);
    if (r)
        http_reply_error(r, 504, "sign_in_failed", "The authorization server did not respond.",
                         NULL);
    sign_in_free(s);
}

static void make_room_for_sign_in(struct api *api, str user_id)
{
    struct sign_in *oldest = NULL, *own = NULL;
    size_t n = 0, nown = 0;
    LIST_EACH (s, &api->sign_ins, struct sign_in, node) {
        bool is_own = str_eq(s->user_id, user_id);
        n++;
        nown += is_own;
        if (s->is_answered || s->req || s->has_job)
            continue;
        oldest = oldest ? oldest : s;
        own = own || !is_own ? own : s;
    }
    if (nown >= SIGN_INS_OF_PERSON && own)
        sign_in_free(own);
    else if (n >= SIGN_INS_MAX && oldest)
        sign_in_free(oldest);
}

static void on_sign_in_ready(void *ctx, str url, const struct err *err)
{
    struct sign_in *s = ctx;
    struct http_req *r = take_request(s);
    struct api_json j;
    if (!r || err) {
        if (r)
            http_reply_error(r, 502, "sign_in_failed", err->msg, NULL);
        timer_start(&s->limit, 0); /* the login must not be freed inside its own callback */
        return;
    }
    set_cookie(s->api, r, str_from(s->secret), SIGN_IN_MS / 1000);
    api_json_begin(&j);
    jw_kstr(&j.w, "url", url);
    jw_kint(&j.w, "expiresInS", SIGN_IN_MS / 1000);
    api_json_send(&j, r);
}

static void load_before(struct job *j) /* pool thread */
{
    struct sign_in *s = sign_in_of(j);
    (void)oauth_state_load(&s->arena, s->dir.p, s->slug, &s->state, NULL);
    if (plain_secrets_has_marks(&s->entry))
        (void)plain_secrets_unseal(&s->arena, s->credentials_dir, &s->entry, &s->err);
}

static struct bundle *bundle_of(struct sign_in *s)
{
    struct api_space *space = s->api->deps.find_space(s->api->deps.space_ctx, s->space_id);
    return space && space->bundles ? bundles_find(space->bundles, s->bundle) : NULL;
}

static void loaded_before(struct job *j)
{
    struct sign_in *s = sign_in_done(j);
    struct bundle *b = s->api ? bundle_of(s) : NULL;
    struct http_req *r = s->req;
    if (!r || !b) {
        if (take_request(s))
            api_not_found(r, "bundle");
        sign_in_free(s);
        return;
    }
    if (s->err.code) {
        http_reply_error(take_request(s), 409, "credentials_required", s->err.msg, NULL);
        sign_in_free(s);
        return;
    }
    const struct bundle_entry *e = &s->entry;
    const struct oauth_state *before = &s->state;
    bool is_known = oauth_is_about(before->resource, e->url);
    struct oauth_login_conf conf = {
        .loop = s->api->deps.loop,
        .fetcher = s->api->deps.fetcher,
        .url = e->url,
        .fetch_flags = bundle_entry_fetch_flags(e, s->api->deps.config->allow_insecure_remotes),
        .redirect_uri = own_url(s->api, r, CALLBACK),
        .client_id = e->oauth.client_id,
        .client_secret = e->oauth.client_secret,
        .document_url = own_url(s->api, r, DOCUMENT),
        .is_web = true,
        .scope = e->oauth.scope,
        .scope_before = is_known ? oauth_scope_before(&s->arena, before) : STR_NONE,
        .step_ups = is_known ? oauth_step_ups(before) : 0,
    };
    if (settings(s->api)->public_url.n == 0)
        conf.document_url = STR_NONE; /* the authorization server could not fetch it */
    timer_start(&s->limit, SIGN_IN_MS);
    assert(!s->login && !s->is_answered);
    s->login = oauth_login_start(&conf, on_sign_in_ready, s);
}

static void sign_in_start(struct api *api, struct http_req *r, bool is_personal)
{
    struct err e = {0};
    struct bundle *b = find_guarded(r, is_personal);
    if (!b)
        return;
    if (bundle_entry_check_url(bundle_entry(b), api->deps.config->allow_insecure_remotes, &e) < 0) {
        api_bad_request(r, e.msg);
        return;
    }
    make_room_for_sign_in(api, api_user(r));
    struct sign_in *s = sign_in_new(api, r, b);
    make_secret(s->secret);
    timer_init(&s->limit, api->deps.loop, on_sign_in_limit, s);
    sign_in_submit(s, load_before, loaded_before);
}

void api_apps_auth_start(void *ctx, struct http_req *r)
{
    sign_in_start(ctx, r, false);
}

void api_apps_account_start(void *ctx, struct http_req *r)
{
    sign_in_start(ctx, r, true);
}

/* ---- the callback ---- */

static const char *result_name(int code)
{
    return code == 0 ? "ok" : code == -EPERM ? "denied" : code == -ENOENT ? "expired" : "failed";
}

/* Names of bundles consist of [a-z0-9-], so the address contains no foreign text. */
static void lead_back(struct api *api, struct http_req *r, str bundle, int code)
{
    str to =
        arena_printf(&r->arena, "%.*s/?signIn=%s#/apps%s%.*s", STR_ARG(settings(api)->base_path),
                     result_name(code), bundle.n > 0 ? "/" : "", STR_ARG(bundle));
    set_cookie(api, r, STR_NONE, 0);
    http_add_header(r, "Location", to);
    http_add_header(r, "Referrer-Policy", STR("no-referrer"));
    http_reply(r, 302, NULL, STR_NONE);
}

static void tell_bundle(struct sign_in *s, bool is_signed_in)
{
    struct bundle *b = s->api ? bundle_of(s) : NULL;
    if (b && s->is_personal)
        bundle_account_changed(b, s->user_id, is_signed_in);
    else if (b)
        bundle_restart(b);
}

static void sign_in_finish(struct sign_in *s)
{
    struct http_req *r = take_request(s);
    struct api *api = s->api;
    if (s->err.code && api)
        log_warn(api->deps.log, "bundle", "%.*s: a sign-in failed: %s", STR_ARG(s->bundle),
                 s->err.msg);
    if (s->err.code == 0)
        tell_bundle(s, true);
    if (r && api)
        lead_back(api, r, s->bundle, s->err.code);
    sign_in_free(s);
}

static void save_token(struct job *j) /* pool thread */
{
    struct sign_in *s = sign_in_of(j);
    if (s->is_personal) /* also a token that cannot be read, because its person cannot delete it */
        (void)credentials_remove(s->dir.p, s->slug, NULL);
    (void)oauth_state_save(s->dir.p, s->slug, &s->state, &s->err);
}

static void forget_token(struct job *j) /* pool thread */
{
    struct sign_in *s = sign_in_of(j);
    int rc = s->is_personal /* its file contains nothing else */
                 ? credentials_remove(s->dir.p, s->slug, &s->err)
                 : credentials_set(s->dir.p, s->slug, STR(OAUTH_CREDENTIAL), NULL, &s->err);
    if (rc == -ENOENT)
        err_clear(&s->err);
}

static void left_meanwhile(struct job *j)
{
    struct sign_in *s = sign_in_done(j);
    err_set(&s->err, -ENOENT, "the person is no longer a member of the workspace");
    sign_in_finish(s);
}

/* Tokens of a person are deleted when the person leaves; this one may have been stored
 * afterwards. */
static void saved_token(struct job *j)
{
    struct sign_in *s = sign_in_done(j);
    bool is_left = s->api && s->is_personal && s->err.code == 0 &&
                   directory_role(s->api->deps.directory, s->space_id, s->user_id) == WS_NONE;
    if (is_left)
        sign_in_submit(s, forget_token, left_meanwhile);
    else
        sign_in_finish(s);
}

static void on_failed(void *ctx)
{
    sign_in_finish(ctx);
}

/* The strings of the state live as long as the login. */
static void on_signed_in(void *ctx, const struct oauth_state *state, const struct err *err)
{
    struct sign_in *s = ctx;
    if (!state) {
        s->err = *err;
        timer_init(&s->limit, s->api->deps.loop, on_failed, s);
        timer_start(&s->limit, 0);
        return;
    }
    s->state = *state;
    sign_in_submit(s, save_token, saved_token);
}

/* The sign-in that this browser and this person started, and that this callback belongs to. */
static struct sign_in *find_answered(struct api *api, const struct http_req *r)
{
    str cookie = http_cookie(r, COOKIE);
    LIST_EACH (s, &api->sign_ins, struct sign_in, node) {
        if (s->login && !s->is_answered && !s->req && is_same_secret(cookie, s->secret) &&
            oauth_login_is_answer(s->login, r->query))
            return s;
    }
    return NULL;
}

/* The person must be the same and must still have the right: the role is looked up now. On a server
 * with logins somebody must be logged in; without logins the cookie alone identifies the person. */
static bool is_starter(const struct sign_in *s, const struct http_req *r)
{
    const struct actor *me = api_actor(r);
    bool is_same =
        me ? str_eq(actor_user(me), s->user_id) : auth_mode(s->api->deps.auth) == AUTH_DEV;
    enum ws_role role = directory_role(s->api->deps.directory, s->space_id, s->user_id);
    return is_same && role >= (s->is_personal ? WS_MEMBER : WS_ADMIN);
}

void api_apps_auth_callback(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct sign_in *s = find_answered(api, r);
    if (!s || !is_starter(s, r)) {
        lead_back(api, r, STR_NONE, -ENOENT);
        return;
    }
    assert(s->login && !s->is_answered);
    s->is_answered = true;
    timer_stop(&s->limit);
    wait_with(s, r);
    oauth_login_finish(s->login, r->query, on_signed_in, s);
}

/* ---- the client metadata document ---- */

/* Public, because authorization servers read it. It contains no secret. */
void api_apps_auth_document(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_json j;
    if (settings(api)->public_url.n == 0) {
        api_not_found(r, "client metadata document (http.publicUrl is not set)");
        return;
    }
    api_json_begin(&j);
    jw_kstr(&j.w, "client_id", own_url(api, r, DOCUMENT));
    jw_kstr(&j.w, "client_name", STR("nb"));
    jw_kstr(&j.w, "client_uri", settings(api)->public_url);
    jw_karray(&j.w, "redirect_uris");
    jw_str(&j.w, own_url(api, r, CALLBACK));
    jw_end(&j.w);
    jw_karray(&j.w, "grant_types");
    jw_str(&j.w, STR("authorization_code"));
    jw_str(&j.w, STR("refresh_token"));
    jw_end(&j.w);
    jw_karray(&j.w, "response_types");
    jw_str(&j.w, STR("code"));
    jw_end(&j.w);
    jw_kstr(&j.w, "token_endpoint_auth_method", STR("none"));
    jw_kstr(&j.w, "application_type", STR("web"));
    api_json_send(&j, r);
}

/* ---- signing out ---- */

static void forgot_token(struct job *j)
{
    struct sign_in *s = sign_in_done(j);
    struct http_req *r = take_request(s);
    tell_bundle(s, false); /* its connection still uses the token */
    if (r && s->err.code)
        http_reply_error(r, 500, "not_saved", "The token could not be deleted.", NULL);
    else if (r)
        http_reply(r, 200, "application/json", STR("{\"signedIn\":false}"));
    sign_in_free(s);
}

static void sign_in_end(struct api *api, struct http_req *r, bool is_personal)
{
    struct bundle *b = find_guarded(r, is_personal);
    if (!b)
        return;
    struct sign_in *s = sign_in_new(api, r, b);
    timer_init(&s->limit, api->deps.loop, on_sign_in_limit, s);
    s->is_answered = true;
    sign_in_submit(s, forget_token, forgot_token);
}

void api_apps_auth_end(void *ctx, struct http_req *r)
{
    sign_in_end(ctx, r, false);
}

void api_apps_account_end(void *ctx, struct http_req *r)
{
    sign_in_end(ctx, r, true);
}

/* Those with a job on the pool are freed when the job is done. */
void api_apps_auth_drop(struct api *api)
{
    while (!list_empty(&api->sign_ins)) {
        struct sign_in *s = LIST_ENTRY(api->sign_ins.next, struct sign_in, node);
        list_del(&s->node);
        timer_stop(&s->limit);
        s->api = NULL;
        s->req = NULL;
        if (!s->has_job)
            sign_in_free(s);
    }
}
