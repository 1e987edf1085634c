#include "api/gate.h"

#include <assert.h>

#include "api/admit.h"
#include "api/exchange.h"
#include "api/routes.h"
#include "base/utf8.h"

/* Why it is refused: one of the two. */
struct gate_refusal {
    const char *reason; /* 403 */
    const char *absent; /* 404: no such ... */
};

static bool gate_refuse(struct gate_refusal *no, const char *reason)
{
    no->reason = reason;
    return false;
}

static bool hide(struct gate_refusal *no, const char *what)
{
    no->absent = what;
    return false;
}

static bool gate_reply(struct http_req *r, const struct gate_refusal *no)
{
    assert(!no->absent != !no->reason);
    return no->absent ? api_not_found(r, no->absent) : api_forbidden(r, no->reason);
}

static bool check_identity(const struct access_rule *rule, const struct actor *who,
                           struct gate_refusal *no)
{
    if (actor_is_operator(who))
        return true;
    const char *reason = rule_refuses_token(rule, who);
    if (reason)
        return gate_refuse(no, reason);
    if (rule->is_local)
        return hide(no, "address");
    if (rule->server > ORG_MEMBER && !rule->is_own && actor_org_role(who) < rule->server)
        return gate_refuse(no, rule->server == ORG_OWNER
                                   ? "Only owners of the server may do this."
                                   : "Only administrators of the server may do this.");
    return true;
}

#define QUERY_NAME_SHOWN 40 /* bytes of a name in a message */

bool gate_query(struct http_req *r)
{
    str name;
    if (http_query_check(r, &name))
        return true;
    str msg = name.n == 0 ? STR("The query of the address cannot be decoded as UTF-8.")
                          : arena_printf(&r->arena, "%.*s: the value cannot be decoded as UTF-8",
                                         STR_ARG(utf8_truncate(name, QUERY_NAME_SHOWN)));
    return api_bad_request(r, msg.p);
}

bool gate_identity(struct http_req *r, const struct actor *who)
{
    const struct access_rule *rule = api_rule(r->route);
    struct gate_refusal no = {0};
    if (check_identity(rule, who, &no))
        return true;
    if (!actor_has_scope(who, (enum auth_scope)rule->scope))
        http_add_header(r, "WWW-Authenticate", STR("Bearer error=\"insufficient_scope\""));
    return gate_reply(r, &no);
}

/* The workspace of the path. Admins of the server manage all workspaces; for other people who are
 * not members, and for tokens of another workspace, it does not exist. */
static bool check_workspace(const struct api *api, const struct http_req *r,
                            const struct actor *who, struct gate_refusal *no)
{
    const struct access_rule *rule = api_rule(r->route);
    const struct workspace *w = roster_workspace(api_roster(api), r->params[0]);
    str bound = actor_bound_workspace(who);
    enum ws_role role = w ? workspace_role(w, actor_user(who)) : WS_NONE;
    if (w && api_is_org_admin(who))
        role = WS_ADMIN;
    if (role == WS_NONE || (bound.n > 0 && !str_eq(bound, r->params[0])))
        return hide(no, "workspace");
    bool is_self = rule->is_own && str_eq(r->params[1], actor_user(who));
    if (role < rule->space && !is_self)
        return gate_refuse(no, "Only admins of the workspace may do this.");
    return true;
}

/* The person of the path: the caller, or anybody for admins; only owners may change owners. */
static bool check_user(const struct api *api, const struct http_req *r, const struct actor *who,
                       struct gate_refusal *no)
{
    const struct access_rule *rule = api_rule(r->route);
    assert(rule->server == ORG_ADMIN); /* routes about a person are for admins, or is_own */
    bool is_self = str_eq(r->params[0], STR("me")) || str_eq(r->params[0], actor_user(who));
    const struct user *u = roster_user(api_roster(api), r->params[0]);
    if (is_self && (rule->is_own || api_is_org_admin(who)))
        return true;
    if (!api_is_org_admin(who))
        return hide(no, "user");
    bool is_reading = rule->scope == SCOPE_READ;
    if (u && u->role == ORG_OWNER && !actor_is_owner(who) && !is_reading)
        return gate_refuse(no, "Only owners of the server may change owners.");
    return true;
}

static bool check_target(const struct api *api, const struct http_req *r,
                         const struct api_identity *id, struct gate_refusal *no)
{
    const struct route *route = r->route;
    const struct access_rule *rule = api_rule(route);
    const struct actor *who = id->actor;
    if (rule->scope == 0 || actor_is_operator(who))
        return true;
    if (route->flags & API_WS)
        return check_workspace(api, r, who, no);
    if (route->flags & API_USER)
        return check_user(api, r, who, no);
    if (id->space && rule->space == WS_ADMIN && !actor_is_admin(who))
        return gate_refuse(no, "Only admins of the workspace may do this.");
    return true;
}

bool gate_target(const struct api *api, struct http_req *r, const struct api_identity *id)
{
    struct gate_refusal no = {0};
    return check_target(api, r, id, &no) || gate_reply(r, &no);
}

bool gate_still_open(const struct api *api, const struct http_req *r)
{
    const struct api_identity *id = api_identity(r);
    struct gate_refusal no = {0};
    assert(id->is_dispatched); /* before, gate_identity and gate_target decide */
    return check_identity(api_rule(r->route), id->actor, &no) && check_target(api, r, id, &no) &&
           actor_org_role(id->actor) >= id->dispatched.server &&
           actor_role(id->actor) >= id->dispatched.role && admit_is_current(api, id->actor);
}
