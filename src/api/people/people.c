#include "api/people/people.h"

#include <assert.h>

#include "api/api_impl.h"
#include "api/gate.h"

/* The operator acts for the first owner, but does not use up the owner's changes: counted apart,
 * and without a limit. */
static str change_key(const struct actor *me)
{
    return actor_is_operator(me) ? STR_NONE : actor_user(me);
}

static bool begin_change(struct api *api, const struct actor *me)
{
    size_t max = actor_is_operator(me)             ? SIZE_MAX
                 : actor_org_role(me) >= ORG_ADMIN ? API_CHANGES_ADMIN
                                                   : API_CHANGES_MEMBER;
    return counts_begin(&api->changing, change_key(me), max);
}

static void on_people_changed(void *ctx, const struct err *err, str id)
{
    struct api_change *c = ctx;
    counts_end(&c->api->changing, change_key(api_actor(c->req)));
    if (err->code < 0)
        api_fail(c->req, FROM_CHANGE, err);
    else
        c->then(c, id);
}

/* Changes that remove access are applied first: the caller of this change may have lost the
 * right. */
bool api_change_may(void *change)
{
    const struct api_change *c = change;
    return gate_still_open(c->api, c->req);
}

void api_change(struct api *api, struct http_req *r, const struct change *what,
                void (*then)(struct api_change *c, str id), void *data)
{
    struct api_change *c = ARENA_NEW(&r->arena, struct api_change);
    assert(then);
    *c = (struct api_change){api, r, then, data};
    if (!begin_change(api, api_actor(r))) {
        http_add_header(r, "Retry-After", STR("1"));
        http_reply_error(r, 429, "rate_limited",
                         "Your earlier changes are still being saved. Wait for their responses.",
                         NULL);
        return;
    }
    directory_change_if(api->deps.directory, what, api_change_may, on_people_changed, c);
}

static void on_auth_wait_gone(struct http_req *r)
{
    struct api_auth_wait *w = r->user;
    auth_cancel(w->op);
}

struct api_auth_wait *api_auth_wait(struct api *api, struct http_req *r)
{
    struct api_auth_wait *w = ARENA_NEW(&r->arena, struct api_auth_wait);
    assert(!r->user && !r->on_gone);
    w->api = api;
    w->req = r;
    r->user = w;
    r->on_gone = on_auth_wait_gone;
    return w;
}

void api_reply_deleted(struct api_change *c, str id)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "id", id);
    jw_kbool(&j.w, "deleted", true);
    api_json_send(&j, c->req);
}

void api_write_user(struct json_writer *w, const struct user *u, bool is_private)
{
    jw_object(w);
    jw_kstr(w, "id", u->id);
    jw_kstr_or_null(w, "email", u->email);
    jw_kstr_or_null(w, "displayName", u->display_name);
    jw_kstr(w, "orgRole", org_role_name(u->role));
    jw_key(w, "createdAt");
    api_write_time(w, u->created_ms);
    if (is_private) {
        jw_kbool(w, "hasPassword", u->password.n > 0);
        jw_kval(w, "preferences", u->preferences);
    }
    jw_end(w);
}
