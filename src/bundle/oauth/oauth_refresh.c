
#include "auth/oidc/provider.h"
#include "base/buf.h"
#include "bundle/oauth/oauth_token.h"
#include "net/url.h"

struct oauth_refresh {
    struct arena arena;
    struct oauth_state state;
    struct fetch_whole *call;
    oauth_done_fn fn;
    void *ctx;
};

static void refresh_free(struct oauth_refresh *r)
{
    arena_done(&r->arena);
    free(r);
}

static void on_answer(void *ctx, const struct err *err, int status, str body)
{
    struct oauth_refresh *r = ctx;
    struct err e = *err;
    int rc = e.code ? e.code : oauth_token_take(&r->arena, status, body, &r->state, &e);
    r->fn(r->ctx, rc == 0 ? &r->state : NULL, &e);
    refresh_free(r);
}

struct oauth_refresh *oauth_refresh_start(struct loop *l, struct fetcher *f, unsigned fetch_flags,
                                          const struct oauth_state *s, oauth_done_fn fn, void *ctx)
{
    struct oauth_refresh *r = xcalloc(1, sizeof(*r));
    struct buf form;
    arena_init(&r->arena);
    r->state = oauth_state_copy(&r->arena, s);
    r->fn = fn;
    r->ctx = ctx;
    buf_init(&form, OAUTH_FORM_MAX);
    url_add_param(&form, "grant_type", STR("refresh_token"));
    url_add_param(&form, "refresh_token", s->refresh_token);
    r->call = oauth_token_ask(l, f, fetch_flags, &r->state, &form, on_answer, r);
    buf_done(&form);
    return r;
}

void oauth_refresh_cancel(struct oauth_refresh *r)
{
    if (!r)
        return;
    fetch_whole_cancel(r->call);
    refresh_free(r);
}
