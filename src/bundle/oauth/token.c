#include "bundle/oauth/token.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/timer.h"
#include "os/lock.h"

#define LOCK_LOOK_MS 200

struct token_get {
    struct list_node node; /* of want.queue */
    struct token_want want;
    struct arena arena;
    struct oauth_state state;
    str sent; /* the refresh token that was */
    struct oauth_refresh *refresh;
    struct timer limit; /* for the refresh, after token_cancel */
    bool is_cancelled;
    int lock;           /* of the refresh, or -1 */
    uint64_t locked_by; /* when waiting for the lock ends; 0 = not waiting */
    struct timer again;
    struct job job;
    struct err err;
    token_fn fn;
    void *ctx;
};

static void token_begin(void *get);

static struct token_get *first_of(struct list_node *queue, str slug)
{
    LIST_EACH (g, queue, struct token_get, node)
        if (str_eq(g->want.slug, slug))
            return g;
    return NULL;
}

static void token_finish(struct token_get *g)
{
    assert(!g->refresh);
    list_del(&g->node);
    timer_stop(&g->limit);
    timer_stop(&g->again);
    lock_close(g->lock);
    struct token_get *next = first_of(g->want.queue, g->want.slug);
    if (next)
        token_begin(next);
    if (g->is_cancelled)
        err_set(&g->err, -ECANCELED, "the request for the token was cancelled");
    int code = g->err.code;
    if (code == -ENOKEY || code == -EACCES)
        err_prefix(&g->err, "sign in with: nb bundle auth %.*s", STR_ARG(g->want.server_name));
    g->fn(g->ctx, code ? STR_NONE : g->state.access_token, code ? &g->err : NULL);
    arena_done(&g->arena);
    free(g);
}

/* On the pool. */
static int token_load(struct token_get *g, struct oauth_state *ret)
{
    const struct token_want *w = &g->want;
    int rc = oauth_state_load(&g->arena, w->credentials_dir, w->slug, ret, &g->err);
    if (rc == 0 && !oauth_is_about(ret->resource, w->url))
        rc = err_set(&g->err, -ENOKEY, "the stored token belongs to another server");
    return rc;
}

/* ---- keeping ---- */

/* A sign-in or sign-out meanwhile takes precedence. */
static void token_save_work(struct job *j)
{
    struct token_get *g = CONTAINER_OF(j, struct token_get, job);
    struct oauth_state stored;
    if (token_load(g, &stored) < 0)
        return;
    if (str_eq(stored.refresh_token, g->sent))
        (void)oauth_state_save(g->want.credentials_dir, g->want.slug, &g->state, &g->err);
    else
        g->state = stored;
}

static void saved(struct job *j)
{
    token_finish(CONTAINER_OF(j, struct token_get, job));
}

static void on_refreshed(void *ctx, const struct oauth_state *s, const struct err *err)
{
    struct token_get *g = ctx;
    g->refresh = NULL;
    timer_stop(&g->limit);
    assert(g->lock >= 0);
    if (!s) {
        g->err = *err;
        token_finish(g);
        return;
    }
    g->state.access_token = arena_str(&g->arena, s->access_token);
    g->state.refresh_token = arena_str(&g->arena, s->refresh_token);
    g->state.scope = arena_str(&g->arena, s->scope);
    g->state.expires_ms = s->expires_ms;
    pool_run(g->want.pool, &g->job, token_save_work, saved);
}

static void on_token_limit(void *ctx)
{
    struct token_get *g = ctx;
    assert(g->refresh && g->is_cancelled);
    oauth_refresh_cancel(g->refresh);
    g->refresh = NULL;
    token_finish(g);
}

/* ---- looking ---- */

static void load_work(struct job *j)
{
    struct token_get *g = CONTAINER_OF(j, struct token_get, job);
    (void)token_load(g, &g->state);
}

static bool is_token_over(const struct token_get *g)
{
    int64_t end = g->state.expires_ms;
    bool is_refused = g->want.refused.n > 0 && str_eq(g->want.refused, g->state.access_token);
    return is_refused || (end > 0 && end < clock_now_ms() + OAUTH_EARLY_MS);
}

static void token_refresh(struct token_get *g)
{
    const struct token_want *w = &g->want;
    assert(g->lock >= 0 && !g->refresh); /* one refresh at a time, of all processes */
    g->sent = g->state.refresh_token;
    g->refresh =
        oauth_refresh_start(w->loop, w->fetcher, w->fetch_flags, &g->state, on_refreshed, g);
}

/* ---- one at a time, of all processes ---- */

/* Reads the stored token again under the lock: another process may have refreshed it. */
static void lock_work(struct job *j)
{
    struct token_get *g = CONTAINER_OF(j, struct token_get, job);
    str path = arena_printf(&g->arena, "%s/.%.*s.refresh.lock", g->want.credentials_dir,
                            STR_ARG(g->want.slug));
    int fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        err_errno(&g->err, -errno, "cannot open", path.p);
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            err_errno(&g->err, -errno, "cannot lock", path.p);
        close(fd);
        return;
    }
    g->lock = fd;
    (void)token_load(g, &g->state);
}

static void wait_for_lock(struct token_get *g)
{
    assert(g->lock < 0 && !g->refresh);
    uint64_t now = clock_mono_ms();
    if (g->locked_by == 0)
        g->locked_by = now + TOKEN_WAIT_MS;
    if (now < g->locked_by) {
        timer_start(&g->again, LOCK_LOOK_MS);
        return;
    }
    err_set(&g->err, -EREMOTEIO, "another nb has been refreshing the token for %d seconds",
            TOKEN_WAIT_MS / 1000);
    token_finish(g);
}

static void locked(struct job *j)
{
    struct token_get *g = CONTAINER_OF(j, struct token_get, job);
    if (g->err.code || g->is_cancelled)
        token_finish(g);
    else if (g->lock < 0)
        wait_for_lock(g);
    else if (is_token_over(g))
        token_refresh(g);
    else
        token_finish(g);
}

static void loaded(struct job *j)
{
    struct token_get *g = CONTAINER_OF(j, struct token_get, job);
    if (g->err.code == 0 && is_token_over(g) && g->state.refresh_token.n == 0)
        err_set(&g->err, -EACCES, "the sign-in has ended");
    if (g->err.code || g->is_cancelled || !is_token_over(g))
        token_finish(g);
    else
        pool_run(g->want.pool, &g->job, lock_work, locked);
}

/* ---- life ---- */

static void token_begin(void *get)
{
    struct token_get *g = get;
    assert(!g->refresh && g->lock < 0 && first_of(g->want.queue, g->want.slug) == g);
    if (g->is_cancelled)
        token_finish(g);
    else
        pool_run(g->want.pool, &g->job, load_work, loaded);
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
    g->want.refused = arena_str(&g->arena, w->refused);
    timer_init(&g->limit, w->loop, on_token_limit, g);
    timer_init(&g->again, w->loop, token_begin, g);
    g->lock = -1;
    g->fn = fn;
    g->ctx = ctx;
    list_push(w->queue, &g->node);
    if (first_of(w->queue, g->want.slug) == g)
        token_begin(g);
    return g;
}

void token_cancel(struct token_get *g)
{
    assert(!g->is_cancelled);
    g->is_cancelled = true;
    if (g->refresh)
        timer_start(&g->limit, TOKEN_LEFT_MS);
}
