#include "api/gate.h"

#include "api/people.h"
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

bool gate_identity(struct http_req *r, const struct api_identity *id)
{
    const struct route *route = r->route;
    const struct access_rule *rule = api_rule(route);
    if (id->is_operator)
        return true;
    const char *reason = rule_refuses_token(rule, &id->who);
    if (reason && !identity_has(&id->who, rule->scope))
        http_add_header(r, "WWW-Authenticate", STR("Bearer error=\"insufficient_scope\""));
    if (reason)
        return refuse(r, reason);
    if (rule->is_local)
        return hide(r, "address");
    if (rule->server > ORG_MEMBER && !rule->is_own && id->who.role < rule->server)
        return refuse(r, rule->server == ORG_OWNER ? "That is for owners of the server."
                                                   : "That is for administrators of the server.");
    return true;
}

/* The workspace of the path. Admins of the server manage all; to those who are not in it and
 * to tokens of another one it does not exist. */
static bool gate_workspace(const struct api *api, struct http_req *r, const struct api_identity *id,
                           const struct access_rule *rule)
{
    const struct workspace *w = roster_workspace(api_roster(api), r->params[0]);
    bool is_bound = id->who.workspace_id.n > 0;
    enum ws_role role = w ? workspace_role(w, id->who.user_id) : WS_NONE;
    if (w && api_is_org_admin(id))
        role = WS_ADMIN;
    if (role == WS_NONE || (is_bound && !str_eq(id->who.workspace_id, r->params[0])))
        return hide(r, "workspace");
    bool is_self = rule->is_own && str_eq(r->params[1], id->who.user_id);
    if (role < rule->space && !is_self)
        return refuse(r, "That is for admins of the workspace.");
    return true;
}

/* The person of the path: oneself, or anybody for admins; owners are left to owners. */
static bool gate_user(const struct api *api, struct http_req *r, const struct api_identity *id,
                      const struct access_rule *rule)
{
    bool is_self = str_eq(r->params[0], STR("me")) || str_eq(r->params[0], id->who.user_id);
    const struct user *u = roster_user(api_roster(api), r->params[0]);
    if (is_self && (rule->is_own || api_is_org_admin(id)))
        return true;
    if (!api_is_org_admin(id))
        return hide(r, "user");
    bool is_reading = rule->scope == SCOPE_READ;
    if (u && u->role == ORG_OWNER && id->who.role != ORG_OWNER && !is_reading)
        return refuse(r, "Owners of the server are changed by owners only.");
    return true;
}

bool gate_target(const struct api *api, struct http_req *r, const struct api_identity *id)
{
    const struct route *route = r->route;
    const struct access_rule *rule = api_rule(route);
    if (id->is_operator || rule->scope == 0)
        return true;
    if (route->flags & API_WS)
        return gate_workspace(api, r, id, rule);
    if (route->flags & API_USER)
        return gate_user(api, r, id, rule);
    if (id->space && rule->space == WS_ADMIN && !id->viewer.is_workspace_admin)
        return refuse(r, "That is for admins of the workspace.");
    return true;
}
