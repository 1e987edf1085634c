#include "bundle/token.h"

#include <errno.h>

#include "base/clock.h"

struct token_get {
    struct token_want want;
    struct arena arena;
    struct oauth_state state;
    struct oauth_refresh *refresh;
    struct job job;
    bool is_on_pool;
    struct err err;
    token_fn fn; /* NULL = cancelled */
    void *ctx;
};

static void get_free(struct token_get *g)
{
    arena_done(&g->arena);
    free(g);
}

static void finish(struct token_get *g)
{
    int code = g->err.code;
    if (code == -ENOKEY || code == -EACCES)
        err_prefix(&g->err, "sign in with: nb bundle auth %.*s", STR_ARG(g->want.server_name));
    g->fn(g->ctx, code ? STR_NONE : g->state.access_token, code ? &g->err : NULL);
    get_free(g);
}

/* Back from the pool; true when somebody still waits. */
static bool back(struct token_get *g)
{
    g->is_on_pool = false;
    if (g->fn)
        return true;
    get_free(g);
    return false;
}

static void submit(struct token_get *g, void (*work)(struct job *j), void (*done)(struct job *j))
{
    g->job = (struct job){.work = work, .done = done};
    g->is_on_pool = true;
    pool_submit(g->want.pool, &g->job);
}

/* ---- keeping ---- */

static void save_work(struct job *j)
{
    struct token_get *g = CONTAINER_OF(j, struct token_get, job);
    (void)oauth_state_save(g->want.credentials_dir, g->want.slug, &g->state, &g->err);
}

static void saved(struct job *j)
{
    struct token_get *g = CONTAINER_OF(j, struct token_get, job);
    if (back(g))
        finish(g);
}

static void on_refreshed(void *ctx, const struct oauth_state *s, const struct err *err)
{
    struct token_get *g = ctx;
    g->refresh = NULL;
    if (!s) {
        g->err = *err;
        finish(g);
        return;
    }
    g->state.access_token = arena_str(&g->arena, s->access_token);
    g->state.refresh_token = arena_str(&g->arena, s->refresh_token);
    g->state.scope = arena_str(&g->arena, s->scope);
    g->state.expires_ms = s->expires_ms;
    submit(g, save_work, saved);
}

/* ---- looking ---- */

static void load_work(struct job *j)
{
    struct token_get *g = CONTAINER_OF(j, struct token_get, job);
    const struct token_want *w = &g->want;
    if (oauth_state_load(&g->arena, w->credentials_dir, w->slug, &g->state, &g->err) < 0)
        return;
    if (!oauth_is_about(g->state.resource, w->url))
        err_set(&g->err, -ENOKEY, "the token that is stored is for another server");
}

static bool is_over(const struct token_get *g)
{
    int64_t end = g->state.expires_ms;
    return g->want.is_refused || (end > 0 && end < clock_now_ms() + OAUTH_EARLY_MS);
}

static void loaded(struct job *j)
{
    struct token_get *g = CONTAINER_OF(j, struct token_get, job);
    const struct token_want *w = &g->want;
    if (!back(g))
        return;
    if (g->err.code == 0 && is_over(g) && g->state.refresh_token.n == 0)
        err_set(&g->err, -EACCES, "the sign-in has ended");
    if (g->err.code || !is_over(g))
        finish(g);
    else
        g->refresh =
            oauth_refresh_start(w->loop, w->fetcher, w->fetch_flags, &g->state, on_refreshed, g);
}

struct token_get *token_get(const struct token_want *w, token_fn fn, void *ctx)
{
    struct token_get *g = xcalloc(1, sizeof(*g));
    arena_init(&g->arena);
    g->want = *w;
    g->want.credentials_dir = arena_cstr(&g->arena, str_from(w->credentials_dir));
    g->want.slug = arena_str(&g->arena, w->slug);
    g->want.server_name = arena_str(&g->arena, w->server_name);
    g->want.url = arena_str(&g->arena, w->url);
    g->fn = fn;
    g->ctx = ctx;
    submit(g, load_work, loaded);
    return g;
}

void token_cancel(struct token_get *g)
{
    if (!g)
        return;
    g->fn = NULL;
    oauth_refresh_cancel(g->refresh);
    g->refresh = NULL;
    if (!g->is_on_pool)
        get_free(g);
}
