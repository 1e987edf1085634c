#include "api/trail.h"

#include <assert.h>

#include "api/api_impl.h"
#include "api/identity.h"
#include "api/ingress/proxy.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/json/json.h"

#define MEMBERS_MAX 5
#define DETAIL_MAX  480
#define BODY_MAX    (1024u * 1024) /* larger bodies are recorded without their members */
#define MINUTE_MS   60000
#define NO_STATUS   0 /* the client disconnected before the response */

/* target: which parameter of the path; -1 = the first member of the body. */
struct trail_row {
    const char *method, *pattern, *action;
    int target;
    const char *members[MEMBERS_MAX]; /* members of the body, for `detail` */
    bool is_refused_only;             /* recorded only when it is denied */
};

static const struct trail_row ROWS[] = {
    {"POST", "/v1/auth/login", "login", -1, {"email"}, false},
    {"POST", "/v1/auth/logout", "logout", 0, {0}, false},
    {"POST", "/v1/auth/link/rotate", "settings.link_rotate", 9, {0}, false},
    {"POST", "/v1/users", "user.add", -1, {"email", "orgRole", "role"}, false},
    {"PATCH", "/v1/users/:user", "user.change", 0, {"email", "orgRole", "role"}, false},
    {"DELETE", "/v1/users/:user", "user.remove", 0, {0}, false},
    {"POST", "/v1/users/:user/password", "user.password", 0, {0}, false},
    {"POST", "/v1/users/:user/sign-out", "user.sign_out", 0, {0}, false},
    {"POST", "/v1/tokens", "token.add", -1, {"name", "scopes", "tools", "workspaceId"}, false},
    {"DELETE", "/v1/tokens/:token", "token.revoke", 0, {0}, false},
    {"POST", "/v1/workspaces", "workspace.add", -1, {"name"}, false},
    {"PATCH", "/v1/workspaces/:ws", "workspace.change", 0, {"name"}, false},
    {"DELETE", "/v1/workspaces/:ws", "workspace.remove", 0, {0}, false},
    {"POST", "/v1/workspaces/:ws/members", "member.add", 0, {"userId", "email", "role"}, false},
    {"PATCH", "/v1/workspaces/:ws/members/:user", "member.change", 1, {"role"}, false},
    {"DELETE", "/v1/workspaces/:ws/members/:user", "member.remove", 1, {0}, false},
    {"POST", "/v1/apps/install", "bundle.install", -1, {"name", "path", "url", "version"}, false},
    {"DELETE", "/v1/apps/:name", "bundle.remove", 0, {0}, false},
    {"POST", "/v1/apps/:name/start", "bundle.start", 0, {0}, false},
    {"POST", "/v1/apps/:name/stop", "bundle.stop", 0, {0}, false},
    {"POST", "/v1/apps/:name/restart", "bundle.restart", 0, {0}, false},
    {"POST", "/v1/apps/:name/approve", "bundle.approve", 0, {"tools", "version"}, false},
    {"POST", "/v1/apps/:name/auth", "bundle.sign_in", 0, {0}, false},
    {"DELETE", "/v1/apps/:name/auth", "bundle.sign_out", 0, {0}, false},
    {"POST", "/v1/apps/:name/account", "account.sign_in", 0, {0}, false},
    {"DELETE", "/v1/apps/:name/account", "account.sign_out", 0, {0}, false},
    {"GET", "/v1/apps/:name/logs", "bundle.logs", 0, {0}, false},
    {"DELETE", "/v1/conversations/:id", "conversation.delete", 0, {0}, false},
    {"POST", "/v1/conversations/:id/restore", "conversation.restore", 0, {0}, false},
    {"GET", "/v1/conversations/:id/export", "conversation.export", 0, {0}, false},
    {"POST", "/v1/conversations/:id/share", "conversation.share", 0, {"participants"}, false},
    {"POST", "/v1/conversations/:id/unshare", "conversation.unshare", 0, {0}, false},
    {"POST", "/v1/conversations/:id/links", "link.add", 0, {"expiresInDays", "tools"}, false},
    {"DELETE", "/v1/conversations/:id/links/:link", "link.revoke", 0, {0}, false},
    {"DELETE", "/v1/links/:link", "link.revoke", 0, {0}, false},
    {"POST", "/v1/conversations/:id/leave", "participant.leave", 0, {0}, false},
    {"POST", "/v1/conversations/:id/participants", "participant.add", 0, {"userId"}, false},
    {"DELETE", "/v1/conversations/:id/participants/:user", "participant.remove", 1, {0}, false},
    {"PUT", "/v1/skills/workspace/:name", "skill.write", 0, {0}, false},
    {"DELETE", "/v1/skills/workspace/:name", "skill.delete", 0, {0}, false},
    {"PUT", "/v1/skills/personal/:name", "skill.write", 0, {0}, false},
    {"DELETE", "/v1/skills/personal/:name", "skill.delete", 0, {0}, false},
    {"PUT", "/v1/instructions/workspace", "instructions.write", 9, {0}, false},
    {"PUT", "/v1/instructions/personal", "instructions.write", 9, {0}, false},
    {"PUT", "/v1/prompts/workspace/:name", "prompt.write", 0, {0}, false},
    {"DELETE", "/v1/prompts/workspace/:name", "prompt.delete", 0, {0}, false},
    {"PUT", "/v1/prompts/personal/:name", "prompt.write", 0, {0}, false},
    {"DELETE", "/v1/prompts/personal/:name", "prompt.delete", 0, {0}, false},
    {"POST", "/v1/projects", "project.add", -1, {"name", "members"}, false},
    {"PATCH", "/v1/projects/:project", "project.change", 0, {"name", "members"}, false},
    {"DELETE", "/v1/projects/:project", "project.remove", 0, {0}, false},
    {"POST", "/v1/projects/:project/files", "project.file_add", 0, {"file"}, false},
    {"DELETE", "/v1/projects/:project/files/:file", "project.file_remove", 1, {0}, false},
    {"PUT", "/v1/conversations/:id/project", "conversation.move", 0, {"projectId"}, false},
    {"PUT", "/v1/budgets", "budget.set", 9, {"workspaceUsd", "personUsd", "people"}, false},
    {"PUT", "/v1/models/default", "settings.model", -1, {"model"}, false},
    {"PUT", "/v1/permissions", "permissions.set", 9, {"default", "allow", "ask", "deny"}, false},
    {"DELETE", "/v1/permissions/consents/:tool", "consent.withdraw", 0, {0}, false},
    {"DELETE", "/v1/permissions/workspace-consents/:tool", "consent.withdraw", 0, {0}, false},
    {"POST", "/v1/providers", "settings.provider", -1, {"name", "baseURL", "model"}, false},
    {"PUT", "/v1/providers/:name/key", "settings.provider_key", 0, {0}, false},
    {"DELETE", "/v1/providers/:name/key", "settings.provider_key_remove", 0, {0}, false},
    {"POST", "/v1/files", "file.add", 9, {0}, false},
    {"POST", "/v1/files/uploads", "file.add", -1, {"name", "bytes"}, false},
    {"DELETE", "/v1/files/:file", "file.remove", 0, {0}, false},
    {"POST", "/v1/import", "conversation.import", 9, {0}, false},
    {"POST", "/v1/conversations/import", "conversation.import", -1, {"file", "kind"}, false},
    {"GET", "/v1/audit", "audit.read", 9, {0}, true},
    {"POST", "/v1/views", "view.open", -1, {"callId", "conversationId", "app"}, true},
};

static const struct trail_row *row_for(const struct route *route)
{
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
        if (strcmp(ROWS[i].method, route->method) == 0 &&
            strcmp(ROWS[i].pattern, route->pattern) == 0)
            return &ROWS[i];
    return NULL;
}

/* Looked up once, because every request needs its row. */
void trail_init(struct trail *t)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    t->rows = xcalloc(n, sizeof(t->rows[0]));
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        t->rows[i] = row_for(&routes[i]);
        used += t->rows[i] != NULL;
    }
    assert(used == ARRAY_LEN(ROWS)); /* a row without its route would silently record nothing */
}

void trail_done(struct trail *t)
{
    free(t->rows);
}

static const struct trail_row *row_of(const struct api *api, const struct http_req *r)
{
    size_t n;
    const struct route *route = r->route;
    const struct route *all = api_routes(&n);
    assert(!route || (route >= all && route < all + n));
    return route ? api->trail.rows[route - all] : NULL;
}

/* ---- caller and outcome ---- */

static str how_of(const struct http_req *r, const struct actor *who)
{
    static const char *const HOW[] = {[AUTH_BY_MODE] = "local",
                                      [AUTH_BY_KEY] = "key",
                                      [AUTH_BY_TOKEN] = "token",
                                      [AUTH_BY_SESSION] = "session",
                                      [AUTH_BY_JWT] = "jwt"};
    if (!who)
        return STR_NONE;
    if (actor_is_operator(who))
        return r->peer_addr[0] || r->conn ? STR("socket") : STR("terminal");
    return str_from(HOW[who->people[0].how]);
}

static str outcome_of(int status)
{
    if (status == NO_STATUS)
        return STR("unanswered");
    if (status < 400)
        return STR("ok");
    if (status == 429)
        return STR("rate_limited");
    return status == 401 || status == 403 || status == 404 ? STR("denied") : STR("failed");
}

static str via_of(const struct actor *who)
{
    return who && actor_is_operator(who) ? STR("cli") : STR("api");
}

static struct audit_entry entry_of(struct api *api, const struct http_req *r, int status)
{
    const struct api_identity *id = r->caller;
    const struct actor *who = id ? id->actor : NULL;
    struct audit_entry e = {
        .how = how_of(r, who), .via = via_of(who), .outcome = outcome_of(status)};
    e.address =
        r->peer_addr[0] ? proxy_client(&api->deps.config->http, (struct http_req *)r) : STR_NONE;
    if (who) {
        e.user = actor_user(who);
        e.token = actor_token(who);
    }
    if (id && e.user.n == 0)
        e.user = id->audit_user;
    if (id && id->space)
        e.workspace = id->space->id;
    return e;
}

void trail_user(struct http_req *r, str user_id)
{
    struct api_identity *id = r->caller;
    if (id)
        id->audit_user = arena_str(&r->arena, user_id);
}

void trail_note(struct http_req *r, const char *fmt, ...)
{
    struct api_identity *id = r->caller;
    va_list ap;
    if (!id)
        return;
    va_start(ap, fmt);
    id->audit_note = arena_vprintf(&r->arena, fmt, ap);
    va_end(ap);
}

static void add_trail_note(struct arena *a, const struct http_req *r, struct audit_entry *e)
{
    const struct api_identity *id = r->caller;
    if (id && id->audit_note.n > 0)
        e->detail = arena_printf(a, "%.*s%s%.*s", STR_ARG(e->detail), e->detail.n > 0 ? " " : "",
                                 STR_ARG(id->audit_note));
}

const struct doer *trail_doer(struct api *api, struct http_req *r)
{
    struct api_identity *id = r->caller;
    struct doer *by = ARENA_NEW(&r->arena, struct doer);
    struct audit_entry e = entry_of(api, r, 200);
    assert(!id->is_recorded); /* one operation records itself, once */
    id->is_recorded = true;
    *by = (struct doer){.actor = id->actor, .via = e.via, .how = e.how, .address = e.address};
    return by;
}

struct audit_entry trail_entry(struct api *api, const struct http_req *r)
{
    return entry_of(api, r, 200);
}

/* ---- target and detail ---- */

/* An address may contain a password or a key: the parts before '@' and after '?' are left out. */
static str safe_value(const char *name, str value)
{
    ptrdiff_t query = strcmp(name, "url") == 0 ? str_find_char(value, '?') : -1;
    if (query >= 0)
        value = str_slice(value, 0, (size_t)query);
    ptrdiff_t at = strcmp(name, "url") == 0 ? str_rfind_char(value, '@') : -1;
    return at >= 0 ? str_skip(value, (size_t)at + 1) : value;
}

static void add_trail_member(struct buf *b, const char *name, const struct json *v)
{
    if (!v || v->type == JSON_NULL)
        return;
    if (b->n > 0)
        buf_add_char(b, ' ');
    buf_printf(b, "%s=", name);
    if (v->type == JSON_STRING)
        buf_add_str(b, safe_value(name, v->s));
    else
        (void)json_write(b, v);
}

static void add_body(struct arena *a, const struct trail_row *row, const struct http_req *r,
                     struct audit_entry *e)
{
    struct json *body;
    struct buf b;
    if (!row->members[0] || r->body.n == 0 || r->body.n > BODY_MAX ||
        json_parse(a, r->body, JSON_COPY, &body, NULL) < 0 || body->type != JSON_OBJECT)
        return;
    buf_init(&b, BODY_MAX);
    for (size_t i = 0; i < MEMBERS_MAX && row->members[i]; i++) {
        const struct json *v = json_get(body, row->members[i]);
        if (row->target < 0 && e->target.n == 0 && json_is(v, JSON_STRING))
            e->target = arena_str(a, safe_value(row->members[i], v->s));
        else
            add_trail_member(&b, row->members[i], v);
    }
    e->detail = arena_str(a, str_slice(buf_str(&b), 0, DETAIL_MAX));
    buf_done(&b);
}

/* A member is added to a conversation or workspace: the path has the place, the body the member. */
static void add_target(const struct trail_row *row, const struct http_req *r, struct arena *a,
                       struct audit_entry *e)
{
    if (row->target >= 0 && row->target < HTTP_PARAMS_MAX)
        e->target = r->params[row->target];
    if (row->target == 1) /* member, and place */
        e->detail = e->detail.n > 0
                        ? arena_printf(a, "in=%.*s %.*s", STR_ARG(r->params[0]), STR_ARG(e->detail))
                        : arena_printf(a, "in=%.*s", STR_ARG(r->params[0]));
    if (str_starts(r->query, STR("purge=true")) || str_find(r->query, STR("&purge=true"), 0) >= 0)
        e->detail = STR("purge");
}

/* ---- answers to permission questions: POST /v1/chat... {answer} ---- */

static bool is_chat(const struct http_req *r)
{
    const struct route *route = r->route;
    return route && strcmp(route->method, "POST") == 0 &&
           strncmp(route->pattern, "/v1/chat", 8) == 0;
}

static bool read_answer(struct arena *a, const struct http_req *r, struct audit_entry *e)
{
    struct json *body;
    /* Most messages contain no answer and need not be parsed again. */
    if (!is_chat(r) || r->body.n > BODY_MAX || str_find(r->body, STR("\"askId\""), 0) < 0 ||
        json_parse(a, r->body, JSON_COPY, &body, NULL) < 0)
        return false;
    const struct json *answer = json_get(body, "answer");
    if (!json_is(answer, JSON_OBJECT))
        return false;
    struct buf b;
    buf_init(&b, BODY_MAX);
    add_trail_member(&b, "allow", json_get(answer, "allow"));
    add_trail_member(&b, "always", json_get(answer, "always"));
    add_trail_member(&b, "words", json_get(answer, "words"));
    add_trail_member(&b, "decisions", json_get(answer, "decisions"));
    add_trail_member(&b, "ask", json_get(answer, "askId"));
    e->action = STR("permission.answer");
    e->target = arena_str(a, json_get_string(body, "conversationId"));
    e->detail = arena_str(a, str_slice(buf_str(&b), 0, DETAIL_MAX));
    buf_done(&b);
    return true;
}

/* ---- recording ---- */

/* Limits records per minute for unknown senders. */
static bool may_record_unknown(struct api *api)
{
    int64_t window = clock_now_ms() / MINUTE_MS;
    struct trail *t = &api->trail;
    if (window != t->window) {
        char text[64];
        uint64_t left_out = t->n > TRAIL_UNKNOWN_MAX ? t->n - TRAIL_UNKNOWN_MAX : 0;
        t->window = window;
        t->n = 0;
        snprintf(text, sizeof text, "%llu more attempts", (unsigned long long)left_out);
        if (left_out > 0)
            audit_record(api->deps.audit, &(struct audit_entry){.action = STR("auth.failed"),
                                                                .outcome = STR("denied"),
                                                                .detail = str_from(text)});
    }
    return t->n++ < TRAIL_UNKNOWN_MAX;
}

static void trail_record(struct api *api, const struct http_req *r, struct audit_entry *e)
{
    struct api_identity *id = r->caller;
    if (id)
        id->is_recorded = true;
    if (e->user.n > 0 || str_eq(e->outcome, STR("ok")) || may_record_unknown(api))
        audit_record(api->deps.audit, e);
}

/* A credential that is not valid, on any route. */
static bool is_failed_credential(const struct http_req *r, int status)
{
    return status == 401 && r->route && http_has_header(r, "authorization");
}

static void trail(struct api *api, const struct http_req *r, int status)
{
    const struct trail_row *row = row_of(api, r);
    if (!row && !is_chat(r) && !is_failed_credential(r, status))
        return;
    struct audit_entry e = entry_of(api, r, status);
    struct arena a;
    arena_init(&a);
    if (row && (!row->is_refused_only || str_eq(e.outcome, STR("denied")))) {
        e.action = str_from(row->action);
        add_body(&a, row, r, &e);
        add_target(row, r, &a, &e);
        add_trail_note(&a, r, &e);
    } else if (!row && !read_answer(&a, r, &e) && is_failed_credential(r, status)) {
        e.action = STR("auth.failed");
        e.target = r->path;
    }
    if (e.action.n > 0)
        trail_record(api, r, &e);
    arena_done(&a);
}

void trail_answered(struct api *api, const struct http_req *r, int status)
{
    const struct api_identity *id = r->caller;
    if (api->deps.audit && r->method.n > 0 && !(id && id->is_recorded))
        trail(api, r, status);
}

void trail_released(struct api *api, const struct http_req *r)
{
    const struct api_identity *id = r->caller;
    if (api->deps.audit && id && id->is_dispatched && !id->is_recorded)
        trail(api, r, NO_STATUS);
}

void trail_login(struct api *api, const struct http_req *r, str user_id, const struct err *err)
{
    struct audit_entry e = entry_of(api, r, err && err->code < 0 ? 403 : 200);
    if (!api->deps.audit)
        return;
    e.user = user_id;
    e.how = STR("oidc");
    e.action = STR("login");
    trail_record(api, r, &e);
}
