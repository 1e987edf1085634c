/* admit.c - the states of a request before its handler runs.
 *
 *   head arrives: admit_head
 *     guard (Host, Origin) -> CORS -> gate_query -> admit_identify: socket, cookie or bearer token
 *        refused ------------------------------------------------> replied, over
 *        unknown JWT, or other servers may have revoked it: id->is_pending
 *        known: counted per person, gate_identity (scope, roles), rate limit
 *   body complete: admit_request
 *     is_pending --auth_check_later--> on_admit_checked: the same checks as above
 *     go_on
 *        route needs no workspace -------------------------------------> admit_dispatch
 *        person without a workspace --provision--> on_provisioned -> go_on again
 *        resolve: workspace of token, header, query or the only one --> admit_enter -> dispatch
 *                 several: look_on searches the conversation in each --> admit_enter -> dispatch
 *   admit_dispatch: check_again (rights may have changed since the head), then the handler
 *
 * At most one of three things is in progress: a->check, a->look, or a->provision. on_admit_gone
 * cancels it when the client disconnects. admit_dispatch ends this machine: r->user and r->on_gone
 * belong to the handler from then on. Each path either replies or dispatches, once. */
#include "api/admit.h"

#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/apps/mcp.h"
#include "api/exchange.h"
#include "api/gate.h"
#include "api/ingress/cors.h"
#include "api/ingress/guard.h"
#include "api/ingress/proxy.h"
#include "api/people/provision.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/json/json_scan.h"

#define WORKSPACES_NAMED_MAX 100 /* in an error message */

/* A request on its way to its handler; in the arena of the request. */
struct admission {
    struct api *api;
    struct http_req *req;
    struct api_identity *id;
    struct auth_op *check;
    struct store_op *look;
    struct provision_wait provision; /* used while the person's own workspace is being created */
    str conv_id;
    size_t tried; /* workspaces in which the conversation was searched */
};

bool admit_is_current(const struct api *api, const struct actor *who)
{
    int64_t now_ms = clock_now_ms();
    str session_id = who->people[0].session_id;
    return actor_is_current(who, now_ms) &&
           (session_id.n == 0 || auth_session_until(api->deps.auth, session_id) > now_ms);
}

/* ---- refusing ---- */

static bool admit_refuse(struct http_req *r, int status, const char *code, const char *message)
{
    http_reply_error(r, status, code, message, NULL);
    return false;
}

static bool refuse_guess(struct http_req *r)
{
    http_add_header(r, "Retry-After", STR("60"));
    return admit_refuse(
        r, 429, "rate_limited",
        "Too many wrong keys or tokens from this address. Retry after 60 seconds; a "
        "valid key or token is accepted at any time.");
}

/* X-Api-Key is where clients of one kind of model service put their key. */
static bool has_given_key(const struct http_req *r)
{
    return http_has_header(r, "authorization") || http_has_header(r, "x-api-key");
}

/* Count every wrong bearer credential, also on routes that need none: their responses would reveal
 * a correct one. */
static bool is_guessing(struct api *api, struct http_req *r)
{
    return has_given_key(r) &&
           !auth_wrong_bearer(api->deps.auth, proxy_client(&api->deps.config->http, r));
}

static bool refuse_unknown(const struct api *api, struct http_req *r)
{
    static const char *const HINTS[] = {
        [AUTH_DEV] = "This request needs the key of this installation. The command nb link prints "
                     "a link for the browser; nb link --key prints the key for programs, which "
                     "send it as Authorization: Bearer <key>.",
        [AUTH_KEY] = "Send the API key: Authorization: Bearer <NB_API_KEY>.",
        [AUTH_LOCAL] = "Log in, or send an API token: Authorization: Bearer <token>.",
        [AUTH_OIDC] = "Log in, or send a token: Authorization: Bearer <token>.",
    };
    bool has_tried = has_given_key(r);
    const struct route *route = r->route;
    str where = route && (route->flags & API_MCP) ? api_mcp_metadata_url(api, r) : STR_NONE;
    if (where.n > 0)
        http_add_header(r, "WWW-Authenticate",
                        arena_printf(&r->arena, "Bearer %sresource_metadata=\"%.*s\"",
                                     has_tried ? "error=\"invalid_token\", " : "", STR_ARG(where)));
    else
        http_add_header(r, "WWW-Authenticate",
                        has_tried ? STR("Bearer error=\"invalid_token\"") : STR("Bearer"));
    return admit_refuse(r, 401, "unauthorized", HINTS[auth_mode(api->deps.auth)]);
}

/* ---- the head ---- */

str api_operator(const struct api *api)
{
    return roster_operator(directory_roster(api->deps.directory));
}

static struct guard_rules rules(const struct api *api)
{
    const struct config_http *h = &api->deps.config->http;
    return (struct guard_rules){h->host, h->allowed_hosts, h->allowed_origins};
}

static struct auth_credentials credentials(const struct api *api, struct http_req *r)
{
    str given = http_get_header(r, "authorization"), key = http_get_header(r, "x-api-key");
    if (given.n == 0 && key.n > 0)
        return (struct auth_credentials){.bearer = key};
    if (given.n == 0)
        return (struct auth_credentials){
            .cookie =
                http_cookie(r, auth_cookie_name(api->deps.auth, &r->arena, AUTH_COOKIE_SESSION))};
    bool is_bearer = str_starts_nocase(given, STR("Bearer "));
    return (struct auth_credentials){.bearer = is_bearer ? str_trim(str_skip(given, 7)) : STR("-")};
}

static bool is_write(const struct http_req *r)
{
    return !str_eq(r->method, STR("GET")) && !str_eq(r->method, STR("HEAD"));
}

static bool check_rate(struct api *api, struct http_req *r, const struct actor *who)
{
    const struct config_rates *max = &api->deps.config->http.rates;
    const struct {
        unsigned flag;
        enum rate_kind kind;
        int64_t limit;
    } KINDS[] = {{API_CHAT, RATE_CHAT, max->chat},
                 {API_CALLS, RATE_TOOLS, max->tools},
                 {API_MCP, RATE_MCP, max->mcp}};
    const struct route *route = r->route;
    if (actor_is_operator(who) || auth_mode(api->deps.auth) == AUTH_DEV)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        int wait_s = 0;
        if (route->flags & KINDS[i].flag)
            wait_s = rates_take(&api->rates, actor_user(who), KINDS[i].kind, KINDS[i].limit,
                                clock_now_ms());
        if (wait_s == 0)
            continue;
        http_add_header(r, "Retry-After", arena_printf(&r->arena, "%d", wait_s));
        str message = arena_printf(&r->arena, "Too many requests. Retry after %d seconds.", wait_s);
        return admit_refuse(r, 429, "rate_limited", message.p);
    }
    return true;
}

/* Connections, streams and unread responses are counted per person. */
static bool count_for_person(struct http_req *r, const struct actor *who)
{
    if (http_count_for(r, actor_user(who)))
        return true;
    http_add_header(r, "Retry-After", STR("1"));
    return admit_refuse(
        r, 429, "too_many_connections",
        "Too many of your requests are in progress. Wait for one of them to finish.");
}

/* The only description of the caller; everything that the request causes inherits it
 * (workspace/actor.h). */
static struct actor *make_actor(const struct api *api, const struct identity *who)
{
    struct principal p = {
        .user_id = who->user_id,
        .how = who->how,
        .scopes = who->scopes,
        .token_id = who->token_id,
        .session_id = who->session_id,
        .bound_workspace_id = who->workspace_id,
        .expires_ms = who->expires_ms,
    };
    struct json_strs tools = who->tools.len > 0 ? who->tools : (struct json_strs){0};
    return actor_new(api->deps.directory, STR_NONE, &p, tools);
}

/* The caller is authenticated: check what they may do, and that a page of this server asks (CSRF).
 */
static bool check_known(struct api *api, struct http_req *r, const struct actor *who)
{
    struct guard_rules g = rules(api);
    assert(r->route && who);
    if (who->people[0].how == AUTH_BY_SESSION && is_write(r) && !guard_same_site(r, &g))
        return admit_refuse(r, 403, "origin_not_allowed",
                            "Requests with a cookie must come from a page of this server.");
    return count_for_person(r, who) && gate_identity(r, who) && check_rate(api, r, who);
}

static bool admit_identify(struct api *api, struct http_req *r, struct api_identity *id)
{
    const struct route *route = r->route;
    bool is_open = route->flags & API_OPEN;
    if (r->is_local_socket) {
        id->actor = actor_new_operator(api->deps.directory, STR_NONE, api_operator(api));
        return check_known(api, r, id->actor);
    }
    struct auth_credentials c = credentials(api, r);
    struct identity who;
    int code = auth_check(api->deps.auth, &r->arena, &c, &who);
    if (code == 0) {
        id->actor = make_actor(api, &who);
        return is_open || check_known(api, r, id->actor);
    }
    /* Most open routes do not wait for the check: their caller is simply unknown. */
    id->is_pending = code == -EAGAIN && (!is_open || (route->flags & API_ASKS));
    if (code == -EACCES && is_guessing(api, r))
        return refuse_guess(r);
    return is_open || id->is_pending || refuse_unknown(api, r);
}

bool admit_head(struct api *api, struct http_req *r, bool is_page)
{
    struct guard_rules g = rules(api);
    struct guard_refusal no;
    if (guard_check(r, &g, &no) < 0)
        return admit_refuse(r, no.status, no.code, no.message);
    if (cors_answers(r, &g))
        return false;
    struct api_identity *id = ARENA_NEW(&r->arena, struct api_identity);
    r->caller = id;
    if (!is_page && r->route && !gate_query(r))
        return false;
    if (is_page || r->route)
        return is_page || admit_identify(api, r, id);
    return true;
}

/* ---- the workspace ---- */

static void go_on(struct admission *a);

/* Minutes may pass between the head of a request, which was checked on arrival, and the end of its
 * body. */
static bool is_still_valid(const struct admission *a)
{
    struct http_req *r = a->req;
    if (!admit_is_current(a->api, a->id->actor))
        return false;
    if (actor_is_operator(a->id->actor) || r->body.n == 0)
        return true;
    struct auth_credentials c = credentials(a->api, r);
    struct identity now;
    return auth_check(a->api->deps.auth, &r->arena, &c, &now) != -EACCES;
}

/* Repeats every decision of the head, with the current roles. */
static bool check_again(const struct admission *a)
{
    const struct route *route = a->req->route;
    if (route->flags & API_OPEN)
        return true;
    if (!is_still_valid(a))
        return refuse_unknown(a->api, a->req);
    return gate_identity(a->req, a->id->actor) && gate_target(a->api, a->req, a->id);
}

static void admit_dispatch(struct admission *a)
{
    struct http_req *r = a->req;
    struct api_identity *id = a->id;
    const struct route *route = r->route;
    assert(!id->is_dispatched && !a->check && !a->look);
    r->user = NULL;
    r->on_gone = NULL;
    id->is_dispatched = true;
    if (id->actor) {
        id->dispatched.generation = actor_generation(id->actor);
        id->dispatched.role = actor_role(id->actor);
        id->dispatched.server = actor_org_role(id->actor);
    }
    if (check_again(a))
        route->handle(a->api, r);
}

static void refuse_workspace(struct admission *a, int status, const char *message)
{
    http_reply_error(a->req, status, "workspace_error", message, NULL);
}

/* A database that cannot be reached is a matter of seconds. */
static void refuse_unopened(struct admission *a, const struct err *e)
{
    if (e->code == -EHOSTUNREACH)
        api_fail(a->req, FROM_STORE, e);
    else
        refuse_workspace(a, 500, "The workspace could not be opened.");
}

static const struct workspace *nth_workspace(const struct admission *a, size_t n)
{
    const struct roster *all = directory_roster(a->api->deps.directory);
    const struct actor *who = a->id->actor;
    for (size_t i = 0; i < all->nworkspaces; i++) {
        const struct workspace *w = &all->workspaces[i];
        bool is_mine = actor_is_operator(who) || workspace_role(w, actor_user(who)) != WS_NONE;
        if (is_mine && n-- == 0)
            return w;
    }
    return NULL;
}

/* The reply does not reveal whether the workspace exists. */
static void admit_enter(struct admission *a, str workspace_id)
{
    struct api *api = a->api;
    struct api_identity *id = a->id;
    struct err e = {0};
    assert(!id->space && !id->is_dispatched && workspace_id.n > 0);
    bool is_there = roster_workspace(directory_roster(api->deps.directory), workspace_id) != NULL;
    id->actor = actor_enter(id->actor, workspace_id);
    workspace_id = id->actor->workspace_id; /* workspace_id may have pointed into the old actor */
    if (!is_there || actor_role(id->actor) == WS_NONE) {
        if (nth_workspace(a, 0))
            refuse_workspace(a, 403, "No such workspace, or you are not a member of it.");
        else
            provision_refuse(a->req, id->actor);
        return;
    }
    struct api_space *s = api->deps.open_space(api->deps.space_ctx, workspace_id, &e);
    if (!s) {
        log_error(api->deps.log, "api", "workspace %.*s: %s", STR_ARG(workspace_id), e.msg);
        refuse_unopened(a, &e);
        return;
    }
    id->space = api_hold(api, s);
    admit_dispatch(a);
}

/* ---- finding the workspace of a conversation ---- */

static void on_admit_looked(void *ctx, const struct err *err, const struct conv *c);

static void look_on(struct admission *a)
{
    struct err e = {0};
    const struct workspace *w = nth_workspace(a, a->tried);
    assert(!a->look && !a->check && a->conv_id.n > 0);
    if (!w) {
        api_not_found(a->req, "conversation");
        return;
    }
    struct api_space *s = a->api->deps.open_space(a->api->deps.space_ctx, w->id, &e);
    if (s)
        a->look = store_get(s->store, a->conv_id, on_admit_looked, a);
    else
        refuse_unopened(a, &e);
}

static void on_admit_looked(void *ctx, const struct err *err, const struct conv *c)
{
    struct admission *a = ctx;
    assert(a->look);
    a->look = NULL;
    /* The roster may have changed meanwhile; then w differs and the next one is tried. */
    const struct workspace *w = nth_workspace(a, a->tried++);
    if (!err && w && str_eq(w->id, c->workspace_id.n > 0 ? c->workspace_id : w->id))
        admit_enter(a, arena_str(&a->req->arena, w->id));
    else
        look_on(a);
}

static str conversation_of(struct http_req *r)
{
    const struct route *route = r->route;
    if (route->flags & API_CONV)
        return r->params[0];
    if (route->flags & API_BODY_CONV)
        return store_id_meant(json_scan_plain(json_scan_field(r->body, STR("conversationId"))));
    return STR_NONE;
}

/* ---- people without a workspace ---- */

static void on_provisioned(struct provision_wait *w, const struct err *err)
{
    struct admission *a = CONTAINER_OF(w, struct admission, provision);
    if (err->code < 0)
        api_fail(a->req, FROM_CHANGE, err);
    else
        go_on(a);
}

static void provision(struct admission *a)
{
    assert(list_empty(&a->provision.node) && !a->look && !a->check);
    a->provision.done = on_provisioned;
    provision_start(a->api, a->req, &a->provision);
}

/* ---- choosing the workspace ---- */

static void refuse_choice(struct admission *a)
{
    struct arena *mem = &a->req->arena;
    struct json *details = json_new(mem, JSON_OBJECT), *list = json_new(mem, JSON_ARRAY);
    const struct workspace *w;
    str names = STR_NONE;
    for (size_t i = 0; i < WORKSPACES_NAMED_MAX && (w = nth_workspace(a, i)) != NULL; i++) {
        struct json *one = json_new(mem, JSON_OBJECT);
        json_set(mem, one, STR("id"), json_of_str(arena_str(mem, w->id)));
        json_set(mem, one, STR("name"), json_of_str(arena_str(mem, w->name)));
        json_push(mem, list, *one);
        names =
            arena_printf(mem, "%.*s%s%.*s", STR_ARG(names), i > 0 ? ", " : "", STR_ARG(w->name));
    }
    json_set(mem, details, STR("workspaces"), *list);
    const char *how = actor_is_operator(a->id->actor)
                          ? "--workspace NAME"
                          : "the header X-Workspace-Id, or with ?workspace=ID";
    str message = arena_printf(mem, "There are several workspaces (%.*s): choose one with %s.",
                               STR_ARG(names), how);
    http_reply_error(a->req, 400, "workspace_error", message.p, details);
}

static str lower_case(struct arena *mem, str s)
{
    char *p = arena_cstr(mem, s);
    for (size_t i = 0; i < s.n; i++)
        if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] + ('a' - 'A'));
    return str_make(p, s.n);
}

/* EventSource in a browser cannot send headers, so the query may name the workspace too. */
static str named_workspace(struct http_req *r)
{
    str given = http_get_header(r, "x-workspace-id");
    if (given.n == 0)
        given = http_query(r, "workspace");
    return lower_case(&r->arena, given);
}

static void resolve(struct admission *a)
{
    struct http_req *r = a->req;
    str named = named_workspace(r), bound = actor_bound_workspace(a->id->actor);
    if (named.n > 0 && !workspace_id_ok(named)) {
        refuse_workspace(a, 400, "X-Workspace-Id: not a valid workspace id.");
        return;
    }
    if (bound.n > 0 && named.n > 0 && !str_eq(named, bound)) {
        refuse_workspace(a, 403, "No such workspace, or you are not a member of it.");
        return;
    }
    if (bound.n > 0) /* a token for one workspace works only there */
        named = bound;
    if (named.n == 0 && actor_is_operator(a->id->actor)) /* a command inside this process */
        named = a->api->deps.home_id;
    const struct workspace *first = nth_workspace(a, 0);
    bool has_more = first && nth_workspace(a, 1);
    if (named.n > 0) {
        admit_enter(a, named);
    } else if (!first && provision_is_allowed(a->api, a->id->actor)) {
        provision(a);
    } else if (!first) {
        provision_refuse(r, a->id->actor);
    } else if (!has_more) {
        admit_enter(a, arena_str(&r->arena, first->id));
    } else {
        a->conv_id = arena_str(&r->arena, conversation_of(r));
        if (a->conv_id.n > 0)
            look_on(a);
        else
            refuse_choice(a);
    }
}

/* ---- the request ---- */

static void on_admit_gone(struct http_req *r)
{
    struct admission *a = r->user;
    auth_cancel(a->check);
    store_op_cancel(a->look);
    list_del(&a->provision.node);
}

static void go_on(struct admission *a)
{
    const struct route *route = a->req->route;
    /* API_HOME works without a workspace, but a person who may have one gets it first. */
    bool is_homeless = (route->flags & API_HOME) && !nth_workspace(a, 0);
    if (is_homeless && provision_is_allowed(a->api, a->id->actor))
        provision(a);
    else if (route->flags & (API_NO_SPACE | API_HOME))
        admit_dispatch(a);
    else
        resolve(a);
}

static void on_admit_checked(void *ctx, const struct err *err, const struct identity *who)
{
    struct admission *a = ctx;
    assert(a->check && a->id->is_pending);
    a->check = NULL;
    if (err->code == -EACCES && is_guessing(a->api, a->req)) {
        refuse_guess(a->req);
        return;
    }
    const struct route *route = a->req->route;
    bool is_open = route->flags & API_OPEN;
    if (err->code < 0 && is_open) {
        a->id->check = *err;
        go_on(a);
        return;
    }
    if (err->code == -EACCES && !err->msg[0]) {
        refuse_unknown(a->api, a->req);
        return;
    }
    if (err->code < 0) {
        api_fail(a->req, FROM_AUTH, err);
        return;
    }
    assert(!a->id->actor);
    a->id->actor = make_actor(a->api, who);
    if (is_open ||
        check_known(a->api, a->req, a->id->actor)) /* admit_head could not check this yet */
        go_on(a);
}

void admit_request(struct api *api, struct http_req *r)
{
    struct admission *a = ARENA_NEW(&r->arena, struct admission);
    const struct route *route = r->route;
    if (route->flags & API_CONV) /* accept the name of a conversation's folder in place of its id */
        r->params[0] = store_id_meant(r->params[0]);
    assert(r->caller); /* admit_head has run */
    a->api = api;
    a->req = r;
    a->id = r->caller;
    list_init(&a->provision.node);
    r->user = a;
    r->on_gone = on_admit_gone;
    if (!a->id->is_pending) {
        go_on(a);
        return;
    }
    struct auth_credentials c = credentials(api, r);
    a->check = auth_check_later(api->deps.auth, &c, on_admit_checked, a);
}

void admit_released(struct api *api, struct http_req *r)
{
    struct api_identity *id = r->caller;
    if (!id)
        return;
    assert(!id->space || id->is_dispatched);
    id->actor = actor_unref(id->actor);
    if (id->space)
        api_release(api, id->space);
}
