/* Refreshing and logging out. */
#include <errno.h>

#include "auth/auth_impl.h"
#include "auth/oidc/oidc.h"

/* ---- refreshing ---- */

struct refresh_op {
    struct auth_op op;
    auth_session_done done;
    struct fresh_wait fresh;
    str value;
    struct auth_session offer; /* given when it is stored */
    struct session_wait stored;
};

static void refresh_deferred(void *op)
{
    struct refresh_op *x = op;
    if (!op_is_over(&x->op))
        x->done(x->op.ctx, &x->op.err, x->op.err.code < 0 ? NULL : &x->offer);
    op_free(&x->op);
}

static void on_refreshed_by_provider(void *op, const struct err *err, const struct auth_session *s)
{
    struct refresh_op *x = op;
    if (!op_is_over(&x->op))
        x->done(x->op.ctx, err, s);
    op_free(&x->op);
}

/* Another server may have rotated the session in the same moment: as for another tab. */
static void on_rotation_stored(void *op, const struct err *err)
{
    struct refresh_op *x = op;
    if (err->code == -ESTALE)
        x->offer.session_value = x->offer.refresh_value = STR_NONE;
    else if (err->code < 0)
        x->op.err = *err;
    if (op_is_over(&x->op))
        op_free(&x->op);
    else
        op_defer(&x->op, refresh_deferred);
}

static void rotate(struct refresh_op *x, const struct login_session *s)
{
    struct sessions *all = x->op.auth->sessions;
    struct session_values values;
    s = session_rotate(all, s, STR_NONE, &values);
    x->offer = session_offer(&x->op.arena, s, &values);
    explicit_bzero(&values, sizeof values);
    x->stored = (struct session_wait){.fn = on_rotation_stored, .ctx = x};
    session_await(all, s, &x->stored);
}

static void refresh_go(void *op, const struct err *err)
{
    struct refresh_op *x = op;
    struct auth *a = x->op.auth;
    bool is_spent = false;
    if (op_is_over(&x->op) || err->code < 0) {
        x->op.err = *err;
        refresh_deferred(x);
        return;
    }
    const struct login_session *s = session_find_refresh(a->sessions, x->value, &is_spent);
    const struct user *u = s ? roster_user(auth_roster(a), s->user_id) : NULL;
    if (!u || s->created_ms < u->sessions_from_ms) {
        err_set(&x->op.err, -EACCES, "the session has ended; log in again");
    } else if (is_spent) {
        x->offer = (struct auth_session){.user_id = arena_str(&x->op.arena, s->user_id),
                                         .session_id = arena_str(&x->op.arena, str_from(s->id))};
    } else if (a->oidc) {
        (void)oidc_refresh(a->oidc, s, on_refreshed_by_provider, x);
        return;
    } else {
        rotate(x, s);
        return;
    }
    op_defer(&x->op, refresh_deferred);
}

static void refresh_drop(struct auth_op *op)
{
    list_del(&((struct refresh_op *)op)->fresh.node);
}

struct auth_op *auth_refresh(struct auth *a, str refresh_value, auth_session_done done, void *ctx)
{
    struct refresh_op *x = auth_op_new(a, sizeof *x, ctx);
    x->done = done;
    x->value = arena_str(&x->op.arena, refresh_value);
    x->fresh = (struct fresh_wait){.fn = refresh_go, .ctx = x};
    list_init(&x->fresh.node);
    x->op.drop = refresh_drop;
    auth_await_fresh(a, &x->fresh);
    return &x->op;
}

/* ---- logging out ---- */

int64_t auth_session_until(const struct auth *a, str session_id)
{
    const struct login_session *s = session_by_id(a->sessions, session_id);
    return s ? s->value_until_ms : 0;
}

struct logout_op {
    struct auth_op op;
    auth_logout_done done;
    struct fresh_wait fresh;
    struct session_wait stored;
    str session_value, refresh_value;
};

static void on_end_stored(void *op, const struct err *err)
{
    struct logout_op *x = op;
    if (!op_is_over(&x->op))
        x->done(x->op.ctx, err);
    op_free(&x->op);
}

static void logout_go(void *op, const struct err *err)
{
    struct logout_op *x = op;
    struct auth *a = x->op.auth;
    bool is_spent;
    if (op_is_over(&x->op) || err->code < 0) {
        on_end_stored(x, err);
        return;
    }
    const struct login_session *s = session_find(a->sessions, x->session_value);
    if (s)
        session_end(a->sessions, s);
    s = session_find_refresh(a->sessions, x->refresh_value, &is_spent);
    if (s)
        session_end(a->sessions, s);
    x->stored = (struct session_wait){.fn = on_end_stored, .ctx = x};
    sessions_sync(a->sessions, &x->stored);
}

static void logout_drop(struct auth_op *op)
{
    list_del(&((struct logout_op *)op)->fresh.node);
}

void auth_logout(struct auth *a, str session_value, str refresh_value, auth_logout_done done,
                 void *ctx)
{
    struct logout_op *x = auth_op_new(a, sizeof *x, ctx);
    x->done = done;
    x->session_value = arena_str(&x->op.arena, session_value);
    x->refresh_value = arena_str(&x->op.arena, refresh_value);
    x->fresh = (struct fresh_wait){.fn = logout_go, .ctx = x};
    list_init(&x->fresh.node);
    x->op.drop = logout_drop;
    auth_await_fresh(a, &x->fresh);
}
