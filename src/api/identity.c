#include "api/identity.h"

#include <assert.h>

#include "api/api_impl.h"
#include "tools/tool_selection.h"

const struct api_identity *api_identity(const struct http_req *r)
{
    return r->caller;
}

struct api_space *api_space(const struct http_req *r)
{
    assert(r->caller); /* admit_head has run */
    return api_identity(r)->space;
}

struct actor *api_actor(const struct http_req *r)
{
    return api_identity(r)->actor;
}

str api_user(const struct http_req *r)
{
    assert(api_actor(r)); /* an open route asks api_actor first */
    return actor_user(api_actor(r));
}

bool api_is_admin(const struct http_req *r)
{
    return actor_is_admin(api_actor(r));
}

bool api_is_org_admin(const struct actor *me)
{
    bool is_bound = actor_bound_workspace(me).n > 0;
    return actor_is_operator(me) || (actor_org_role(me) >= ORG_ADMIN && !is_bound);
}

bool api_token_sees(const struct http_req *r, str bundle)
{
    const struct actor *who = api_actor(r);
    const struct toolset *all = registry_tools(api_space(r)->tools);
    char any[TOOL_NAME_MAX * 2];
    int n =
        snprintf(any, sizeof any, "%.*s__resources", STR_ARG(str_slice(bundle, 0, TOOL_NAME_MAX)));
    if (tool_selection_allows_name(who, str_make(any, (size_t)n)))
        return true;
    for (size_t i = 0; i < all->len; i++)
        if (str_eq(all->items[i].source, bundle) &&
            tool_selection_allows_name(who, all->items[i].name))
            return true;
    return false;
}

const struct roster *api_roster(const struct api *api)
{
    return directory_roster(api->deps.directory);
}

str api_display_name(const struct api *api, str user_id)
{
    const struct user *u = roster_user(directory_roster(api->deps.directory), user_id);
    return u ? u->display_name : STR_NONE;
}

struct api_space *api_hold(struct api *api, struct api_space *s)
{
    api->deps.hold_space(api->deps.space_ctx, s);
    return s;
}

void api_release(struct api *api, struct api_space *s)
{
    assert(s->users > 0);
    api->deps.release_space(api->deps.space_ctx, s);
}
