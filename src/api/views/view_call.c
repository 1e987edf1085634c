/* tools/call of an interface: the same checks as for a call of the model, in the name of the person
 * who has the view open, and only for tools of the view's own source.
 *
 *   the tool exists in this source, is for interfaces, and this person may call it
 *     -> permission: denied, allowed, allowed by a stored consent, or the person is asked
 *     -> registry_call, which checks the arguments and sends the call
 *
 * The first call of each tool in a view is recorded in the audit log, and every refusal. */
#include <assert.h>

#include "api/views/view_rpc.h"
#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "bundle/bundle.h"
#include "engine/events.h"
#include "engine/permission.h"
#include "tools/tool_selection.h"

#define CALLED_MAX     64 /* tools of one view whose first call is recorded */
#define NAME_SHOWN_MAX 100

static const struct toolset_item *find_own(const struct app_view *v, str name)
{
    const struct toolset *all = registry_tools(v->watcher.space->tools);
    for (size_t i = 0; i < all->len; i++)
        if (str_eq(all->items[i].source, v->source) && str_eq(all->items[i].tool->name, name))
            return &all->items[i];
    return NULL;
}

static bool may_call(const struct view_rpc *q, const struct toolset_item *it)
{
    return it->tool->is_for_apps && tool_selection_may_call(q->actor, false, it) &&
           actor_has_scope(q->actor, it->tool->scope);
}

/* The audit log has no arguments, but shows whether two calls had the same. */
static str hash_of_arguments(struct view_rpc *q)
{
    const struct json *args = json_get(q->params, "arguments");
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(args ? json_to_str(&q->arena, args) : STR("{}"), hex);
    return arena_printf(&q->arena, "arguments sha256 %s", hex);
}

static void refuse_call(struct view_rpc *q, int code, str tool, const char *why)
{
    str shown = utf8_truncate(tool, NAME_SHOWN_MAX);
    str detail = arena_printf(&q->arena, "%s, %.*s", why, STR_ARG(hash_of_arguments(q)));
    view_audit_refusal(q, shown, detail);
    view_rpc_fail(q, code, "%.*s: %s", STR_ARG(shown), why);
}

/* ---- the call ---- */

static void on_call_recorded(void *log, const struct err *err, const store_pos *pos, size_t n)
{
    if (err)
        log_warn(log, "views", "cannot record the call of an interface: %s", err->msg);
}

/* The log says what was changed from an interface, so that everybody in the conversation knows.
 * Calls that only read, and those of tools for interfaces alone, would fill it. */
static void record_change(struct view_rpc *q, bool ok)
{
    const struct app_view *v = q->view;
    struct event_app_call call = {
        .app = v->source,
        .tool = json_get_string(q->params, "name"),
        .call_id = v->call_id,
        .user_id = actor_user(q->actor),
        .ok = ok,
        .ms = clock_mono_ms() - q->started_ms,
    };
    if (!q->is_change || v->conversation_id.n == 0)
        return;
    str line = event_app_call(&q->arena, &call);
    store_append(v->watcher.space->store, v->conversation_id, &line, 1, on_call_recorded,
                 v->api->deps.log);
}

static void on_view_call_done(void *ctx, const struct tool_result *t)
{
    struct view_rpc *q = ctx;
    struct arena *a = &q->arena;
    struct json *result = json_new(a, JSON_OBJECT);
    q->cancel = NULL;
    record_change(q, !t->is_error);
    json_set(a, result, STR("content"), t->content ? *t->content : *json_new(a, JSON_ARRAY));
    if (t->structured)
        json_set(a, result, STR("structuredContent"), *t->structured);
    if (t->meta)
        json_set(a, result, STR("_meta"), *t->meta);
    if (t->is_error)
        json_set(a, result, STR("isError"), json_of_bool(true));
    view_rpc_result(q, result);
}

static void on_view_call_progress(void *ctx, double progress, double total, str message)
{
    view_rpc_progress(ctx, progress, total, message);
}

static void cancel_view_call(struct view_rpc *q)
{
    registry_cancel(q->work);
}

static void record_first(struct view_rpc *q, const struct toolset_item *it)
{
    struct app_view *v = q->view;
    if (map_get(&v->called, it->name) || map_len(&v->called) >= CALLED_MAX)
        return;
    map_put(&v->called, it->name, v);
    view_audit(q, it->name, hash_of_arguments(q));
}

static void start_view_call(struct view_rpc *q, const struct toolset_item *it)
{
    static const struct tool_call_events EVENTS = {on_view_call_done, on_view_call_progress};
    const struct app_view *v = q->view;
    const struct json *args = json_get(q->params, "arguments");
    struct tool_caller who = {
        .actor = q->actor,
        .conversation_id = v->conversation_id,
        .call_id = v->call_id,
        .via = STR("app"),
        .app = v->source,
        .view_id = str_from(v->id),
    };
    record_first(q, it);
    q->started_ms = clock_mono_ms(); /* without the time that the person took to decide */
    q->is_change = !it->tool->is_internal && !tool_call_reads(it->tool, args) &&
                   !json_get_bool(it->tool->annotations, "readOnlyHint", false);
    if (view_task_is_wanted(q)) {
        record_change(q, true);
        view_task_begin(q, it);
        return;
    }
    q->cancel = cancel_view_call;
    q->work = registry_call(v->watcher.space->tools, it->name, args, &who, &EVENTS, q);
}

/* ---- permission ---- */

#define DENIED_BY_RULES "the workspace's permissions deny this tool"

static bool is_every_time(const struct permission_rules *rules, const struct toolset_item *it)
{
    return it->tool->is_workspace_change || permission_is_explicit_ask(rules, it);
}

/* The tool and the rules are looked up again: minutes may have passed. */
static void on_call_decided(struct view_rpc *q, enum ask_decision d)
{
    str name = json_get_string(q->params, "name");
    const struct toolset_item *it = find_own(q->view, name);
    struct runtime *rt = q->view->watcher.space->runtime;
    const struct permission_rules *rules = runtime_permissions(rt);
    if (!it || !may_call(q, it)) {
        refuse_call(q, RPC_INVALID_PARAMS, name, "the tool is not available any more");
        return;
    }
    if (d == ASK_DENY) {
        refuse_call(q, VIEW_RPC_REFUSED, it->name, "the person did not allow this call");
        return;
    }
    if (permission_decide(rules, it) == PERMISSION_DENY) {
        refuse_call(q, VIEW_RPC_REFUSED, it->name, DENIED_BY_RULES);
        return;
    }
    if (d == ASK_ALWAYS && !is_every_time(rules, it))
        runtime_give_consent(rt, actor_user(q->actor), it);
    start_view_call(q, it);
}

static void ask_person(struct view_rpc *q, const struct toolset_item *it, bool can_remember)
{
    struct view_ask ask = {
        .kind = "tool",
        .tool = it->name,
        .title = it->tool->title,
        .input = json_get(q->params, "arguments"),
        .can_remember = can_remember,
    };
    view_rpc_ask(q, &ask, on_call_decided);
}

static void check_permission(struct view_rpc *q, const struct toolset_item *it)
{
    struct runtime *rt = q->view->watcher.space->runtime;
    const struct permission_rules *rules = runtime_permissions(rt);
    enum permission p = permission_decide(rules, it);
    bool is_explicit = permission_is_explicit_ask(rules, it);
    bool reads = tool_call_reads(it->tool, json_get(q->params, "arguments"));
    if (p == PERMISSION_DENY)
        refuse_call(q, VIEW_RPC_REFUSED, it->name, DENIED_BY_RULES);
    else if (p == PERMISSION_ALLOW || (reads && !is_explicit) ||
             runtime_has_consent(rt, actor_user(q->actor), it))
        start_view_call(q, it);
    else
        ask_person(q, it, !is_every_time(rules, it));
}

/* ---- methods ---- */

void view_tools_call(struct view_rpc *q)
{
    const struct json *args = json_get(q->params, "arguments");
    str name = json_get_string(q->params, "name");
    const struct toolset_item *it = find_own(q->view, name);
    if (name.n == 0 || (args && args->type != JSON_OBJECT))
        view_rpc_fail(q, RPC_INVALID_PARAMS,
                      "tools/call requires a name, and arguments as an object.");
    else if (!it)
        refuse_call(q, RPC_INVALID_PARAMS, name, "this app has no such tool");
    else if (!it->tool->is_for_apps)
        refuse_call(q, RPC_INVALID_PARAMS, it->name, "this tool is not for interfaces");
    else if (q->view->watch.conv && !hub_may(&q->view->watch, CONV_SEND))
        refuse_call(q, VIEW_RPC_REFUSED, it->name, "you may read this conversation, but not write");
    else if (!may_call(q, it))
        refuse_call(q, VIEW_RPC_REFUSED, it->name, "you may not call this tool");
    else if (view_rpc_is_too_fast(q, RATE_TOOLS))
        view_rpc_fail(q, VIEW_RPC_REFUSED, "Too many calls of tools. Try again in a minute.");
    else
        check_permission(q, it);
}

void view_tools_list(struct view_rpc *q)
{
    const struct app_view *v = q->view;
    const struct toolset *all = registry_tools(v->watcher.space->tools);
    struct bundle *b = view_bundle(v);
    struct json *result = json_new(&q->arena, JSON_OBJECT);
    struct json *list = json_new(&q->arena, JSON_ARRAY);
    for (size_t i = 0; b && i < all->len; i++) {
        const struct toolset_item *it = &all->items[i];
        bool is_own = str_eq(it->source, v->source) && may_call(q, it);
        const struct json *raw = is_own ? bundle_find_tool(b, it->tool->name) : NULL;
        if (raw)
            json_push(&q->arena, list, *raw);
    }
    json_set(&q->arena, result, STR("tools"), *list);
    view_rpc_result(q, result);
}
