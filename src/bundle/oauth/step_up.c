#include "bundle/oauth/step_up.h"

#include <errno.h>

struct step_up {
    struct job job;
    struct arena arena;
    struct step_up_want want;
    struct err err;
    step_up_fn fn;
    void *ctx;
};

/* On the pool. */
static void note_scope(struct job *j)
{
    struct step_up *u = CONTAINER_OF(j, struct step_up, job);
    const struct step_up_want *w = &u->want;
    struct oauth_state s;
    struct err failed = {0};
    if (oauth_state_load(&u->arena, w->credentials_dir, w->slug, &s, &u->err) < 0)
        return;
    int rc = oauth_step_up(&u->arena, &s, w->scope, &u->err);
    if (rc == -ENOKEY && oauth_state_save(w->credentials_dir, w->slug, &s, &failed) < 0)
        u->err = failed;
}

static void noted(struct job *j)
{
    struct step_up *u = CONTAINER_OF(j, struct step_up, job);
    if (u->err.code == -ENOKEY)
        err_prefix(&u->err, "%.*s", STR_ARG(u->want.advice));
    u->fn(u->ctx, &u->err);
    arena_done(&u->arena);
    free(u);
}

struct step_up *step_up_start(const struct step_up_want *w, step_up_fn fn, void *ctx)
{
    struct step_up *u = xcalloc(1, sizeof(*u));
    arena_init(&u->arena);
    u->want = *w;
    u->want.credentials_dir = arena_cstr(&u->arena, str_from(w->credentials_dir));
    u->want.slug = arena_str(&u->arena, w->slug);
    u->want.scope = arena_str(&u->arena, w->scope);
    u->want.advice = arena_str(&u->arena, w->advice);
    u->fn = fn;
    u->ctx = ctx;
    pool_run(w->pool, &u->job, note_scope, noted);
    return u;
}
