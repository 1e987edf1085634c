/* The key of the one owner of an installation without users: NB_API_KEY, or in dev mode the key of
 * the work directory, which can be replaced while the server runs. */
#include <errno.h>

#include "auth/auth_impl.h"
#include "auth/dev_key.h"

bool auth_has_key(const struct auth *a)
{
    return auth_mode(a) == AUTH_KEY || a->dev_key[0] != 0;
}

static void take_key(struct auth *a)
{
    bool is_dev = auth_mode(a) == AUTH_DEV;
    sha256(is_dev ? str_from(a->dev_key) : a->deps.instance->api_key, a->key_hash);
}

/* Only reads: commands that run a server without a listener need no key. Problems with the file
 * are reported when the server listens. */
void auth_load_key(struct auth *a)
{
    if (auth_mode(a) == AUTH_DEV && dev_key_read(a->deps.work_dir, a->dev_key, NULL) < 0)
        a->dev_key[0] = 0;
    log_secret(a->deps.log, str_from(a->dev_key));
    take_key(a);
}

str auth_origin(struct arena *arena, const struct auth *a)
{
    const struct instance *i = a->deps.instance;
    char hash[SHA256_HEX_LEN + 1];
    str secret = i->mode == AUTH_KEY   ? i->api_key
                 : i->mode == AUTH_DEV ? str_from(a->dev_key)
                                       : i->oidc.issuer;
    sha256_hex(secret, hash);
    return arena_printf(arena, "%s-%.16s", auth_mode_name(i->mode), hash);
}

static void restart_sessions(struct auth *a)
{
    struct arena arena;
    arena_init(&arena);
    sessions_restart(a->sessions, auth_origin(&arena, a));
    arena_done(&arena);
}

int auth_dev_open(struct auth *a, struct err *e)
{
    char key[SECRET_CHARS + 1];
    if (auth_mode(a) != AUTH_DEV)
        return 0;
    int r = dev_key_ensure(a->deps.work_dir, key, e);
    if (r < 0 || strcmp(key, a->dev_key) == 0)
        return r;
    memcpy(a->dev_key, key, sizeof key);
    log_secret(a->deps.log, str_from(a->dev_key));
    take_key(a);
    restart_sessions(a);
    return 0;
}

str auth_dev_key(const struct auth *a)
{
    return str_from(a->dev_key);
}

const char *auth_cookie_name(const struct auth *a, struct arena *arena, const char *name)
{
    if (auth_mode(a) != AUTH_DEV)
        return name;
    char hash[SHA256_HEX_LEN + 1];
    sha256_hex(str_make((const char *)a->key_hash, sizeof a->key_hash), hash);
    return arena_printf(arena, "%s_%.8s", name, hash).p;
}

/* ---- replacing it ---- */

struct renew_op {
    struct auth_op op;
    struct job job;
    auth_renew_done done;
    char key[SECRET_CHARS + 1];
};

static void renew_end(void *op)
{
    struct renew_op *x = op;
    if (!op_is_over(&x->op))
        x->done(x->op.ctx, &x->op.err);
    explicit_bzero(x->key, sizeof x->key);
    op_free(&x->op);
}

static void renew_work(struct job *j)
{
    struct renew_op *x = CONTAINER_OF(j, struct renew_op, job);
    (void)dev_key_renew(x->op.auth->deps.work_dir, x->key, &x->op.err); /* x->op.err */
}

/* The file has changed, so the old key must end even if the operation was cancelled. */
static void renew_done(struct job *j)
{
    struct renew_op *x = CONTAINER_OF(j, struct renew_op, job);
    struct auth *a = x->op.auth;
    if (a && x->op.err.code == 0) {
        memcpy(a->dev_key, x->key, sizeof a->dev_key);
        take_key(a);
        restart_sessions(a);
        auth_tell_ended(a, auth_roster(a)->users[0].id, STR_NONE, STR_NONE);
    }
    renew_end(x);
}

struct auth_op *auth_dev_renew(struct auth *a, auth_renew_done done, void *ctx)
{
    struct renew_op *x = auth_op_new(a, sizeof *x, ctx);
    x->done = done;
    if (auth_mode(a) != AUTH_DEV) {
        err_set(&x->op.err, -ENOTSUP,
                "this server does not have a dev key: users log in, or NB_API_KEY is set");
        op_defer(&x->op, renew_end);
        return &x->op;
    }
    pool_run(a->pool, &x->job, renew_work, renew_done);
    return &x->op;
}
