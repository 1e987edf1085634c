#include "auth/oidc/provider.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bytes/base64.h"
#include "base/json/json_decode.h"
#include "net/url.h"

#define META_FRESH_MS  (60u * 60 * 1000)
#define KEYS_FRESH_MS  (5u * 60 * 1000)
#define KEYS_STALE_MS  (60u * 60 * 1000) /* still used when the provider does not respond */
#define ASK_AGAIN_MS   10000
#define FORM_MAX_BYTES (32u * 1024)

/* A document that is fetched once for all waiting callers. */
struct slot {
    struct oidc_provider *provider;
    void (*ask)(struct oidc_provider *p);
    struct list_node waiting;
    struct deferred at_once;
    struct fetch_whole *call;
    bool is_asking;                 /* the call, or what must come before it */
    uint64_t fresh_ms;              /* how long an answer is good */
    uint64_t asked_ms, answered_ms; /* 0 = never */
    struct err err;                 /* of the latest attempt */
};

struct oidc_provider {
    struct loop *loop;
    struct logger *log;
    struct fetcher *fetcher;
    const struct instance_oidc *conf;
    uint64_t (*mono_ms)(void);
    struct slot meta_slot, keys_slot;
    struct arena meta_arena;
    struct provider_meta meta;
    struct jwks *keys;
    struct provider_wait keys_need_meta;
};

/* ---- waiting ---- */

static void wake(struct slot *s)
{
    struct list_node now;
    struct err err = s->err;
    list_init(&now);
    while (!list_empty(&s->waiting))
        list_push(&now, list_pop(&s->waiting));
    for (struct list_node *n; (n = list_pop(&now)) != NULL;) {
        struct provider_wait *w = LIST_ENTRY(n, struct provider_wait, node);
        w->fn(w->ctx, &err);
    }
}

static void wake_later(void *ctx)
{
    wake(ctx);
}

static bool is_fresh(const struct slot *s, uint64_t now)
{
    return s->answered_ms > 0 && now - s->answered_ms < s->fresh_ms;
}

/* Whether the last attempt was so recent that a new attempt is not worth it. */
static bool was_just_asked(const struct slot *s, uint64_t now)
{
    return s->asked_ms > 0 && now - s->asked_ms < ASK_AGAIN_MS;
}

static void slot_settle(struct slot *s)
{
    assert(s->is_asking);
    s->call = NULL;
    s->is_asking = false;
    if (s->err.code == 0)
        s->answered_ms = s->provider->mono_ms();
    else
        log_warn(s->provider->log, "auth", "the OpenID provider: %s", s->err.msg);
    wake(s);
}

static void slot_init(struct slot *s, struct oidc_provider *p, uint64_t fresh_ms,
                      void (*ask)(struct oidc_provider *p))
{
    *s = (struct slot){.provider = p, .fresh_ms = fresh_ms, .ask = ask};
    list_init(&s->waiting);
    defer_init(&s->at_once, wake_later, s);
}

static void slot_want(struct slot *s, struct provider_wait *w, bool is_known_good)
{
    struct oidc_provider *p = s->provider;
    uint64_t now = p->mono_ms();
    list_push(&s->waiting, &w->node);
    if (s->is_asking)
        return;
    if (is_known_good || was_just_asked(s, now)) {
        defer_start(p->loop, &s->at_once);
        return;
    }
    s->asked_ms = now;
    s->is_asking = true;
    err_clear(&s->err);
    s->ask(p);
}

/* ---- addresses ---- */

struct meta_in {
    str issuer, authorization_endpoint, token_endpoint, jwks_uri;
    struct json_strs scopes, methods;
};

#define AT(member) offsetof(struct meta_in, member)

static const struct json_field META_FIELDS[] = {
    {"issuer", JF_STR, AT(issuer), JF_REQUIRED, NULL, 0},
    {"authorization_endpoint", JF_STR, AT(authorization_endpoint), JF_REQUIRED, NULL, 0},
    {"token_endpoint", JF_STR, AT(token_endpoint), JF_REQUIRED, NULL, 0},
    {"jwks_uri", JF_STR, AT(jwks_uri), JF_REQUIRED, NULL, 0},
    {"scopes_supported", JF_STRS, AT(scopes), 0, NULL, 0},
    {"token_endpoint_auth_methods_supported", JF_STRS, AT(methods), 0, NULL, 0},
    {0}};

/* An issuer on this machine may do without TLS, and so may the addresses it names on it. */
static int check_address(const char *name, str address, struct err *e)
{
    struct url u;
    if (url_parse(address, &u, NULL) < 0 || (!u.is_https && !url_is_local(&u)))
        return err_set(e, -EHOSTUNREACH, "its %s is not an https address", name);
    return 0;
}

static int read_meta(struct oidc_provider *p, struct arena *a, str body, struct provider_meta *ret,
                     struct err *e)
{
    struct json *doc;
    struct meta_in in = {0};
    if (json_parse(a, body, JSON_COPY, &doc, NULL) < 0 ||
        json_decode(a, doc, META_FIELDS, &in, "", NULL, NULL, e) < 0)
        return err_set(e, -EHOSTUNREACH, "its discovery document is not valid");
    if (!str_eq(in.issuer, p->conf->issuer))
        return err_set(e, -EHOSTUNREACH,
                       "its issuer is %.*s; auth.issuer in instance.json must be the same, with "
                       "or without a slash at its end",
                       STR_ARG(str_slice(in.issuer, 0, 200)));
    int r = check_address("authorization_endpoint", in.authorization_endpoint, e);
    if (r == 0)
        r = check_address("token_endpoint", in.token_endpoint, e);
    if (r == 0)
        r = check_address("jwks_uri", in.jwks_uri, e);
    *ret = (struct provider_meta){
        .authorization_endpoint = in.authorization_endpoint,
        .token_endpoint = in.token_endpoint,
        .jwks_uri = in.jwks_uri,
        .has_offline_access = json_strs_has(&in.scopes, STR("offline_access")),
        .wants_secret_in_body =
            in.methods.len > 0 && !json_strs_has(&in.methods, STR("client_secret_basic"))};
    return r;
}

static int check_status(const struct err *err, int status, const char *what, struct err *e)
{
    if (err->code < 0)
        return err_set(e, -EHOSTUNREACH, "%s: %s", what, err->msg);
    if (status != 200)
        return err_set(e, -EHOSTUNREACH, "%s: the provider returned status %d", what, status);
    return 0;
}

static void on_meta(void *ctx, const struct err *err, int status, str body)
{
    struct oidc_provider *p = ctx;
    struct slot *s = &p->meta_slot;
    struct provider_meta meta;
    struct arena a;
    arena_init(&a);
    if (check_status(err, status, "discovery", &s->err) == 0 &&
        read_meta(p, &a, body, &meta, &s->err) == 0) {
        arena_done(&p->meta_arena);
        p->meta_arena = a;
        p->meta = meta;
        if (p->conf->jwks_uri.n > 0)
            p->meta.jwks_uri = p->conf->jwks_uri;
    } else {
        arena_done(&a);
    }
    slot_settle(s);
}

static void ask_meta(struct oidc_provider *p)
{
    struct buf url;
    str issuer = p->conf->issuer;
    buf_init(&url, URL_MAX);
    buf_add_str(&url, str_ends(issuer, STR("/")) ? str_slice(issuer, 0, issuer.n - 1) : issuer);
    buf_add_lit(&url, "/.well-known/openid-configuration");
    struct fetch_spec spec = {.url = buf_str(&url), .flags = FETCH_FOLLOW_SAME_ORIGIN};
    p->meta_slot.call = fetch_whole_start(p->loop, p->fetcher, &spec, on_meta, p);
    buf_done(&url);
}

void provider_discover(struct oidc_provider *p, struct provider_wait *w)
{
    slot_want(&p->meta_slot, w, is_fresh(&p->meta_slot, p->mono_ms()));
}

const struct provider_meta *provider_meta(const struct oidc_provider *p)
{
    return &p->meta;
}

/* ---- keys ---- */

static void on_keys(void *ctx, const struct err *err, int status, str body)
{
    struct oidc_provider *p = ctx;
    struct slot *s = &p->keys_slot;
    struct jwks *keys;
    struct err why = {0};
    if (check_status(err, status, "keys", &s->err) == 0) {
        if (jwks_parse(body, &keys, &why) < 0) {
            err_set(&s->err, -EHOSTUNREACH, "keys: %s", why.msg);
        } else {
            jwks_free(p->keys);
            p->keys = keys;
        }
    }
    slot_settle(s);
}

static void ask_keys_at(struct oidc_provider *p, str uri)
{
    struct fetch_spec spec = {.url = uri, .flags = FETCH_FOLLOW_SAME_ORIGIN};
    p->keys_slot.call = fetch_whole_start(p->loop, p->fetcher, &spec, on_keys, p);
}

static void on_meta_for_keys(void *ctx, const struct err *err)
{
    struct oidc_provider *p = ctx;
    if (p->meta.jwks_uri.n > 0) {
        ask_keys_at(p, p->meta.jwks_uri);
        return;
    }
    p->keys_slot.err = *err;
    slot_settle(&p->keys_slot);
}

static void ask_keys(struct oidc_provider *p)
{
    if (p->conf->jwks_uri.n > 0)
        ask_keys_at(p, p->conf->jwks_uri);
    else
        provider_discover(p, &p->keys_need_meta);
}

void provider_fetch_keys(struct oidc_provider *p, struct provider_wait *w)
{
    slot_want(&p->keys_slot, w, false);
}

const struct jwk *provider_known_key(const struct oidc_provider *p, const struct jwt *t)
{
    uint64_t age = p->mono_ms() - p->keys_slot.answered_ms;
    if (!p->keys || age >= KEYS_FRESH_MS + KEYS_STALE_MS)
        return NULL;
    return jwks_find(p->keys, t->kid, t->alg);
}

const struct jwk *provider_key(const struct oidc_provider *p, const struct jwt *t)
{
    return is_fresh(&p->keys_slot, p->mono_ms()) ? provider_known_key(p, t) : NULL;
}

/* ---- tokens ---- */

/* RFC 6749, 2.3.1: both parts are form-encoded before they become Basic credentials. */
static void add_basic(struct buf *out, const struct instance_oidc *conf)
{
    struct buf pair;
    buf_init(&pair, FORM_MAX_BYTES);
    url_encode(&pair, conf->client_id, NULL);
    buf_add_char(&pair, ':');
    url_encode(&pair, conf->client_secret, NULL);
    buf_add_lit(out, "Basic ");
    base64_encode(out, buf_str(&pair));
    buf_done(&pair);
}

struct fetch_whole *provider_token(struct oidc_provider *p, str form, fetch_whole_done done,
                                   void *ctx)
{
    struct buf body, basic;
    buf_init(&body, FORM_MAX_BYTES);
    buf_init(&basic, FORM_MAX_BYTES);
    buf_add_str(&body, form);
    bool is_basic = p->conf->client_secret.n > 0 && !p->meta.wants_secret_in_body;
    if (is_basic)
        add_basic(&basic, p->conf);
    else
        url_add_param(&body, "client_id", p->conf->client_id);
    if (p->conf->client_secret.n > 0 && !is_basic)
        url_add_param(&body, "client_secret", p->conf->client_secret);
    struct fetch_header headers[] = {
        {STR("content-type"), STR("application/x-www-form-urlencoded")},
        {STR("accept"), STR("application/json")},
        {STR("authorization"), buf_str(&basic)},
    };
    struct fetch_spec spec = {.url = p->meta.token_endpoint,
                              .headers = headers,
                              .nheaders = is_basic ? 3 : 2,
                              .body = buf_str(&body),
                              .has_body = true};
    struct fetch_whole *c = fetch_whole_start(p->loop, p->fetcher, &spec, done, ctx);
    buf_done(&body);
    buf_done(&basic);
    return c;
}

/* ---- life ---- */

struct oidc_provider *provider_new(struct loop *l, struct logger *log, struct fetcher *f,
                                   const struct instance_oidc *conf, uint64_t (*mono_ms)(void))
{
    struct oidc_provider *p = xcalloc(1, sizeof *p);
    p->loop = l;
    p->log = log;
    p->fetcher = f;
    p->conf = conf;
    p->mono_ms = mono_ms;
    arena_init(&p->meta_arena);
    slot_init(&p->meta_slot, p, META_FRESH_MS, ask_meta);
    slot_init(&p->keys_slot, p, KEYS_FRESH_MS, ask_keys);
    list_init(&p->keys_need_meta.node);
    p->keys_need_meta.fn = on_meta_for_keys;
    p->keys_need_meta.ctx = p;
    return p;
}

void provider_free(struct oidc_provider *p)
{
    struct slot *slots[] = {&p->meta_slot, &p->keys_slot};
    for (size_t i = 0; i < ARRAY_LEN(slots); i++) {
        fetch_whole_cancel(slots[i]->call);
        defer_stop(&slots[i]->at_once);
    }
    jwks_free(p->keys);
    arena_done(&p->meta_arena);
    free(p);
}
