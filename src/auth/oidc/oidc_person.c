/* From a verified token to its user. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "auth/oidc/oidc_impl.h"
#include "base/clock.h"
#include "base/utf8.h"

#define NAME_MAX_BYTES 200
#define SELF_MADE      "usr_oidc_"
#define SUBJECT_HEX    12 /* digits in the id of a new user */

/* ---- bearer tokens that were verified before ---- */

struct seen {
    struct list_node node;
    char hash[SHA256_HEX_LEN + 1];
    char *user_id;
    int64_t issued_ms, expires_ms;
};

static void seen_drop(struct oidc *o, struct seen *s)
{
    map_del(&o->seen, str_from(s->hash));
    list_del(&s->node);
    free(s->user_id);
    free(s);
}

void oidc_seen_free(struct oidc *o)
{
    LIST_FOREACH (it, &o->seen_age)
        seen_drop(o, LIST_ENTRY(it, struct seen, node));
    map_done(&o->seen);
}

static void seen_add(struct oidc *o, const struct oidc_op *x, str user_id)
{
    struct seen *s = xcalloc(1, sizeof *s);
    sha256_hex(x->token, s->hash);
    s->user_id = str_dup(user_id);
    s->issued_ms = jwt_time_ms(&x->jwt, "iat");
    s->expires_ms = jwt_time_ms(&x->jwt, "exp");
    struct seen *old = map_get(&o->seen, str_from(s->hash));
    if (old)
        seen_drop(o, old);
    if (map_len(&o->seen) >= OIDC_SEEN_MAX)
        seen_drop(o, LIST_ENTRY(o->seen_age.next, struct seen, node));
    map_put(&o->seen, str_from(s->hash), s);
    list_push(&o->seen_age, &s->node);
}

/* "Log out everywhere" means tokens from before as well. */
static bool is_signed_out(const struct user *u, int64_t issued_ms)
{
    return u->sessions_from_ms > 0 && issued_ms < u->sessions_from_ms;
}

int oidc_check(struct oidc *o, struct arena *arena, str bearer, struct identity *ret)
{
    char hash[SHA256_HEX_LEN + 1];
    if (!jwt_looks_right(bearer))
        return -EACCES;
    sha256_hex(bearer, hash);
    struct seen *s = map_get(&o->seen, str_make(hash, SHA256_HEX_LEN));
    if (!s)
        return -EAGAIN;
    const struct user *u = roster_user(auth_roster(o->auth), str_from(s->user_id));
    if (!u || clock_now_ms() >= s->expires_ms || is_signed_out(u, s->issued_ms)) {
        seen_drop(o, s);
        return -EACCES;
    }
    identity_fill(u, arena, AUTH_BY_JWT, ret);
    ret->expires_ms = s->expires_ms;
    return 0;
}

/* ---- the user of a token ---- */

static int person_refuse(struct oidc_op *x, const char *why)
{
    return err_set(&x->op.err, -EPERM, "%s", why);
}

static bool is_domain_allowed(const struct instance_oidc *conf, str email)
{
    ptrdiff_t at = str_rfind_char(email, '@');
    for (size_t i = 0; at > 0 && i < conf->allowed_domains.len; i++)
        if (str_eq_nocase(str_skip(email, (size_t)at + 1), conf->allowed_domains.items[i]))
            return true;
    return conf->allowed_domains.len == 0;
}

static bool is_email_verified(const struct oidc_op *x)
{
    const struct json *v = json_get(x->jwt.claims, "email_verified");
    if (!v)
        return x->oidc->conf->trust_email;
    return json_is(v, JSON_BOOL) ? v->boolean : str_eq(json_string(v, STR_NONE), STR("true"));
}

static void admit(struct oidc_op *x, const struct user *u)
{
    if (x->purpose != OIDC_BEARER) {
        oidc_give_session(x, u);
        return;
    }
    struct identity who;
    if (is_signed_out(u, jwt_time_ms(&x->jwt, "iat"))) {
        err_set(&x->op.err, -EACCES, "the token is not accepted: it has been revoked");
        oidc_fail(x);
        return;
    }
    seen_add(x->oidc, x, u->id);
    identity_fill(u, &x->op.arena, AUTH_BY_JWT, &who);
    who.expires_ms = jwt_time_ms(&x->jwt, "exp");
    x->done.check(x->op.ctx, &x->op.err, &who);
    op_free(&x->op);
}

static void find_person(struct oidc_op *x);

static void on_person(void *op, const struct err *err, str id)
{
    struct oidc_op *x = op;
    if (!op_is_back(&x->op))
        return;
    if (err->code == -EEXIST && !x->is_second_try) { /* two first logins at the same time */
        x->is_second_try = true;
        find_person(x);
        return;
    }
    const struct user *u = roster_user(auth_roster(x->op.auth), id);
    if (err->code < 0 || !u) {
        err_set(&x->op.err, err->code < 0 ? err->code : -EACCES,
                "the account could not be created: %s", err->msg);
        oidc_fail(x);
        return;
    }
    admit(x, u);
}

/* A name that cannot be stored must not prevent the login. */
static str person_name(const struct oidc_op *x)
{
    str name = utf8_truncate(json_get_string(x->jwt.claims, "name"), NAME_MAX_BYTES);
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.p[i] < 0x20 || name.p[i] == 0x7f)
            return STR_NONE;
    return str_trim(name);
}

/* allowedDomains decides who gets an account automatically, and keeps it; a user whom an admin has
 * added may have an address of any domain. */
static bool is_self_made(const struct user *u)
{
    return str_starts(u->id, STR(SELF_MADE));
}

static void make_person(struct oidc_op *x, str email)
{
    char hash[SHA256_HEX_LEN + 1];
    sha256_hex(x->jwt.subject, hash);
    struct change c = {.kind = CHANGE_USER_ADD,
                       .user_id = arena_printf(&x->op.arena, SELF_MADE "%.*s", SUBJECT_HEX, hash),
                       .email = email,
                       .display_name = person_name(x),
                       .role = ORG_MEMBER,
                       .issuer = x->oidc->conf->issuer,
                       .subject = x->jwt.subject};
    op_change(&x->op, &c, on_person);
}

static void bind_person(struct oidc_op *x, const struct user *u)
{
    struct change c = {.kind = CHANGE_USER_BIND,
                       .user_id = u->id,
                       .issuer = x->oidc->conf->issuer,
                       .subject = x->jwt.subject};
    op_change(&x->op, &c, on_person);
}

/* The first login: only a verified address may select an existing account or create one. */
static int meet_person(struct oidc_op *x, str email)
{
    const struct user *u = roster_user_by_email(auth_roster(x->op.auth), email);
    if (email.n == 0)
        return person_refuse(x, "the provider did not send an e-mail address (scope email)");
    if (!is_email_verified(x))
        return person_refuse(x, "the provider has not verified your e-mail address");
    if (!u && !is_domain_allowed(x->oidc->conf, email))
        return person_refuse(x, "the domain of your e-mail address is not allowed");
    if (u && u->subject.n > 0)
        return person_refuse(x, "your e-mail address belongs to another account on this server");
    if (!u && x->oidc->conf->is_closed)
        return person_refuse(
            x, "you do not have an account on this server; ask an administrator for one");
    if (u)
        bind_person(x, u);
    else
        make_person(x, email);
    return 0;
}

static void find_person(struct oidc_op *x)
{
    const struct roster *r = auth_roster(x->op.auth);
    const struct user *u = roster_user_by_subject(r, x->oidc->conf->issuer, x->jwt.subject);
    str email = json_get_string(x->jwt.claims, "email");
    if (!u && meet_person(x, email) < 0) {
        oidc_fail(x);
    } else if (u && is_self_made(u) &&
               !is_domain_allowed(x->oidc->conf, email.n > 0 ? email : u->email)) {
        person_refuse(x, "the domain of your e-mail address is not allowed");
        oidc_fail(x);
    } else if (u) {
        admit(x, u);
    }
}

/* ---- verifying ---- */

static void verify_with(struct oidc_op *x, const struct jwk *key)
{
    struct jwt_expect expect = {.issuer = x->oidc->conf->issuer,
                                .audience = x->oidc->conf->client_id,
                                .nonce = x->nonce,
                                .now_s = clock_now_ms() / 1000};
    if (jwt_verify(&x->jwt, key, &x->op.err) < 0 || jwt_check(&x->jwt, &expect, &x->op.err) < 0)
        oidc_fail(x);
    else
        find_person(x);
}

static void on_keys(void *ctx, const struct err *err)
{
    struct oidc_op *x = ctx;
    if (oidc_is_over(x))
        return;
    const struct jwk *key = provider_known_key(x->oidc->provider, &x->jwt);
    if (key) {
        verify_with(x, key);
        return;
    }
    if (err->code < 0)
        err_set(&x->op.err, -EHOSTUNREACH, "the login provider did not respond; try again later");
    else
        err_set(&x->op.err, -EACCES, "the token is not accepted: its key is unknown");
    oidc_fail(x);
}

/* The key is known already, but the callback must not be called before the call returns. */
static void verify_deferred(void *op)
{
    struct oidc_op *x = op;
    static const struct err NONE;
    on_keys(x, &NONE);
}

void oidc_verify(struct oidc_op *x)
{
    if (jwt_parse(&x->op.arena, x->token, &x->jwt, &x->op.err) < 0) {
        op_defer(&x->op, oidc_fail);
        return;
    }
    if (provider_key(x->oidc->provider, &x->jwt)) {
        op_defer(&x->op, verify_deferred);
        return;
    }
    x->wait.fn = on_keys;
    x->wait.ctx = x;
    provider_fetch_keys(x->oidc->provider, &x->wait);
}

struct auth_op *oidc_check_later(struct oidc *o, str bearer, auth_check_done done, void *ctx)
{
    assert(o); /* only oidc_check returns -EAGAIN */
    struct oidc_op *x = oidc_op_new(o, OIDC_BEARER, ctx);
    x->done.check = done;
    x->token = arena_str(&x->op.arena, bearer);
    oidc_verify(x);
    return &x->op;
}
