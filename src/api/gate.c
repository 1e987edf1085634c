#include "api/gate.h"

#include "api/people/people.h"
#include "api/routes.h"

static bool refuse(struct http_req *r, const char *reason)
{
    http_reply_error(r, 403, "forbidden", reason, NULL);
    return false;
}

static bool hide(struct http_req *r, const char *what)
{
    api_not_found(r, what);
    return false;
}

bool gate_identity(struct http_req *r, const struct actor *who)
{
    const struct route *route = r->route;
    const struct access_rule *rule = api_rule(route);
    if (actor_is_operator(who))
        return true;
    const char *reason = rule_refuses_token(rule, who);
    if (reason && !actor_has_scope(who, (enum auth_scope)rule->scope))
        http_add_header(r, "WWW-Authenticate", STR("Bearer error=\"insufficient_scope\""));
    if (reason)
        return refuse(r, reason);
    if (rule->is_local)
        return hide(r, "address");
    if (rule->server > ORG_MEMBER && !rule->is_own && actor_org_role(who) < rule->server)
        return refuse(r, rule->server == ORG_OWNER ? "That is for owners of the server."
                                                   : "That is for administrators of the server.");
    return true;
}

/* The workspace of the path. Admins of the server manage all; to those who are not in it and
 * to tokens of another one it does not exist. */
static bool gate_workspace(const struct api *api, struct http_req *r, const struct actor *who,
                           const struct access_rule *rule)
{
    const struct workspace *w = roster_workspace(api_roster(api), r->params[0]);
    str bound = actor_bound_workspace(who);
    enum ws_role role = w ? workspace_role(w, actor_user(who)) : WS_NONE;
    if (w && api_is_org_admin(who))
        role = WS_ADMIN;
    if (role == WS_NONE || (bound.n > 0 && !str_eq(bound, r->params[0])))
        return hide(r, "workspace");
    bool is_self = rule->is_own && str_eq(r->params[1], actor_user(who));
    if (role < rule->space && !is_self)
        return refuse(r, "That is for admins of the workspace.");
    return true;
}

/* The person of the path: oneself, or anybody for admins; owners are left to owners. */
static bool gate_user(const struct api *api, struct http_req *r, const struct actor *who,
                      const struct access_rule *rule)
{
    bool is_self = str_eq(r->params[0], STR("me")) || str_eq(r->params[0], actor_user(who));
    const struct user *u = roster_user(api_roster(api), r->params[0]);
    if (is_self && (rule->is_own || api_is_org_admin(who)))
        return true;
    if (!api_is_org_admin(who))
        return hide(r, "user");
    bool is_reading = rule->scope == SCOPE_READ;
    if (u && u->role == ORG_OWNER && !actor_is_owner(who) && !is_reading)
        return refuse(r, "Owners of the server are changed by owners only.");
    return true;
}

bool gate_target(const struct api *api, struct http_req *r, const struct api_identity *id)
{
    const struct route *route = r->route;
    const struct access_rule *rule = api_rule(route);
    const struct actor *who = id->actor;
    if (rule->scope == 0 || actor_is_operator(who))
        return true;
    if (route->flags & API_WS)
        return gate_workspace(api, r, who, rule);
    if (route->flags & API_USER)
        return gate_user(api, r, who, rule);
    if (id->space && rule->space == WS_ADMIN && !actor_is_admin(who))
        return refuse(r, "That is for admins of the workspace.");
    return true;
}
