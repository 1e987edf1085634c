#include "api/api.h"

#include <assert.h>
#include <errno.h>

#include "api/guard.h"
#include "api/internal.h"
#include "http/static.h"

/* ---- the table ---- */

static const struct route ROUTES[] = {
    {"GET", "/v1/health", api_health_get, API_OPEN, 0},
    {"POST", "/v1/chat", api_chat_post, 0, 0},
    {"POST", "/v1/chat/start", api_chat_start, 0, 0},
    {"POST", "/v1/chat/stream", api_chat_stream, 0, 0},
    {"GET", "/v1/conversations", api_conversations_list, 0, 0},
    {"GET", "/v1/conversations/stats", api_conversations_stats, 0, 0},
    {"GET", "/v1/conversations/:id", api_conversations_get, 0, 0},
    {"PATCH", "/v1/conversations/:id", api_conversations_rename, 0, 0},
    {"DELETE", "/v1/conversations/:id", api_conversations_delete, 0, 0},
    {"POST", "/v1/conversations/:id/restore", api_conversations_restore, 0, 0},
    {"POST", "/v1/conversations/:id/fork", api_conversations_fork, 0, 0},
    {"GET", "/v1/conversations/:id/export", api_conversations_export, 0, 0},
    {"GET", "/v1/conversations/:id/notes", api_notes_list, 0, 0},
    {"POST", "/v1/conversations/:id/notes", api_notes_add, 0, 0},
    {"POST", "/v1/conversations/:id/share", api_sharing_set, 0, 0},
    {"POST", "/v1/conversations/:id/unshare", api_sharing_end, 0, 0},
    {"POST", "/v1/conversations/:id/participants", api_participants_add, 0, 0},
    {"DELETE", "/v1/conversations/:id/participants/:user", api_participants_remove, 0, 0},
    {"GET", "/v1/conversations/:id/history", api_conversations_history, 0, 0},
    {"GET", "/v1/conversations/:id/events", api_conversations_events, 0, 0},
    {"POST", "/v1/conversations/:id/cancel", api_conversations_cancel, 0, 0},
    {"GET", "/v1/models", api_models_list, 0, 0},
    {"POST", "/v1/prompt", api_prompt_preview, 0, 0},
    {"GET", "/v1/search", api_search_get, 0, 0},
    {"POST", "/v1/import", api_import_start, 0, 0},
    {"GET", "/v1/import", api_import_get, 0, 0},
    {"GET", "/v1/skills", api_skills_list, 0, 0},
    {"POST", "/v1/skills/match", api_skills_match, 0, 0},
    {"GET", "/v1/usage", api_usage_get, 0, 0},
    {"GET", "/v1/workspace", api_workspace_get, 0, 0},
};

/* The page loads nothing from elsewhere and runs no inline script. */
static const char *const NOT_PAGES[] = {"/v1/", "/mcp", NULL};
static const struct static_site SITE = {
    .find = assets_find,
    .page_csp = STR_INIT("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
                         "data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; "
                         "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"),
    .apart = NOT_PAGES,
};

static bool is_api_path(str path)
{
    return str_starts(path, STR("/v1/")) || str_eq(path, STR("/v1")) ||
           str_starts(path, STR("/mcp"));
}

/* ---- every request ---- */

/* Without users there is one person: the owner of the machine's account. */
static void identify(struct http_req *r)
{
    struct api_identity *id = ARENA_NEW(&r->arena, struct api_identity);
    id->viewer.user_id = STR("usr_default");
    id->viewer.is_workspace_admin = true;
    id->is_operator = r->is_local_socket;
    r->user = id;
}

const struct api_identity *api_identity(const struct http_req *r)
{
    return r->user;
}

static bool refuse(struct http_req *r, const struct guard_refusal *g)
{
    if (g->status == 401)
        http_add_header(r, "WWW-Authenticate", STR("Bearer"));
    http_reply_error(r, g->status, g->code, g->message, NULL);
    return false;
}

static void reply_no_route(struct http_req *r, enum route_result found, const struct buf *allow)
{
    if (found == ROUTE_WRONG_METHOD) {
        http_add_header(r, "Allow", buf_str(allow));
        http_reply_error(r, 405, "method_not_allowed", "This address does not take that method.",
                         NULL);
    } else {
        http_reply_error(r, 404, "not_found", "There is nothing at this address.", NULL);
    }
}

static bool on_head(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct guard_refusal g;
    struct buf allow;
    buf_init(&allow, 256);
    enum route_result found = route_find(ROUTES, ARRAY_LEN(ROUTES), r, &allow);
    const struct route *route = found == ROUTE_FOUND ? r->route : NULL;
    bool is_page = found == ROUTE_NOT_FOUND && !is_api_path(r->path);
    bool is_open = is_page || (route && (route->flags & API_OPEN));
    bool go_on = false;

    const struct config *c = api->deps.config;
    if (guard_check(r, c->http.host, c->secrets.nb_api_key, is_open, &g) < 0) {
        refuse(r, &g);
    } else if (!route && !is_page) {
        reply_no_route(r, found, &allow);
    } else {
        identify(r);
        if (route && route->body_max > 0)
            r->body_max = route->body_max;
        go_on = true;
    }
    buf_done(&allow);
    return go_on;
}

static void on_request(void *ctx, struct http_req *r)
{
    const struct route *route = r->route;
    if (route)
        route->handle(ctx, r);
    else if (!static_serve(r, &SITE))
        http_reply_error(r, 404, "not_found", "There is nothing at this address.", NULL);
}

struct api *api_new(const struct api_deps *deps)
{
    struct api *a = xcalloc(1, sizeof *a);
    a->deps = *deps;
    return a;
}

void api_stop(struct api *a)
{
    api_import_free(a->import);
    a->import = NULL;
}

void api_free(struct api *a)
{
    free(a);
}

struct http_handlers api_handlers(struct api *a)
{
    return (struct http_handlers){.on_head = on_head, .on_request = on_request, .ctx = a};
}

/* ---- helpers of the handlers ---- */

bool api_decode_body(struct http_req *r, const struct json_field *fields, void *ret_struct)
{
    struct json *body;
    struct err e = {0};
    if (json_parse(&r->arena, r->body, JSON_UNIQUE, &body, &e) < 0) {
        err_prefix(&e, "The body is not valid JSON");
        http_reply_error(r, 400, "bad_request", e.msg, NULL);
        return false;
    }
    if (body->type != JSON_OBJECT) {
        http_reply_error(r, 400, "bad_request", "The body must be a JSON object.", NULL);
        return false;
    }
    if (json_decode(&r->arena, body, fields, ret_struct, "", NULL, NULL, &e) < 0) {
        http_reply_error(r, 400, "bad_request", e.msg, NULL);
        return false;
    }
    return true;
}

void api_not_found(struct http_req *r, const char *what)
{
    http_reply_error(r, 404, "not_found", arena_printf(&r->arena, "There is no such %s.", what).p,
                     NULL);
}

void api_store_error(struct http_req *r, const struct err *err)
{
    switch (err->code) {
    case -ENOENT:
        api_not_found(r, "conversation");
        break;
    case -EINVAL:
        http_reply_error(r, 400, "bad_request", err->msg, NULL);
        break;
    case -EEXIST:
        http_reply_error(r, 409, "already_exists", err->msg, NULL);
        break;
    case -EBUSY:
        http_reply_error(r, 409, "conversation_busy", err->msg, NULL);
        break;
    case -ENOSPC:
        http_reply_error(r, 507, "storage_full", err->msg, NULL);
        break;
    default:
        http_reply_error(r, 500, "storage_error", err->msg, NULL);
    }
}

bool api_query_int(struct http_req *r, const char *name, int64_t otherwise, int64_t max,
                   int64_t *ret)
{
    str text = http_query(r, name);
    uint64_t v;
    if (text.n == 0) {
        *ret = otherwise;
        return true;
    }
    if (parse_u64(text, &v) < 0 || v < 1 || v > (uint64_t)max) {
        str msg = arena_printf(&r->arena, "%s: expected a whole number from 1 to %lld", name,
                               (long long)max);
        http_reply_error(r, 400, "bad_request", msg.p, NULL);
        return false;
    }
    *ret = (int64_t)v;
    return true;
}

static void on_wait_gone(struct http_req *r)
{
    struct api_wait *w = r->user;
    store_op_cancel(w->op);
}

struct api_wait *api_wait_new(struct api *api, struct http_req *r)
{
    struct api_wait *w = ARENA_NEW(&r->arena, struct api_wait);
    w->api = api;
    w->req = r;
    w->viewer = api_identity(r)->viewer;
    w->is_operator = api_identity(r)->is_operator;
    r->user = w;
    r->on_gone = on_wait_gone;
    return w;
}

bool api_may(const struct api_wait *w, const struct conv *c, enum conv_right right)
{
    return w->is_operator || access_allows(&w->viewer, &c->acl, right);
}

const struct viewer *api_viewer(const struct api_wait *w)
{
    return w->is_operator ? NULL : &w->viewer;
}

static void on_found(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *w = ctx;
    w->op = NULL;
    if (err)
        api_store_error(w->req, err);
    else if (!api_may(w, c, w->right))
        api_not_found(w->req, "conversation");
    else
        w->then(w, c);
}

struct api_wait *api_find_conv(struct api *api, struct http_req *r, enum conv_right right,
                               void *data, void (*then)(struct api_wait *w, const struct conv *c))
{
    struct api_wait *w = api_wait_new(api, r);
    w->id = r->params[0];
    w->right = right;
    w->data = data;
    w->then = then;
    w->op = store_get(api->deps.store, w->id, on_found, w);
    return w;
}

void api_reply_buf(struct http_req *r, struct buf *b)
{
    if (buf_failed(b))
        http_reply_error(r, 500, "too_large", "The answer is too large; ask for less.", NULL);
    else
        http_reply(r, 200, "application/json", buf_str(b));
    buf_done(b);
}
