#include "auth/oidc/oidc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "auth/oidc/flow.h"
#include "auth/oidc/oidc_impl.h"
#include "base/bytes/base64.h"
#include "base/clock.h"
#include "net/url.h"

#define MINUTE_MS (60 * 1000LL)
#define HOUR_MS   (60 * MINUTE_MS)

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

/* ---- flows ---- */

static void on_flows_work(struct job *j)
{
    struct oidc_op *x = CONTAINER_OF(j, struct oidc_op, job);
    x->flows_work(x);
}

static void on_flows_done(struct job *j)
{
    struct oidc_op *x = CONTAINER_OF(j, struct oidc_op, job);
    if (!oidc_is_over(x))
        x->flows_done(x);
}

static void on_flows_deferred(void *op)
{
    struct oidc_op *x = op;
    if (oidc_is_over(x))
        return;
    x->flows_work(x);
    x->flows_done(x);
}

/* Calls work, then done, after this has returned. Flows in a table block: they are used by the
 * thread for passwords. */
static void oidc_with_flows(struct oidc_op *x, void (*work)(struct oidc_op *x),
                            void (*done)(struct oidc_op *x))
{
    x->flows_work = work;
    x->flows_done = done;
    if (flows_block(x->oidc->flows))
        pool_run(x->op.auth->pool, &x->job, on_flows_work, on_flows_done);
    else
        op_defer(&x->op, on_flows_deferred);
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

static void add_challenge(struct buf *url, const struct login_flow *f)
{
    uint8_t hash[SHA256_LEN];
    struct buf text;
    sha256(f->verifier, hash);
    buf_init(&text, SECRET_CHARS + 1); /* the encoder works with room for padding */
    base64url_encode(&text, str_make((const char *)hash, sizeof hash));
    url_add_param(url, "code_challenge", buf_str(&text));
    url_add_param(url, "code_challenge_method", STR("S256"));
    buf_done(&text);
}

static void build_url(const struct oidc *o, const struct login_flow *f, struct buf *url)
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
    url_add_param(url, "redirect_uri", f->redirect_uri);
    url_add_param(url, "scope", scopes);
    url_add_param(url, "state", f->state);
    url_add_param(url, "nonce", f->nonce);
    add_challenge(url, f);
}

static void keep_flow(struct oidc_op *x) /* pool thread, if servers share the flows */
{
    (void)flows_keep(x->oidc->flows, &x->flow, &x->op.err);
}

static void on_flow_kept(struct oidc_op *x)
{
    struct buf url;
    if (x->op.err.code < 0) {
        oidc_fail(x);
        return;
    }
    buf_init(&url, FORM_MAX_BYTES);
    build_url(x->oidc, &x->flow, &url);
    x->done.authorize(x->op.ctx, &x->op.err, buf_str(&url), x->cookie);
    buf_done(&url);
    op_free(&x->op);
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
    x->flow = flow_make(&x->op.arena, x->redirect_uri, x->return_to, &x->cookie);
    oidc_with_flows(x, keep_flow, on_flow_kept);
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

static void on_session_stored(void *op, const struct err *err)
{
    struct oidc_op *x = op;
    if (oidc_is_over(x))
        return;
    if (err->code == -ESTALE && x->purpose == OIDC_REFRESH) { /* as for another tab */
        x->offer.session_value = x->offer.refresh_value = STR_NONE;
    } else if (err->code < 0) {
        x->op.err = *err;
        if (err->code == -ESTALE)
            err_set(&x->op.err, -ENOTCONN, "users were changed in the same moment; try again");
        oidc_fail(x);
        return;
    }
    x->done.session(x->op.ctx, &x->op.err, &x->offer);
    op_free(&x->op);
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
    x->offer = session_offer(&x->op.arena, s, &values);
    x->offer.return_to = x->return_to;
    explicit_bzero(&values, sizeof values);
    x->stored = (struct session_wait){
        .fn = on_session_stored, .ctx = x, .roster_mark = auth_roster(x->op.auth)->generation};
    session_await(all, s, &x->stored);
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
static void take_flow(struct oidc_op *x) /* as keep_flow */
{
    (void)flows_take(x->oidc->flows, &x->op.arena, x->state, &x->flow, &x->op.err);
}

static void on_flow_taken(struct oidc_op *x)
{
    uint8_t hash[SHA256_LEN];
    sha256(x->cookie, hash);
    if (x->op.err.code == 0 && !bytes_eq_const_time(hash, x->flow.cookie_hash, sizeof hash))
        err_set(&x->op.err, -ENOENT, FLOW_IS_GONE);
    if (x->op.err.code == 0 && x->wrong.code < 0)
        x->op.err = x->wrong;
    if (x->op.err.code < 0) {
        oidc_fail(x);
        return;
    }
    x->redirect_uri = x->flow.redirect_uri;
    x->return_to = x->flow.return_to;
    x->verifier = x->flow.verifier;
    x->nonce = x->flow.nonce;
    discover(x, on_callback_meta);
}

struct auth_op *auth_callback(struct auth *a, const struct auth_callback *in,
                              auth_session_done done, void *ctx)
{
    if (!a->oidc)
        return not_configured(a, done, NULL, ctx);
    struct oidc_op *x = oidc_op_new(a->oidc, OIDC_CALLBACK, ctx);
    x->done.session = done;
    x->state = arena_str(&x->op.arena, in->state);
    x->cookie = arena_str(&x->op.arena, in->flow);
    /* after the state was removed */
    if (in->iss.n > 0 && !str_eq(in->iss, a->oidc->conf->issuer))
        err_set(&x->wrong, -EACCES, "this response is from a different provider");
    else if (in->error.n > 0)
        err_set(&x->wrong, -EACCES, "the login provider refused the login");
    else if (in->code.n == 0 || in->code.n > PARAMETER_MAX)
        err_set(&x->wrong, -EACCES, "the login provider sent no code");
    x->code = arena_str(&x->op.arena, str_slice(in->code, 0, PARAMETER_MAX));
    oidc_with_flows(x, take_flow, on_flow_taken);
    return &x->op;
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
    o->flows = a->deps.has_replicas ? flows_new_shared(a->deps.shared) : flows_new();
    map_init(&o->seen);
    list_init(&o->seen_age);
    return o;
}

void oidc_free(struct oidc *o)
{
    if (!o)
        return;
    flows_free(o->flows);
    oidc_seen_free(o);
    provider_free(o->provider);
    free(o);
}
