#include "auth/oidc/oidc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "auth/oidc/oidc_impl.h"
#include "base/bytes/base64.h"
#include "base/clock.h"
#include "net/url.h"

#define MINUTE_MS (60 * 1000LL)
#define HOUR_MS   (60 * MINUTE_MS)

#define FLOW_MS        (10 * MINUTE_MS)
#define RETURN_TO_MAX  2048
#define PARAMETER_MAX  4096
#define FORM_MAX_BYTES (16u * 1024)

/* The provider is asked again every hour: a user whom it has locked out keeps access for up to an
 * hour. Without a refresh token the session lasts a working day. */
static struct session_policy session_policy(const struct instance *i, bool is_lasting)
{
    int64_t brief = i->session_ms < 8 * HOUR_MS ? i->session_ms : 8 * HOUR_MS;
    if (is_lasting)
        return (struct session_policy){
            .value_ms = HOUR_MS, .idle_ms = i->idle_ms, .absolute_ms = i->session_ms};
    return (struct session_policy){
        .value_ms = brief,
        .idle_ms = i->idle_ms < brief ? i->idle_ms : brief,
        .absolute_ms = brief,
    };
}

struct flow { /* a login in progress: the browser is at the provider */
    struct list_node node;
    char state[SECRET_CHARS + 1], nonce[SECRET_CHARS + 1], verifier[SECRET_CHARS + 1];
    uint8_t cookie_hash[SHA256_LEN];
    uint64_t until_ms;
    char *redirect_uri, *return_to;
};

/* ---- flows ---- */

static void flow_free(struct oidc *o, struct flow *f)
{
    map_del(&o->flows, str_from(f->state));
    list_del(&f->node);
    free(f->redirect_uri);
    free(f->return_to);
    free(f);
}

static void drop_old_flows(struct oidc *o)
{
    uint64_t now = clock_mono_ms();
    LIST_EACH (f, &o->by_age, struct flow, node) {
        if (f->until_ms > now && map_len(&o->flows) < OIDC_FLOWS_MAX)
            break;
        flow_free(o, f);
    }
}

static struct flow *flow_new(struct oidc *o, str redirect_uri, str return_to,
                             char cookie[SECRET_CHARS + 1])
{
    drop_old_flows(o);
    struct flow *f = xcalloc(1, sizeof *f);
    secret_make(f->state);
    secret_make(f->nonce);
    secret_make(f->verifier);
    secret_make(cookie);
    sha256(str_from(cookie), f->cookie_hash);
    f->until_ms = clock_mono_ms() + FLOW_MS;
    f->redirect_uri = str_dup(redirect_uri);
    f->return_to = str_dup(return_to);
    map_put(&o->flows, str_from(f->state), f);
    assert(map_len(&o->flows) <= OIDC_FLOWS_MAX);
    list_push(&o->by_age, &f->node);
    return f;
}

/* ---- operations ---- */

static void oidc_op_drop(struct auth_op *op)
{
    struct oidc_op *x = (struct oidc_op *)op;
    fetch_whole_cancel(x->call);
    list_del(&x->wait.node);
}

struct oidc_op *oidc_op_new(struct oidc *o, enum oidc_purpose purpose, void *ctx)
{
    struct oidc_op *x = auth_op_new(o->auth, sizeof *x, ctx);
    x->op.drop = oidc_op_drop;
    x->oidc = o;
    x->purpose = purpose;
    list_init(&x->wait.node);
    return x;
}

void oidc_fail(void *op)
{
    struct oidc_op *x = op;
    assert(x->op.err.code < 0);
    if (x->op.is_cancelled) {
        op_free(&x->op);
        return;
    }
    if (x->purpose == OIDC_AUTHORIZE)
        x->done.authorize(x->op.ctx, &x->op.err, STR_NONE, STR_NONE);
    else if (x->purpose == OIDC_BEARER)
        x->done.check(x->op.ctx, &x->op.err, NULL);
    else
        x->done.session(x->op.ctx, &x->op.err, NULL);
    op_free(&x->op);
}

bool oidc_is_over(struct oidc_op *x)
{
    if (!op_is_over(&x->op))
        return false;
    op_free(&x->op);
    return true;
}

static void fail_unreachable(struct oidc_op *x)
{
    err_set(&x->op.err, -EHOSTUNREACH, "the login provider did not respond; try again later");
    oidc_fail(x);
}

static struct auth_op *fail_later(struct oidc_op *x, int code, const char *message)
{
    err_set(&x->op.err, code, "%s", message);
    op_defer(&x->op, oidc_fail);
    return &x->op;
}

/* Continues with fn when the provider's addresses are known. */
static struct auth_op *discover(struct oidc_op *x, void (*fn)(void *ctx, const struct err *err))
{
    x->wait.fn = fn;
    x->wait.ctx = x;
    provider_discover(x->oidc->provider, &x->wait);
    return &x->op;
}

/* Modes without a provider have no struct oidc to own an operation. */
struct oidc_refusal {
    struct auth_op op;
    auth_session_done session;
    auth_authorize_done authorize;
};

static void refusal_deferred(void *op)
{
    struct oidc_refusal *x = op;
    err_set(&x->op.err, -ENOTSUP, "this login method is not enabled on this server");
    if (!x->op.is_cancelled && x->session)
        x->session(x->op.ctx, &x->op.err, NULL);
    else if (!x->op.is_cancelled)
        x->authorize(x->op.ctx, &x->op.err, STR_NONE, STR_NONE);
    op_free(&x->op);
}

static struct auth_op *not_configured(struct auth *a, auth_session_done session,
                                      auth_authorize_done authorize, void *ctx)
{
    struct oidc_refusal *x = auth_op_new(a, sizeof *x, ctx);
    x->session = session;
    x->authorize = authorize;
    op_defer(&x->op, refusal_deferred);
    return &x->op;
}

/* ---- to the provider ---- */

/* A path of this server; browsers read "//" and "/\" as another host. */
static bool is_own_path(str s)
{
    if (s.n == 0 || s.n > RETURN_TO_MAX || s.p[0] != '/')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= 0x20 || (unsigned char)s.p[i] >= 0x7f || s.p[i] == '\\')
            return false;
    return s.n == 1 || s.p[1] != '/';
}

static void add_challenge(struct buf *url, const struct flow *f)
{
    uint8_t hash[SHA256_LEN];
    struct buf text;
    sha256(str_from(f->verifier), hash);
    buf_init(&text, SECRET_CHARS + 1); /* the encoder works with room for padding */
    base64url_encode(&text, str_make((const char *)hash, sizeof hash));
    url_add_param(url, "code_challenge", buf_str(&text));
    url_add_param(url, "code_challenge_method", STR("S256"));
    buf_done(&text);
}

static void build_url(const struct oidc *o, const struct flow *f, struct buf *url)
{
    const struct provider_meta *m = provider_meta(o->provider);
    str scopes = o->conf->scopes;
    if (scopes.n == 0)
        scopes = m->has_offline_access ? STR("openid email profile offline_access")
                                       : STR("openid email profile");
    buf_add_str(url, m->authorization_endpoint);
    buf_add_lit(url, str_find_char(m->authorization_endpoint, '?') >= 0 ? "" : "?");
    buf_add_lit(url, "response_type=code");
    url_add_param(url, "client_id", o->conf->client_id);
    url_add_param(url, "redirect_uri", str_from(f->redirect_uri));
    url_add_param(url, "scope", scopes);
    url_add_param(url, "state", str_from(f->state));
    url_add_param(url, "nonce", str_from(f->nonce));
    add_challenge(url, f);
}

static void on_authorize_meta(void *ctx, const struct err *err)
{
    struct oidc_op *x = ctx;
    if (oidc_is_over(x))
        return;
    if (err->code < 0 && provider_meta(x->oidc->provider)->authorization_endpoint.n == 0) {
        fail_unreachable(x);
        return;
    }
    char cookie[SECRET_CHARS + 1];
    struct buf url;
    const struct flow *f = flow_new(x->oidc, x->redirect_uri, x->return_to, cookie);
    buf_init(&url, FORM_MAX_BYTES);
    build_url(x->oidc, f, &url);
    x->done.authorize(x->op.ctx, &x->op.err, buf_str(&url), str_from(cookie));
    buf_done(&url);
    op_free(&x->op);
}

struct auth_op *auth_authorize(struct auth *a, const struct auth_authorize *in,
                               auth_authorize_done done, void *ctx)
{
    if (!a->oidc)
        return not_configured(a, NULL, done, ctx);
    struct oidc_op *x = oidc_op_new(a->oidc, OIDC_AUTHORIZE, ctx);
    str own = a->oidc->conf->redirect_uri;
    struct url u;
    x->done.authorize = done;
    x->redirect_uri = arena_str(&x->op.arena, own.n > 0 ? own : in->redirect_uri);
    if (is_own_path(in->return_to))
        x->return_to = arena_str(&x->op.arena, in->return_to);
    if (!limit_take(&a->authorize_redirects, in->client, clock_mono_ms()))
        return fail_later(x, -EBUSY, "too many attempts; retry in a minute");
    if (url_parse(x->redirect_uri, &u, NULL) < 0)
        return fail_later(x, -EINVAL, "the redirect URI is not valid");
    return discover(x, on_authorize_meta);
}

/* ---- the response of the token endpoint ---- */

/* invalid_grant concerns this user; every other error concerns the server or the provider, and must
 * not log anybody out. */
static bool take_answer(struct oidc_op *x, const struct err *err, int status, str body)
{
    struct json *doc = NULL;
    if (err->code == 0)
        (void)json_parse(&x->op.arena, body, JSON_COPY, &doc, NULL);
    str error = json_get_string(doc, "error");
    if (err->code == 0 && status >= 400 && status < 500 && str_eq(error, STR("invalid_grant"))) {
        err_set(&x->op.err, -EACCES, "the login provider refused the request; log in again");
        return false;
    }
    if (err->code < 0 || status != 200 || !json_is(doc, JSON_OBJECT)) {
        log_error(x->op.auth->deps.log, "auth",
                  "the OpenID provider did not return a token: status %d %.*s%s", status,
                  STR_ARG(str_slice(error, 0, 100)), err->msg);
        err_set(&x->op.err, -EHOSTUNREACH, "the login provider did not respond; try again later");
        return false;
    }
    x->token = json_get_string(doc, "id_token");
    x->provider_refresh = json_get_string(doc, "refresh_token");
    return true;
}

void oidc_give_session(struct oidc_op *x, const struct user *u)
{
    struct sessions *all = x->op.auth->sessions;
    struct session_values values;
    const struct login_session *s = NULL;
    if (x->purpose == OIDC_CALLBACK) {
        struct session_policy policy =
            session_policy(x->op.auth->deps.instance, x->provider_refresh.n > 0);
        s = session_begin(all, u->id, &policy, x->provider_refresh, &values);
    } else {
        s = session_by_id(all, x->session_id); /* it may have ended meanwhile */
        if (s && str_eq(s->user_id, u->id))
            s = session_rotate(all, s, x->provider_refresh, &values);
        else
            s = NULL;
    }
    if (!s) {
        err_set(&x->op.err, -EACCES, "the session has ended; log in again");
        oidc_fail(x);
        return;
    }
    struct auth_session offer = session_offer(&x->op.arena, s, &values);
    offer.return_to = x->return_to;
    x->done.session(x->op.ctx, &x->op.err, &offer);
    op_free(&x->op);
}

/* ---- back from the provider ---- */

static void on_token_answer(void *ctx, const struct err *err, int status, str body)
{
    struct oidc_op *x = ctx;
    x->call = NULL;
    if (oidc_is_over(x))
        return;
    struct auth *a = x->op.auth;
    bool is_refresh = x->purpose == OIDC_REFRESH;
    const struct login_session *s = is_refresh ? session_by_id(a->sessions, x->session_id) : NULL;
    if (!take_answer(x, err, status, body)) {
        if (s && x->op.err.code == -EACCES)
            session_end(a->sessions, s);
        oidc_fail(x);
        return;
    }
    const struct user *u = s ? roster_user(auth_roster(a), s->user_id) : NULL;
    if (!is_refresh || x->token.n > 0) {
        oidc_verify(x);
    } else if (u) {
        oidc_give_session(x, u);
    } else {
        err_set(&x->op.err, -EACCES, "the session has ended; log in again");
        oidc_fail(x);
    }
}

static void ask_token(struct oidc_op *x, struct buf *form)
{
    x->call = provider_token(x->oidc->provider, buf_str(form), on_token_answer, x);
    buf_done(form);
}

static void on_callback_meta(void *ctx, const struct err *err)
{
    struct oidc_op *x = ctx;
    if (oidc_is_over(x))
        return;
    if (provider_meta(x->oidc->provider)->token_endpoint.n == 0) {
        fail_unreachable(x);
        return;
    }
    struct buf form;
    buf_init(&form, FORM_MAX_BYTES);
    url_add_param(&form, "grant_type", STR("authorization_code"));
    url_add_param(&form, "code", x->code);
    url_add_param(&form, "redirect_uri", x->redirect_uri);
    url_add_param(&form, "code_verifier", x->verifier);
    ask_token(x, &form);
}

/* Single use: the state is removed, even if the login fails. */
static bool take_flow(struct oidc_op *x, const struct auth_callback *in)
{
    struct flow *f = map_get(&x->oidc->flows, in->state);
    uint8_t hash[SHA256_LEN];
    if (!f)
        return false;
    sha256(in->flow, hash);
    bool is_ok =
        clock_mono_ms() < f->until_ms && bytes_eq_const_time(hash, f->cookie_hash, sizeof hash);
    x->redirect_uri = arena_str(&x->op.arena, str_from(f->redirect_uri));
    x->return_to = arena_str(&x->op.arena, str_from(f->return_to));
    x->verifier = arena_str(&x->op.arena, str_from(f->verifier));
    x->nonce = arena_str(&x->op.arena, str_from(f->nonce));
    flow_free(x->oidc, f);
    return is_ok;
}

struct auth_op *auth_callback(struct auth *a, const struct auth_callback *in,
                              auth_session_done done, void *ctx)
{
    if (!a->oidc)
        return not_configured(a, done, NULL, ctx);
    struct oidc_op *x = oidc_op_new(a->oidc, OIDC_CALLBACK, ctx);
    x->done.session = done;
    if (!take_flow(x, in))
        return fail_later(x, -ENOENT,
                          "this login expired or was started in another browser; try again");
    if (in->iss.n > 0 && !str_eq(in->iss, a->oidc->conf->issuer))
        return fail_later(x, -EACCES, "this response is from a different provider");
    if (in->error.n > 0)
        return fail_later(x, -EACCES, "the login provider refused the login");
    if (in->code.n == 0 || in->code.n > PARAMETER_MAX)
        return fail_later(x, -EACCES, "the login provider sent no code");
    x->code = arena_str(&x->op.arena, in->code);
    return discover(x, on_callback_meta);
}

/* ---- refreshing ---- */

static void on_refresh_meta(void *ctx, const struct err *err)
{
    struct oidc_op *x = ctx;
    if (oidc_is_over(x))
        return;
    const struct login_session *s = session_by_id(x->op.auth->sessions, x->session_id);
    if (!s || provider_meta(x->oidc->provider)->token_endpoint.n == 0) {
        fail_unreachable(x);
        return;
    }
    struct buf form;
    buf_init(&form, FORM_MAX_BYTES);
    url_add_param(&form, "grant_type", STR("refresh_token"));
    url_add_param(&form, "refresh_token", s->provider_refresh);
    ask_token(x, &form);
}

struct auth_op *oidc_refresh(struct oidc *o, const struct login_session *s, auth_session_done done,
                             void *ctx)
{
    struct oidc_op *x = oidc_op_new(o, OIDC_REFRESH, ctx);
    x->done.session = done;
    x->session_id = arena_str(&x->op.arena, str_from(s->id));
    if (s->provider_refresh.n == 0)
        return fail_later(x, -EACCES, "the session has ended; log in again");
    return discover(x, on_refresh_meta);
}

/* ---- life ---- */

struct oidc *oidc_new(struct auth *a)
{
    struct oidc *o = xcalloc(1, sizeof *o);
    o->auth = a;
    o->conf = &a->deps.instance->oidc;
    o->provider = provider_new(a->deps.loop, a->deps.log, a->deps.fetcher, o->conf, clock_mono_ms);
    map_init(&o->flows);
    map_init(&o->seen);
    list_init(&o->by_age);
    list_init(&o->seen_age);
    return o;
}

void oidc_free(struct oidc *o)
{
    if (!o)
        return;
    LIST_FOREACH (it, &o->by_age)
        flow_free(o, LIST_ENTRY(it, struct flow, node));
    map_done(&o->flows);
    oidc_seen_free(o);
    provider_free(o->provider);
    free(o);
}
