/* /v1/tools, /v1/tools/call - the tools of a workspace, called by a person or by a page. */
#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "base/schema/schema.h"
#include "bus/vocabulary.h"
#include "engine/permission.h"
#include "tools/tool_selection.h"

/* ---- listing ---- */

static void write_tool(struct json_writer *w, const struct toolset_item *it)
{
    jw_object(w);
    jw_kstr(w, "name", it->name);
    jw_kstr(w, "server", it->source);
    jw_kstr(w, "tool", it->tool->name);
    jw_kstr_or_null(w, "title", it->tool->title);
    jw_kstr(w, "description", it->tool->description);
    jw_kval(w, "inputSchema", it->tool->input_schema);
    if (it->tool->annotations)
        jw_kval(w, "annotations", it->tool->annotations);
    jw_end(w);
}

/* Tools for interfaces alone are called by views, which have a route of their own. */
static bool is_offered(struct http_req *r, const struct toolset_item *it)
{
    return !it->tool->is_internal && (!it->tool->is_admin_only || api_is_admin(r));
}

void api_tools_list(void *ctx, struct http_req *r)
{
    const struct toolset *all = registry_tools(api_space(r)->tools);
    str server = api_query(r, "server");
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "tools");
    for (size_t i = 0; i < all->len; i++) {
        const struct toolset_item *it = &all->items[i];
        if (!is_offered(r, it) || !tool_selection_allows_name(api_actor(r), it->name) ||
            (server.n > 0 && !str_eq(server, it->source)))
            continue;
        write_tool(&j.w, it);
    }
    jw_end(&j.w);
    api_json_send(&j, r);
}

/* ---- one call ---- */

struct call_in {
    str server, tool;
    const struct json *arguments;
    struct dir_grant directory;
};

const struct json_field API_CALL_FIELDS[] = {
    {"server", JF_STR, offsetof(struct call_in, server), JF_REQUIRED, NULL, 0,
     "The source of the tool: an app, or `nb`."},
    {"tool", JF_STR, offsetof(struct call_in, tool), JF_REQUIRED, NULL, 0, "The tool's own name."},
    {"arguments", JF_JSON_OBJECT, offsetof(struct call_in, arguments), JF_NULLABLE, NULL, 0,
     "The arguments; they must match the tool's schema."},
    {"workingDirectory", JF_OBJECT, offsetof(struct call_in, directory), 0, API_DIRECTORY_FIELDS, 0,
     "A directory of a terminal on the server's machine; only through nb.sock."},
    {0}};

struct call_wait { /* in the request's arena */
    struct api *api;
    struct http_req *req;
    struct call_in in;
    struct registry_wait *wait; /* while a bundle is starting; then: */
    struct tool_call *call;
    struct api_space *space;
    str name, server;
    char id[RANDOM_ID_MAX];
    uint64_t started_ms;
};

/* Accepts its own name, or the public name that models use. */
static const struct toolset_item *find_tool(struct http_req *r, const struct call_in *in)
{
    const struct toolset *all = registry_tools(api_space(r)->tools);
    for (size_t i = 0; i < all->len; i++) {
        const struct toolset_item *it = &all->items[i];
        bool is_named = str_eq(it->tool->name, in->tool) || str_eq(it->name, in->tool);
        if (is_named && str_eq(it->source, in->server) && is_offered(r, it))
            return it;
    }
    return NULL;
}

static void announce(const struct call_wait *w, enum event_type type, const bool *ok)
{
    struct buf data;
    struct json_writer j;
    jw_start(&j, &data, 16u * 1024);
    jw_object(&j);
    jw_kstr(&j, "id", str_from(w->id));
    jw_kstr(&j, "name", w->name);
    jw_kstr(&j, "server", w->server);
    jw_kstr(&j, "tool", w->name);
    jw_kstr(&j, "userId", api_user(w->req));
    if (ok) {
        jw_kbool(&j, "ok", *ok);
        jw_kint(&j, "ms", (int64_t)(clock_mono_ms() - w->started_ms));
    }
    jw_kint(&j, "timestamp", clock_now_ms());
    jw_end(&j);
    store_publish(w->space->store, STR_NONE, event_name(type), buf_str(&data));
    buf_done(&data);
}

/* `result` is the text in the form that older clients expect: parsed when it is JSON. */
static void write_plain_result(struct json_writer *w, struct arena *a, const struct tool_result *t)
{
    struct json *parsed;
    str text = tool_result_to_text(a, t);
    jw_key(w, "result");
    if (t->structured)
        jw_value(w, t->structured);
    else if (json_parse(a, text, 0, &parsed, NULL) == 0)
        jw_value(w, parsed);
    else
        jw_str(w, text);
}

static void on_tools_done(void *ctx, const struct tool_result *result)
{
    struct call_wait *w = ctx;
    bool ok = !result->is_error;
    assert(!w->wait && w->name.n > 0);
    struct api_json j;
    announce(w, EV_BRIDGE_DONE, &ok);
    api_json_begin(&j);
    jw_key(&j.w, "content");
    if (result->content) {
        jw_value(&j.w, result->content);
    } else {
        jw_array(&j.w);
        jw_end(&j.w);
    }
    if (result->structured)
        jw_kval(&j.w, "structuredContent", result->structured);
    if (result->meta)
        jw_kval(&j.w, "_meta", result->meta);
    jw_kbool(&j.w, "isError", result->is_error);
    write_plain_result(&j.w, &w->req->arena, result);
    api_json_send(&j, w->req);
}

static void on_tools_gone(struct http_req *r)
{
    struct call_wait *w = r->user;
    if (w->wait)
        registry_await_cancel(w->wait);
    else
        registry_cancel(w->call);
}

/* A person who calls a tool has consented to it; denied tools stay denied. */
static bool is_denied(struct http_req *r, const struct toolset_item *it)
{
    const struct permission_rules *rules = runtime_permissions(api_space(r)->runtime);
    return permission_decide(rules, it) == PERMISSION_DENY;
}

static void refuse_input(struct http_req *r, const struct toolset_item *it, const struct err *e)
{
    struct arena *a = &r->arena;
    struct json *details = json_new(a, JSON_OBJECT), *errors = json_new(a, JSON_ARRAY);
    json_push(a, errors, json_of_str(str_from(e->msg)));
    json_set(a, details, STR("tool"), json_of_str(it->name));
    json_set(a, details, STR("errors"), *errors);
    http_reply_error(r, 400, "invalid_input", e->msg, details);
}

static void refuse_unknown(struct http_req *r, const struct call_in *in)
{
    bool is_coming;
    str name = arena_printf(&r->arena, "%.*s__%.*s", STR_ARG(in->server), STR_ARG(in->tool));
    str absence = STR_NONE;
    if (tool_selection_allows_name(api_actor(r), name))
        absence = registry_absence(api_space(r)->tools, &r->arena, in->server, &is_coming);
    str message = arena_printf(&r->arena, "Unknown tool '%.*s'.%s%.*s", STR_ARG(name),
                               absence.n > 0 ? " " : "", STR_ARG(absence));
    http_reply_error(r, 404, "tool_not_found", message.p, NULL);
}

static bool check_call(struct http_req *r, const struct call_in *in, const struct toolset_item *it)
{
    struct err e = {0};
    if (!it) {
        refuse_unknown(r, in);
        return false;
    }
    if (!tool_selection_allows_name(api_actor(r), it->name))
        return api_forbidden(r, "This token does not allow that tool.");
    if (!actor_has_scope(api_actor(r), it->tool->scope))
        return api_forbidden(r, "This token's scopes do not cover that tool.");
    if (is_denied(r, it))
        return api_forbidden(r, "The workspace's permissions deny this tool.");
    if (schema_validate(it->tool->input_schema, in->arguments, "arguments", &e) < 0) {
        refuse_input(r, it, &e);
        return false;
    }
    return true;
}

static void tools_call(void *ctx)
{
    static const struct tool_call_events EVENTS = {.done = on_tools_done};
    struct call_wait *w = ctx;
    struct http_req *r = w->req;
    const struct toolset_item *it = find_tool(r, &w->in);
    assert(!w->call);
    w->wait = NULL;
    r->on_gone = NULL;
    if (!check_call(r, &w->in, it))
        return;
    w->name = arena_str(&r->arena, it->name);
    w->server = arena_str(&r->arena, it->source);
    w->started_ms = clock_mono_ms();
    random_id("api", w->id);
    struct actor *actor = actor_with_grant(api_actor(r), &w->in.directory);
    struct tool_caller who = {
        .actor = actor,
        .call_id = str_from(w->id),
        .via = actor_is_operator(api_actor(r)) ? STR("cli") : STR("api"),
    };
    r->on_gone = on_tools_gone;
    announce(w, EV_BRIDGE_CALL, NULL);
    w->call = registry_call(w->space->tools, w->name, w->in.arguments, &who, &EVENTS, w);
    actor_unref(actor);
}

void api_tools_call(void *ctx, struct http_req *r)
{
    struct call_wait *w = ARENA_NEW(&r->arena, struct call_wait);
    bool is_coming;
    if (!api_decode_body(r, API_CALL_FIELDS, &w->in) || !api_may_lend(r, &w->in.directory))
        return;
    if (!w->in.arguments)
        w->in.arguments = json_new(&r->arena, JSON_OBJECT);
    w->api = ctx;
    w->req = r;
    w->space = api_space(r);
    r->user = w;
    (void)registry_absence(w->space->tools, &r->arena, w->in.server, &is_coming);
    if (!is_coming) {
        tools_call(w);
        return;
    }
    r->on_gone = on_tools_gone;
    w->wait = registry_await(w->space->tools, w->in.server, REGISTRY_TIMEOUT_MS, tools_call, w);
}
