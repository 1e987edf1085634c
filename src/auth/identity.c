/* identity.c - operations (auth_impl.h has their life), and the check of every request. */
#include "auth/identity.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "auth/auth_impl.h"
#include "auth/oidc/oidc.h"
#include "auth/session/shared_rate.h"
#include "base/clock.h"

/* ---- scopes ---- */

static const struct {
    str name;
    unsigned bits;
} SCOPES[] = {
    {STR_INIT("read"), SCOPE_READ}, {STR_INIT("write"), SCOPE_WRITE},
    {STR_INIT("mcp"), SCOPE_MCP},   {STR_INIT("admin"), SCOPE_ADMIN},
    {STR_INIT("all"), SCOPE_ALL},
};

int auth_scope_parse(str name, unsigned *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(SCOPES); i++) {
        if (!str_eq(name, SCOPES[i].name))
            continue;
        *ret = SCOPES[i].bits;
        return 0;
    }
    return -EINVAL;
}

str auth_scope_name(enum auth_scope one)
{
    for (size_t i = 0; i < ARRAY_LEN(SCOPES); i++)
        if (SCOPES[i].bits == (unsigned)one)
            return SCOPES[i].name;
    return STR_NONE;
}

/* ---- operations ---- */

void *auth_op_new(struct auth *a, size_t size, void *ctx)
{
    struct auth_op *op = xcalloc(1, size);
    op->auth = a;
    op->ctx = ctx;
    defer_init(&op->later, NULL, NULL);
    arena_init(&op->arena);
    list_push(&a->ops, &op->node);
    return op;
}

void op_free(struct auth_op *op)
{
    assert(!op->is_with_directory); /* it would come back to freed memory */
    list_del(&op->node);
    defer_stop(&op->later);
    if (op->drop)
        op->drop(op);
    arena_done(&op->arena);
    free(op);
}

void op_defer(struct auth_op *op, void (*fn)(void *op))
{
    assert(!op->is_with_directory && op->auth);
    defer_init(&op->later, fn, op);
    defer_start(op->auth->deps.loop, &op->later);
}

void auth_only_if(struct auth_op *op, bool (*may)(void *ctx))
{
    op->may = may;
}

/* The ctx of a cancelled operation may be freed, so its `may` is not called; op_is_back drops the
 * result. */
static bool op_may(void *ctx)
{
    const struct auth_op *op = ctx;
    return op_is_over(op) || !op->may || op->may(op->ctx);
}

void op_change(struct auth_op *op, const struct change *c, directory_done fn)
{
    assert(!op->is_with_directory && !op_is_over(op));
    op->is_with_directory = true;
    directory_change_if(op->auth->deps.directory, c, op_may, fn, op);
}

bool op_is_back(struct auth_op *op)
{
    assert(op->is_with_directory);
    op->is_with_directory = false;
    if (!op_is_over(op))
        return true;
    op_free(op);
    return false;
}

/* Does not free: a pool thread, curl or the directory may hold the operation now. */
void auth_cancel(struct auth_op *op)
{
    if (op)
        op->is_cancelled = true;
}

/* ---- life ---- */

void auth_tell_ended(struct auth *a, str user_id, str session_id, str token_id)
{
    LIST_EACH (o, &a->observers, struct auth_observer, node)
        o->on_ended(o->ctx, user_id, session_id, token_id);
}

static void on_session_ended(void *ctx, const struct login_session *s)
{
    auth_tell_ended(ctx, s->user_id, str_from(s->id), STR_NONE);
}

/* Sessions are ended here, not where the change was made: another process may have made it. */
static void on_news(void *ctx, const struct directory_item *item)
{
    struct auth *a = ctx;
    if (item->news == NEWS_TOKEN_REVOKED) {
        token_use_forget(a->use, item->token_id);
        auth_tell_ended(a, item->user_id, STR_NONE, item->token_id);
    } else if (item->news == NEWS_USER_SIGNED_OUT) {
        const struct user *u = roster_user(auth_roster(a), item->user_id);
        sessions_end_user(a->sessions, item->user_id, u ? u->sessions_from_ms : INT64_MAX);
    }
}

int auth_new(const struct auth_deps *deps, struct auth **ret, struct err *e)
{
    struct auth *a = xcalloc(1, sizeof *a);
    struct arena arena;
    a->deps = *deps;
    if (!a->deps.mono_ms)
        a->deps.mono_ms = clock_mono_ms;
    list_init(&a->ops);
    list_init(&a->observers);
    auth_load_key(a);
    limit_init(&a->logins, LOGINS_PER_KEY, LOGINS_UNDELAYED);
    limit_init(&a->known_logins, LOGINS_PER_KEY, UINT_MAX);
    limit_init(&a->authorize_redirects, AUTHORIZE_PER_CLIENT, AUTHORIZE_TOTAL);
    limit_init(&a->wrong_keys, WRONG_KEYS_MAX, UINT_MAX);
    limit_init(&a->wrong_lines, WRONG_KEY_LINES, WRONG_KEY_LINES);
    map_init(&a->known_clients);
    arena_init(&arena);
    struct database *replicas = deps->has_replicas ? deps->shared : NULL;
    a->sessions = sessions_new(deps->loop, deps->log, deps->work_dir, replicas,
                               auth_origin(&arena, a), clock_now_ms, on_session_ended, a);
    arena_done(&arena);
    a->use = token_use_new(deps->loop, deps->log, use_store_new(deps->work_dir, deps->shared));
    a->pool = pool_new(deps->loop, "nb-passwords", 1);
    pool_give_way(a->pool); /* wrong passwords of strangers must not slow the server down */
    a->news = (struct directory_observer){.on_news = on_news, .ctx = a};
    directory_observe(deps->directory, &a->news);
    if (deps->instance->mode == AUTH_OIDC)
        a->oidc = oidc_new(a);
    *ret = a;
    return 0;
}

/* Frees what is left. The directory still holds some operations: op_is_back frees those. */
static void end_ops(struct auth *a)
{
    LIST_EACH (op, &a->ops, struct auth_op, node) {
        if (!op->is_with_directory) {
            op_free(op);
            continue;
        }
        op->auth = NULL;
        list_del(&op->node);
    }
}

void auth_free(struct auth *a)
{
    if (!a)
        return;
    directory_unobserve(&a->news);
    LIST_FOREACH (it, &a->ops)
        LIST_ENTRY(it, struct auth_op, node)->is_cancelled = true;
    pool_free(a->pool); /* its jobs end and free their cancelled operations */
    fresh_free(a->fresh);
    shared_rate_free(a->rate);
    sessions_stop(a->sessions); /* the same */
    end_ops(a);
    oidc_free(a->oidc);
    sessions_free(a->sessions);
    token_use_free(a->use);
    limit_done(&a->logins);
    limit_done(&a->known_logins);
    limit_done(&a->authorize_redirects);
    limit_done(&a->wrong_keys);
    limit_done(&a->wrong_lines);
    map_done(&a->known_clients);
    free(a);
}

int auth_open_shared(struct auth *a, struct err *e)
{
    token_use_open(a->use);
    a->shared = a->deps.shared;
    if (!a->shared || !a->deps.has_replicas)
        return 0;
    a->fresh = fresh_new(a->deps.loop, a->shared, a->sessions, a->deps.directory);
    a->rate = shared_rate_new(a->deps.loop, a->shared);
    return fresh_open(a->fresh, e);
}

struct shared_rate *auth_shared_rate(const struct auth *a)
{
    return a->rate;
}

void auth_await_fresh(struct auth *a, struct fresh_wait *w)
{
    static const struct err NONE;
    if (a->fresh)
        fresh_await(a->fresh, w);
    else
        w->fn(w->ctx, &NONE);
}

enum auth_mode auth_mode(const struct auth *a)
{
    return a->deps.instance->mode;
}

const struct roster *auth_roster(const struct auth *a)
{
    return directory_roster(a->deps.directory);
}

void auth_observe(struct auth *a, struct auth_observer *o)
{
    list_push(&a->observers, &o->node);
}

void auth_unobserve(struct auth_observer *o)
{
    list_del(&o->node);
}

/* ---- every request ---- */

void identity_fill(const struct user *u, struct arena *arena, enum auth_how how,
                   struct identity *ret)
{
    *ret = (struct identity){.user_id = arena_str(arena, u->id), .how = how, .scopes = SCOPE_ALL};
}

/* Unknown names give no scope: a file of a later version must not grant more here. */
static unsigned scopes_of(struct json_strs names)
{
    unsigned all = 0, one;
    for (size_t i = 0; i < names.len; i++)
        if (auth_scope_parse(names.items[i], &one) == 0)
            all |= one;
    return all;
}

static int check_token(struct auth *a, struct arena *arena, str bearer, struct identity *ret)
{
    char hash[SHA256_HEX_LEN + 1];
    sha256_hex(bearer, hash);
    const struct user_token *t = roster_token(auth_roster(a), str_make(hash, SHA256_HEX_LEN));
    if (!t || (t->expires_ms > 0 && clock_now_ms() >= t->expires_ms))
        return -EACCES;
    identity_fill(t->user, arena, AUTH_BY_TOKEN, ret);
    ret->scopes = scopes_of(t->scopes);
    ret->token_id = arena_str(arena, t->id);
    ret->workspace_id = arena_str(arena, t->workspace_id);
    ret->expires_ms = t->expires_ms;
    ret->tools = json_strs_copy(arena, t->tools);
    token_use_note(a->use, t->id);
    return 0;
}

/* Dev and key mode: the key authenticates the one implicit user. */
static int check_key(struct auth *a, struct arena *arena, str bearer, struct identity *ret)
{
    /* Hashes have equal lengths, so the time of the comparison reveals nothing about the key. */
    uint8_t hash[SHA256_LEN];
    sha256(bearer, hash);
    if (!auth_has_key(a) || !bytes_eq_const_time(hash, a->key_hash, sizeof hash))
        return -EACCES;
    identity_fill(&auth_roster(a)->users[0], arena, AUTH_BY_KEY, ret);
    return 0;
}

static int check_session(struct auth *a, struct arena *arena, str cookie, struct identity *ret)
{
    const struct login_session *s = session_find(a->sessions, cookie);
    if (!s)
        return -EACCES;
    const struct user *u = roster_user(auth_roster(a), s->user_id);
    if (!u || s->created_ms < u->sessions_from_ms) { /* signed out while no server was running */
        session_end(a->sessions, s);
        return -EACCES;
    }
    identity_fill(u, arena, AUTH_BY_SESSION, ret);
    ret->session_id = arena_str(arena, str_from(s->id));
    ret->expires_ms = s->value_until_ms;
    return 0;
}

/* A bearer that is wrong never falls back to the cookie: the client meant the bearer. */
int auth_check_known(struct auth *a, struct arena *arena, const struct auth_credentials *c,
                     struct identity *ret)
{
    int r = -EACCES;
    if (token_looks_right(c->bearer))
        r = check_token(a, arena, c->bearer, ret);
    if (r == 0 || (token_looks_right(c->bearer) && auth_mode(a) != AUTH_KEY))
        return r; /* in key mode continue: the operator's key may have the form of a token */
    if (c->bearer.n > 0 && instance_is_sole(a->deps.instance))
        return check_key(a, arena, c->bearer, ret);
    if (c->bearer.n > 0 && a->oidc)
        return oidc_check(a->oidc, arena, c->bearer, ret);
    if (c->bearer.n > 0)
        return -EACCES;
    return check_session(a, arena, c->cookie, ret);
}

/* The one key of an installation is in its settings: no other server can revoke it. */
static bool can_be_revoked(const struct auth *a, const struct auth_credentials *c)
{
    bool is_key = instance_is_sole(a->deps.instance) && !token_looks_right(c->bearer);
    return c->bearer.n > 0 ? !is_key : c->cookie.n > 0;
}

int auth_check(struct auth *a, struct arena *arena, const struct auth_credentials *c,
               struct identity *ret)
{
    if (a->fresh && can_be_revoked(a, c))
        return -EAGAIN;
    return auth_check_known(a, arena, c, ret);
}

/* ---- checks that take time ---- */

struct check_op {
    struct auth_op op;
    struct fresh_wait wait;
    auth_check_done done;
    struct auth_credentials credentials;
};

static void check_end(struct check_op *x, const struct err *err, const struct identity *who)
{
    if (!op_is_over(&x->op))
        x->done(x->op.ctx, err, who);
    op_free(&x->op);
}

static void on_checked_by_provider(void *op, const struct err *err, const struct identity *who)
{
    check_end(op, err, who);
}

static void on_check_fresh(void *op, const struct err *err)
{
    struct check_op *x = op;
    struct identity who;
    if (op_is_over(&x->op) || err->code < 0) {
        check_end(x, err, NULL);
        return;
    }
    int r = auth_check_known(x->op.auth, &x->op.arena, &x->credentials, &who);
    if (r == -EAGAIN) {
        (void)oidc_check_later(x->op.auth->oidc, x->credentials.bearer, on_checked_by_provider, x);
        return;
    }
    x->op.err = (struct err){.code = r}; /* without more words than auth_check has */
    check_end(x, &x->op.err, r < 0 ? NULL : &who);
}

static void check_drop(struct auth_op *op)
{
    list_del(&((struct check_op *)op)->wait.node);
}

struct auth_op *auth_check_later(struct auth *a, const struct auth_credentials *c,
                                 auth_check_done done, void *ctx)
{
    if (!a->fresh)
        return oidc_check_later(a->oidc, c->bearer, done, ctx); /* no other check takes time */
    struct check_op *x = auth_op_new(a, sizeof *x, ctx);
    x->done = done;
    x->credentials = (struct auth_credentials){arena_str(&x->op.arena, c->bearer),
                                               arena_str(&x->op.arena, c->cookie)};
    x->wait = (struct fresh_wait){.fn = on_check_fresh, .ctx = x};
    list_init(&x->wait.node);
    x->op.drop = check_drop;
    auth_await_fresh(a, &x->wait);
    return &x->op;
}

int64_t auth_token_used(const struct auth *a, str token_id)
{
    return token_use_ms(a->use, token_id);
}

struct token_op {
    struct auth_op op;
    auth_token_done done;
    char value[TOKEN_MAX];
};

static void token_stored(void *op, const struct err *err, str id)
{
    struct token_op *x = op;
    if (!op_is_back(&x->op))
        return;
    x->done(x->op.ctx, err, id, err->code < 0 ? STR_NONE : str_from(x->value));
    explicit_bzero(x->value, sizeof x->value);
    op_free(&x->op);
}

struct json_strs auth_scope_names(struct arena *a, unsigned scopes)
{
    struct json_strs names = {arena_array(a, 4, sizeof(str)), 0};
    for (unsigned bit = SCOPE_READ; bit <= SCOPE_ADMIN; bit <<= 1)
        if (scopes & bit)
            names.items[names.len++] = auth_scope_name((enum auth_scope)bit);
    return names;
}

struct auth_op *auth_create_token(struct auth *a, const struct auth_new_token *in,
                                  auth_token_done done, void *ctx)
{
    struct token_op *x = auth_op_new(a, sizeof *x, ctx);
    char hash[SHA256_HEX_LEN + 1];
    x->done = done;
    token_make(x->value);
    sha256_hex(str_from(x->value), hash);
    unsigned scopes = in->scopes ? in->scopes : SCOPES_DEFAULT;
    struct change c = {.kind = CHANGE_TOKEN_ADD,
                       .user_id = in->user_id,
                       .token = {.name = in->name,
                                 .hash = str_from(hash),
                                 .scopes = auth_scope_names(&x->op.arena, scopes),
                                 .tools = in->tools,
                                 .workspace_id = in->workspace_id,
                                 .expires_ms = in->expires_ms}};
    op_change(&x->op, &c, token_stored);
    return &x->op;
}
