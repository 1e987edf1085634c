/* /v1/tokens - API tokens: created by the person they act for, shown once, revoked at any time. */
#include <assert.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/handlers.h"
#include "api/people/people.h"
#include "api/trail.h"
#include "base/clock.h"

#define DAY_MS           (24LL * 3600 * 1000)
#define EXPIRES_DAYS_MAX 3650

static void write_token(struct json_writer *w, const struct api *api, const struct user_token *t)
{
    jw_object(w);
    jw_kstr(w, "id", t->id);
    jw_kstr(w, "name", t->name);
    api_write_strs(w, "scopes", t->scopes);
    api_write_strs(w, "tools", t->tools);
    jw_kstr_or_null(w, "workspaceId", t->workspace_id);
    jw_key(w, "createdAt");
    api_write_time(w, t->created_ms);
    jw_key(w, "expiresAt");
    api_write_time(w, t->expires_ms);
    jw_key(w, "lastUsedAt");
    api_write_time(w, auth_token_used(api->deps.auth, t->id));
    jw_end(w);
}

/* Admins may list and revoke the tokens of others; nobody creates a token in the name of
 * another. */
static const struct user *whose(const struct api *api, struct http_req *r)
{
    const struct actor *me = api_actor(r);
    str id = api_query(r, "userId");
    if (id.n == 0 || str_eq(id, actor_user(me)))
        return roster_user(api_roster(api), actor_user(me));
    return api_is_org_admin(me) ? roster_user(api_roster(api), id) : NULL;
}

void api_tokens_list(void *ctx, struct http_req *r)
{
    const struct user *u = whose(ctx, r);
    if (!u) {
        api_not_found(r, "user");
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "tokens");
    for (size_t i = 0; i < u->ntokens; i++)
        write_token(&j.w, ctx, &u->tokens[i]);
    jw_end(&j.w);
    api_json_send(&j, r);
}

/* ---- creating a token ---- */

struct token_body {
    str name, workspace_id;
    struct json_strs scopes, tools;
    const struct json *days;
};

const struct json_field API_TOKEN_FIELDS[] = {
    {"name", JF_STR, offsetof(struct token_body, name), JF_REQUIRED, NULL, 0,
     "What the token is for, in your words."},
    {"workspaceId", JF_STR, offsetof(struct token_body, workspace_id), JF_NULLABLE, NULL, 0,
     "The only workspace that it may use; absent: all of the person's."},
    {"scopes", JF_STRS, offsetof(struct token_body, scopes), JF_NULLABLE, NULL, 0,
     "What it may do; absent: everything.", "('read'|'write'|'mcp'|'admin'|'all')[]"},
    {"tools", JF_STRS, offsetof(struct token_body, tools), JF_NULLABLE, NULL, 0,
     "Patterns of the tools that it may use, such as `files__*`; absent: all."},
    {"expiresInDays", JF_JSON, offsetof(struct token_body, days), JF_NULLABLE, NULL, 0,
     "When it ends; absent: never.", "integer(1..3650)"},
    {0}};

static void on_token(void *ctx, const struct err *err, str id, str value)
{
    struct api_change *c = ctx;
    if (err->code < 0) {
        api_fail(c->req, FROM_CHANGE, err);
        return;
    }
    struct api_json j;
    assert(id.n > 0 && value.n > 0);
    api_json_begin(&j);
    jw_kstr(&j.w, "id", id);
    jw_kstr(&j.w, "token", value);
    api_json_send(&j, c->req);
}

static bool read_scopes(struct http_req *r, const struct json_strs *names, unsigned *ret)
{
    unsigned all = 0, one;
    for (size_t i = 0; i < names->len; i++) {
        if (auth_scope_parse(names->items[i], &one) < 0)
            return api_bad_request(r, "scopes: expected read, write, mcp, admin or all");
        all |= one;
    }
    *ret = all;
    return true;
}

static bool read_expiry(struct http_req *r, const struct json *days, int64_t *ret_ms)
{
    *ret_ms = 0;
    if (!days)
        return true;
    if (days->type != JSON_INT || days->i < 1 || days->i > EXPIRES_DAYS_MAX)
        return api_bad_request(r, "expiresInDays: expected a whole number from 1 to 3650");
    *ret_ms = clock_now_ms() + days->i * DAY_MS;
    return true;
}

void api_tokens_add(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    const struct actor *me = api_actor(r);
    struct token_body b = {0};
    struct auth_new_token in = {.user_id = actor_user(me)};
    if (!api_decode_body(r, API_TOKEN_FIELDS, &b) || !read_scopes(r, &b.scopes, &in.scopes) ||
        !read_expiry(r, b.days, &in.expires_ms))
        return;
    const struct workspace *ws = roster_workspace(api_roster(api), b.workspace_id);
    if (b.workspace_id.n > 0 && (!ws || workspace_role(ws, in.user_id) == WS_NONE)) {
        api_not_found(r, "workspace");
        return;
    }
    in.name = b.name;
    in.workspace_id = b.workspace_id;
    in.tools = b.tools;
    struct api_change *c = ARENA_NEW(&r->arena, struct api_change);
    /* Without on_gone the request lives until the reply: the token would be lost otherwise. The
     * session may end before its turn comes; the token would outlive it. */
    *c = (struct api_change){.api = api, .req = r};
    auth_only_if(auth_create_token(api->deps.auth, &in, on_token, c), api_change_may);
}

void api_tokens_revoke(void *ctx, struct http_req *r)
{
    const struct user *u = whose(ctx, r);
    struct change c = {.kind = CHANGE_TOKEN_REVOKE, .token.id = r->params[0]};
    if (!u) {
        api_not_found(r, "token");
        return;
    }
    c.user_id = u->id;
    for (size_t i = 0; i < u->ntokens; i++)
        if (str_eq(u->tokens[i].id, c.token.id))
            trail_note(r, "name=%.*s of=%.*s", STR_ARG(u->tokens[i].name), STR_ARG(u->email));
    api_change(ctx, r, &c, api_reply_deleted, NULL);
}
