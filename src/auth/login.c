/* Logging in with a password or the API key; changing a password. */
#include <assert.h>
#include <errno.h>

#include "auth/auth_impl.h"
#include "auth/oidc/oidc.h"
#include "auth/session/password.h"
#include "auth/session/shared_limit.h"
#include "base/bytes/ip.h"
#include "base/clock.h"
#include "loop/timer.h"

struct auth_session session_offer(struct arena *arena, const struct login_session *s,
                                  const struct session_values *v)
{
    int64_t left_ms = s->created_ms + s->policy.absolute_ms - s->seen_ms;
    int64_t value_ms = s->policy.value_ms < left_ms ? s->policy.value_ms : left_ms;
    return (struct auth_session){.user_id = arena_str(arena, s->user_id),
                                 .session_id = arena_str(arena, str_from(s->id)),
                                 .session_value = arena_str(arena, str_from(v->value)),
                                 .refresh_value = arena_str(arena, str_from(v->refresh)),
                                 .session_max_age_s = value_ms / 1000,
                                 .refresh_max_age_s = left_ms / 1000};
}

/* ---- logging in ---- */

struct login_op {
    struct auth_op op;
    struct job job;
    auth_session_done done;
    str email, password, hash, user_id;
    struct timer wait; /* a delayed attempt; see LOGIN_PACE_MS */
    str client;
    str by_client, by_site, by_account; /* keys of the limits; by_site may be empty */
    str by_both;
    bool is_known;
    struct database *shared; /* of auth, for the job */
    struct fresh_wait fresh;
    struct auth_session offer; /* given when the session is stored */
    struct session_wait stored;
};

/* For tools that read the log and block addresses. The typed name is not logged: users sometimes
 * type a password there. */
static void note_failure(const struct login_op *x)
{
    const char *who = x->user_id.n > 0 ? x->user_id.p : "an unknown user";
    if (x->op.err.code == -EACCES)
        log_warn(x->op.auth->deps.log, "auth", "a login from %.*s failed: %s", STR_ARG(x->client),
                 who);
}

static void login_fail(struct login_op *x)
{
    note_failure(x);
    x->done(x->op.ctx, &x->op.err, NULL);
    op_free(&x->op);
}

static void remember_client(struct auth *a, str by_both)
{
    if (map_len(&a->known_clients) >= KNOWN_CLIENTS_MAX) {
        map_done(&a->known_clients);
        map_init(&a->known_clients);
    }
    map_put(&a->known_clients, by_both, a);
}

/* Logins with a key are counted elsewhere, and only when they fail. */
static void give_back(struct auth *a, struct login_op *x)
{
    uint64_t now = a->deps.mono_ms();
    if (x->by_both.n == 0)
        return;
    if (x->is_known) {
        limit_give_back(&a->known_logins, x->by_both, now);
        return;
    }
    limit_give_back(&a->logins, x->by_client, now);
    limit_give_back(&a->logins, x->by_account, now);
    if (x->by_site.n > 0)
        limit_give_back(&a->logins, x->by_site, now);
    remember_client(a, x->by_both);
}

static void on_login_stored(void *op, const struct err *err)
{
    struct login_op *x = op;
    x->op.err = *err;
    if (err->code == -ESTALE) /* the password may not be the right one any more */
        err_set(&x->op.err, -ENOTCONN, "users were changed in the same moment; try again");
    if (!op_is_over(&x->op))
        x->done(x->op.ctx, &x->op.err, err->code < 0 ? NULL : &x->offer);
    op_free(&x->op);
}

static void login_succeed(struct login_op *x)
{
    struct auth *a = x->op.auth;
    const struct instance *i = a->deps.instance;
    struct session_policy policy = {
        .value_ms = i->session_ms, .idle_ms = i->idle_ms, .absolute_ms = i->session_ms};
    struct session_values values;
    const struct login_session *s =
        session_begin(a->sessions, x->user_id, &policy, STR_NONE, &values);
    x->offer = session_offer(&x->op.arena, s, &values);
    explicit_bzero(&values, sizeof values);
    give_back(a, x);
    x->stored = (struct session_wait){
        .fn = on_login_stored, .ctx = x, .roster_mark = auth_roster(a)->generation};
    session_await(a->sessions, s, &x->stored);
}

static void login_deferred(void *op)
{
    struct login_op *x = op;
    if (op_is_over(&x->op))
        op_free(&x->op);
    else if (x->op.err.code < 0)
        login_fail(x);
    else
        login_succeed(x);
}

/* Is there room for one more attempt among those of all servers? If the database cannot be reached,
 * the counters of this server have to be enough. */
static bool others_allow(struct auth_op *op, struct database *shared, str key, unsigned max)
{
    struct err ignored = {0};
    unsigned n = 0;
    (void)shared_limit_count(shared, key, &n, &ignored);
    if (n > max)
        err_set(&op->err, -EBUSY, "too many attempts; retry in a minute");
    return n <= max;
}

/* As is_too_often, in the same order: an attempt that the client's counter refuses is not counted
 * for the account, or one client could lock everybody else out of it. */
static bool others_allow_login(struct login_op *x)
{
    if (x->is_known)
        return others_allow(&x->op, x->shared, x->by_both, LOGINS_PER_KEY);
    return others_allow(&x->op, x->shared, x->by_client, LOGINS_PER_KEY) &&
           (x->by_site.n == 0 || others_allow(&x->op, x->shared, x->by_site, LOGINS_PER_SITE)) &&
           others_allow(&x->op, x->shared, x->by_account, LOGINS_PER_KEY);
}

static void give_back_to_others(struct login_op *x)
{
    if (x->is_known) {
        shared_limit_give_back(x->shared, x->by_both);
        return;
    }
    shared_limit_give_back(x->shared, x->by_client);
    if (x->by_site.n > 0)
        shared_limit_give_back(x->shared, x->by_site);
    shared_limit_give_back(x->shared, x->by_account);
}

static void verify_work(struct job *j)
{
    struct login_op *x = CONTAINER_OF(j, struct login_op, job);
    if (others_allow_login(x) && password_verify(x->hash, x->password, &x->op.err) == 0)
        give_back_to_others(x); /* failures: x->op.err */
}

/* The account may have changed while the password was checked. */
static void verify_again(void *op, const struct err *err)
{
    struct login_op *x = op;
    if (op_is_over(&x->op)) {
        op_free(&x->op);
        return;
    }
    if (err->code < 0)
        x->op.err = *err;
    const struct user *u = roster_user(auth_roster(x->op.auth), x->user_id);
    if (x->op.err.code == 0 && (!u || !str_eq(u->password, x->hash)))
        err_set(&x->op.err, -EACCES, "wrong e-mail address or password");
    login_deferred(x);
}

static void verify_done(struct job *j)
{
    struct login_op *x = CONTAINER_OF(j, struct login_op, job);
    if (op_is_over(&x->op) || x->op.err.code < 0)
        login_deferred(x);
    else
        auth_await_fresh(x->op.auth, &x->fresh);
}

static void login_local(struct login_op *x)
{
    struct auth *a = x->op.auth;
    if (x->email.n == 0 || x->password.n == 0) {
        err_set(&x->op.err, -EINVAL, "email and password are required");
        op_defer(&x->op, login_deferred);
        return;
    }
    const struct user *u = roster_user_by_email(auth_roster(a), x->email);
    x->hash = u ? arena_str(&x->op.arena, u->password) : STR_NONE;
    x->user_id = u ? arena_str(&x->op.arena, u->id) : STR_NONE;
    x->shared = a->shared;
    assert(x->op.err.code == 0 && !x->op.is_cancelled);
    pool_run(a->pool, &x->job, verify_work, verify_done);
}

static unsigned count_wrong_key(struct login_op *x)
{
    return limit_count_key(&x->op.auth->logins, client_network(&x->op.arena, x->client),
                           x->op.auth->deps.mono_ms());
}

/* The correct key is always accepted; only wrong keys are counted. */
static void login_key(struct login_op *x, str key)
{
    uint8_t hash[SHA256_LEN];
    sha256(key, hash);
    if (key.n == 0)
        err_set(&x->op.err, -EINVAL, "key is required");
    else if (bytes_eq_const_time(hash, x->op.auth->key_hash, sizeof hash))
        x->user_id = STR(ROSTER_SOLE_USER);
    else if (count_wrong_key(x) <= LOGINS_PER_KEY)
        err_set(&x->op.err, -EACCES, "wrong key");
    else
        err_set(&x->op.err, -EBUSY, "too many wrong keys; retry in a minute");
    op_defer(&x->op, login_deferred);
}

static str limit_key(struct arena *a, const char *kind, str name)
{
    str key = arena_printf(a, "%s %.*s", kind, STR_ARG(name));
    for (char *p = (char *)key.p; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p | 0x20);
    return key;
}

/* The client, its site and the account are counted separately: neither many accounts from one
 * place nor one account from many places can be tried at speed. A client that has logged in to
 * the account before has its own counter, so that an attacker who guesses cannot lock its user
 * out. */
static bool is_too_often(struct auth *a, struct login_op *x)
{
    uint64_t now = a->deps.mono_ms();
    struct arena *mem = &x->op.arena;
    x->by_client = limit_key(mem, "from", client_network(mem, x->client));
    x->by_site = client_site(mem, x->client);
    x->by_account = limit_key(mem, "to", x->email);
    x->by_both = arena_concat(mem, x->by_client, x->by_account);
    x->is_known = map_get(&a->known_clients, x->by_both) != NULL;
    if (x->is_known)
        return limit_count_key(&a->known_logins, x->by_both, now) > LOGINS_PER_KEY;
    if (limit_count_key(&a->logins, x->by_client, now) > LOGINS_PER_KEY)
        return true;
    if (x->by_site.n > 0 && limit_count_key(&a->logins, x->by_site, now) > LOGINS_PER_SITE)
        return true;
    return limit_count_key(&a->logins, x->by_account, now) > LOGINS_PER_KEY;
}

/* How long an attempt is delayed: 0 = not at all, UINT64_MAX = too many are waiting. */
static uint64_t login_delay(struct auth *a, const struct login_op *x)
{
    uint64_t now = a->deps.mono_ms();
    if (x->is_known || limit_count_total(&a->logins, now) <= LOGINS_UNDELAYED)
        return 0;
    uint64_t turn = (a->next_login_ms > now ? a->next_login_ms : now) + LOGIN_PACE_MS;
    if (turn - now > LOGIN_WAIT_MS)
        return UINT64_MAX;
    a->next_login_ms = turn;
    return turn - now;
}

static void on_turn(void *op)
{
    struct login_op *x = op;
    if (op_is_over(&x->op))
        op_free(&x->op);
    else
        login_local(x);
}

static void login_drop(struct auth_op *op)
{
    struct login_op *x = (struct login_op *)op;
    timer_stop(&x->wait);
    list_del(&x->fresh.node);
}

static void login_slowly(struct login_op *x)
{
    struct auth *a = x->op.auth;
    uint64_t delay = UINT64_MAX;
    if (!is_too_often(a, x))
        delay = login_delay(a, x);
    if (delay == UINT64_MAX) {
        err_set(&x->op.err, -EBUSY, "too many attempts; retry in a minute");
        op_defer(&x->op, login_deferred);
    } else if (delay > 0) {
        timer_start(&x->wait, delay);
    } else {
        login_local(x);
    }
}

struct auth_op *auth_login(struct auth *a, const struct auth_login *in, auth_session_done done,
                           void *ctx)
{
    struct login_op *x = auth_op_new(a, sizeof *x, ctx);
    x->done = done;
    x->email = arena_str(&x->op.arena, str_slice(in->email, 0, PASSWORD_MAX));
    x->password = arena_str(&x->op.arena, in->password);
    x->client = arena_str(&x->op.arena, in->client);
    timer_init(&x->wait, a->deps.loop, on_turn, x);
    x->fresh = (struct fresh_wait){.fn = verify_again, .ctx = x};
    list_init(&x->fresh.node);
    x->op.drop = login_drop;
    if (auth_mode(a) == AUTH_LOCAL) {
        login_slowly(x);
    } else if (auth_has_key(a)) {
        login_key(x, in->key);
    } else {
        err_set(&x->op.err, -ENOTSUP, "this login method is not enabled on this server");
        op_defer(&x->op, login_deferred);
    }
    return &x->op;
}

/* ---- passwords ---- */

struct password_op {
    struct auth_op op;
    struct job job;
    directory_done done;
    str user_id, current, password, hash;
    str by_user; /* key of the limit */
    struct database *shared;
    char fresh[PASSWORD_HASH_MAX];
};

static void password_deferred(void *op)
{
    struct password_op *x = op;
    if (!op_is_over(&x->op))
        x->done(x->op.ctx, &x->op.err, STR_NONE);
    op_free(&x->op);
}

static void password_changed(void *op, const struct err *err, str id)
{
    struct password_op *x = op;
    if (!op_is_back(&x->op))
        return;
    x->done(x->op.ctx, err, id);
    op_free(&x->op);
}

static void hash_work(struct job *j)
{
    struct password_op *x = CONTAINER_OF(j, struct password_op, job);
    if (x->current.p && (!others_allow(&x->op, x->shared, x->by_user, LOGINS_PER_KEY) ||
                         password_verify(x->hash, x->current, &x->op.err) < 0))
        return;
    (void)password_hash(x->password, x->fresh, &x->op.err); /* x->op.err */
}

static void hash_done(struct job *j)
{
    struct password_op *x = CONTAINER_OF(j, struct password_op, job);
    if (op_is_over(&x->op) || x->op.err.code < 0) {
        password_deferred(x);
        return;
    }
    struct change c = {
        .kind = CHANGE_USER_PASSWORD, .user_id = x->user_id, .password = str_from(x->fresh)};
    op_change(&x->op, &c, password_changed);
}

struct auth_op *auth_set_password(struct auth *a, str user_id, str current, str password,
                                  directory_done done, void *ctx)
{
    struct password_op *x = auth_op_new(a, sizeof *x, ctx);
    const struct user *u = roster_user(auth_roster(a), user_id);
    x->done = done;
    x->user_id = arena_str(&x->op.arena, user_id);
    x->by_user = limit_key(&x->op.arena, "change", x->user_id);
    x->shared = a->shared;
    x->password = arena_str(&x->op.arena, password);
    x->current = current.p ? arena_str(&x->op.arena, current) : STR_NONE;
    if (auth_mode(a) != AUTH_LOCAL)
        err_set(&x->op.err, -ENOTSUP, "this server does not use passwords");
    else if (!u)
        err_set(&x->op.err, -ENOENT, "no such user");
    else if (current.p &&
             limit_count_key(&a->known_logins, x->by_user, a->deps.mono_ms()) > LOGINS_PER_KEY)
        err_set(&x->op.err, -EBUSY, "too many attempts; retry in a minute");
    else
        (void)password_check(password, &x->op.err);
    if (x->op.err.code < 0) {
        op_defer(&x->op, password_deferred);
        return &x->op;
    }
    x->hash = arena_str(&x->op.arena, u->password);
    pool_run(a->pool, &x->job, hash_work, hash_done);
    return &x->op;
}

#define NETWORK_BYTES 8 /* /64 */
#define SITE_BYTES    6 /* /48 */

static str cut(struct arena *a, str client, size_t keep, const char *suffix)
{
    uint8_t ip[IP_LEN];
    char text[IP_TEXT_MAX];
    if (ip_parse(client, ip) < 0 || ip_is_v4(ip))
        return STR_NONE;
    memset(ip + keep, 0, IP_LEN - keep);
    ip_format(ip, text);
    return arena_printf(a, "%s%s", text, suffix);
}

str client_network(struct arena *a, str client)
{
    uint8_t ip[IP_LEN];
    char text[IP_TEXT_MAX];
    str v6 = cut(a, client, NETWORK_BYTES, "/64");
    if (v6.n > 0 || ip_parse(client, ip) < 0)
        return v6.n > 0 ? v6 : client;
    ip_format(ip, text); /* ::ffff:192.0.2.1 is 192.0.2.1 */
    return arena_str(a, str_from(text));
}

str client_site(struct arena *a, str client)
{
    return cut(a, client, SITE_BYTES, "/48");
}

/* Logs the first wrong key of a minute and the first that is refused, with a ceiling for all
 * addresses together. */
static void note_wrong_key(struct auth *a, str network, unsigned n, unsigned max, uint64_t now)
{
    if (n != 1 && n != max + 1)
        return;
    if (limit_count_total(&a->wrong_lines, now) > WRONG_KEY_LINES)
        return;
    log_warn(a->deps.log, "auth", "%s from %.*s",
             n == 1 ? "a wrong key or token" : "too many wrong keys or tokens", STR_ARG(network));
}

bool auth_wrong_bearer(struct auth *a, str client)
{
    struct arena arena;
    uint64_t now = a->deps.mono_ms();
    arena_init(&arena);
    str network = client_network(&arena, client);
    unsigned max = instance_is_sole(a->deps.instance) ? WRONG_KEYS_MAX : WRONG_TOKENS_MAX;
    unsigned n = limit_count_key(&a->wrong_keys, network, now);
    note_wrong_key(a, network, n, max, now);
    arena_done(&arena);
    return n <= max;
}
