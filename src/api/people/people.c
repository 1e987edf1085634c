#include "api/people/people.h"

#include <assert.h>

#include "api/api_impl.h"
#include "api/gate.h"
#include "base/clock.h"

/* ---- pending changes, counted per person ---- */

static bool begin_change(struct api *api, const struct actor *me)
{
    size_t max = actor_org_role(me) >= ORG_ADMIN ? API_CHANGES_ADMIN : API_CHANGES_MEMBER;
    size_t *n = map_get(&api->changing, actor_user(me));
    if (actor_is_operator(me))
        return true;
    if (!n) {
        n = xcalloc(1, sizeof *n);
        map_put(&api->changing, actor_user(me), n);
    }
    if (*n >= max)
        return false;
    ++*n;
    return true;
}

static void end_change(struct api *api, const struct actor *me)
{
    size_t *n = map_get(&api->changing, actor_user(me));
    if (actor_is_operator(me))
        return;
    assert(n && *n > 0); /* begin_change has counted it */
    if (--*n > 0)
        return;
    map_del(&api->changing, actor_user(me));
    free(n);
}

static void on_people_changed(void *ctx, const struct err *err, str id)
{
    struct api_change *c = ctx;
    end_change(c->api, api_actor(c->req));
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
