#include "apps/bundle_source.h"

#include <assert.h>
#include <limits.h>

#include "apps/bundle_files.h"
#include "apps/bundle_impl.h"
#include "apps/bundle_pictures.h"
#include "apps/ui_meta.h"
#include "base/clock.h"
#include "bus/vocabulary.h"
#include "tools/result.h"

#define NEWS_MAX 4096

const char BUNDLE_CLIENT_CAPABILITIES[] =
    "{\"sampling\":{\"tools\":{}},\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{},"
    "\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":"
    "[\"text/html;profile=mcp-app\"]}}}";

/* ---- what it offers ---- */

/* Some servers give no description; models need at least a name in words. */
static str description(struct arena *a, const struct json *tool, str server)
{
    str text = json_get_string(tool, "description"), title = json_get_string(tool, "title");
    if (text.n > 0)
        return text;
    return arena_printf(a, "%.*s (a tool of %.*s)",
                        STR_ARG(title.n > 0 ? title : json_get_string(tool, "name")),
                        STR_ARG(server));
}

/* At a terminal the built-in shell works in the person's own directory. */
static bool is_unconfined(const struct bundle_source *s)
{
    const struct bundle_entry *e = bundle_entry(s->bundle);
    return e->sandbox.is_off || (e->kind == BUNDLE_BUILT_IN && s->all->project_dir);
}

static void describe_tool(struct bundle_source *s, const struct json *given, struct tool *ret)
{
    const struct json *v = json_clone(&s->tools_arena, given);
    *ret = (struct tool){
        .name = json_get_string(v, "name"),
        .title = json_get_string(v, "title"),
        .description = description(&s->tools_arena, v, str_from(s->source.name)),
        .input_schema = json_get(v, "inputSchema"),
        .output_schema = json_get(v, "outputSchema"),
        .annotations = json_get(v, "annotations"),
        .meta = json_get(v, "_meta"),
        .is_internal = !ui_tool_is_for(json_get(v, "_meta"), UI_FOR_MODELS),
        .ui_uri = ui_tool_resource(json_get(v, "_meta")),
        .is_for_apps = ui_tool_is_for(json_get(v, "_meta"), UI_FOR_APPS),
        .is_unconfined = is_unconfined(s),
        .is_personal = bundle_is_per_person(s->bundle),
        .is_shell = bundle_entry(s->bundle)->kind == BUNDLE_BUILT_IN,
    };
}

/* A stopped or dead bundle offers no tools; one that crashed or is restarting offers its last
 * tools, and calls wait for it. */
static bool is_offering(struct bundle *b)
{
    enum bundle_state state = bundle_info(b)->state;
    return (state != BUNDLE_DEAD && state != BUNDLE_STOPPED) || bundle_is_waiting(b);
}

static void refresh_tools(struct bundle_source *s)
{
    size_t n = 0;
    const struct json *const *given = is_offering(s->bundle) ? bundle_tools(s->bundle, &n) : NULL;
    arena_done(&s->tools_arena);
    arena_init(&s->tools_arena);
    s->tools = arena_array(&s->tools_arena, n, sizeof *s->tools);
    s->ntools = n;
    for (size_t i = 0; i < n; i++)
        describe_tool(s, given[i], &s->tools[i]);
    registry_changed(runtime_deps(s->all->rt)->tools, &s->source);
}

static const struct tool *list(void *self, size_t *ret_n)
{
    const struct bundle_source *s = self;
    *ret_n = s->ntools;
    return s->tools;
}

static str absence(void *self, struct arena *a, bool *ret_is_coming)
{
    static const char *const ADVICE[] = {
        [BUNDLE_STARTING] = "try again in a moment",
        [BUNDLE_CRASHED] = "\"nb bundle logs\" shows an admin what it wrote",
        [BUNDLE_DEAD] = "\"nb bundle start\" tries again",
        [BUNDLE_STOPPED] = "\"nb bundle start\" starts it",
    };
    const struct bundle_source *s = self;
    const struct bundle_info *i = bundle_info(s->bundle);
    if (i->state == BUNDLE_RUNNING && s->ntools == 0 && bundle_is_per_person(s->bundle))
        return arena_printf(
            a,
            "The tools of \"%s\" are not known before somebody has signed in to it: "
            "on the page (Apps, %s, Sign in) or with \"nb bundle auth %s\".",
            s->source.name, s->source.name, s->source.name);
    if (i->state == BUNDLE_RUNNING || s->ntools > 0)
        return STR_NONE;
    *ret_is_coming = i->state == BUNDLE_STARTING;
    return arena_printf(a, "The bundle \"%s\" is %s%s%.*s (%s).", s->source.name,
                        bundle_state_name(i->state), i->fault.n > 0 ? ": " : "", STR_ARG(i->fault),
                        ADVICE[i->state]);
}

/* ---- calls ---- */

static struct bundle_tool_call *bundle_tool_call_of(struct tool_call *c)
{
    return CONTAINER_OF(c, struct bundle_tool_call, call);
}

static struct tool_result result_of(struct bundle_tool_call *c, const struct mcp_reply *r)
{
    const char *server = c->source->source.name;
    if (r->err)
        return tool_result_error(
            &c->call.arena, "%.*s.",
            STR_ARG(bundle_failure(c->source->bundle, &c->call.arena, r->err)));
    if (r->error)
        return tool_result_error(&c->call.arena, "%s refused the call: %.*s", server,
                                 STR_ARG(json_get_string(r->error, "message")));
    return (struct tool_result){
        .content = json_get(r->result, "content"),
        .structured = json_get(r->result, "structuredContent"),
        .meta = json_get(r->result, "_meta"),
        .is_error = json_get_bool(r->result, "isError", false),
    };
}

static const struct tool *find_tool(const struct bundle_source *s, str name)
{
    for (size_t i = 0; i < s->ntools; i++)
        if (str_eq(s->tools[i].name, name))
            return &s->tools[i];
    return NULL;
}

static bool may_change(const struct bundle_source *s, str tool)
{
    const struct tool *t = find_tool(s, tool);
    return t && !t->is_internal && !json_get_bool(t->annotations, "readOnlyHint", false);
}

/* A call of the agent may have changed data that an interface of this server shows. So may a call
 * of another view; tools for interfaces alone are not announced, because views poll with them.
 * Calls of POST /v1/tools/call are not announced either: a page that reloads would cause the next
 * one. */
static bool is_news(const struct bundle_tool_call *c)
{
    const struct tool_caller *who = &c->call.who;
    return who->host || (who->app.n > 0 && may_change(c->source, c->call.tool));
}

static void tell_changed(const struct bundle_tool_call *c)
{
    struct json_writer w;
    struct buf data;
    jw_start(&w, &data, NEWS_MAX);
    jw_object(&w);
    jw_kstr(&w, "server", str_from(c->source->source.name));
    jw_kstr(&w, "tool", c->call.tool);
    jw_kint(&w, "timestamp", clock_now_ms());
    if (c->call.who.view_id.n > 0)
        jw_kstr(&w, "viewId", c->call.who.view_id);
    jw_end(&w);
    if (!buf_failed(&data))
        runtime_tell(c->source->all->rt, EV_DATA_CHANGED, buf_str(&data));
    buf_done(&data);
}

static void bundle_answer(struct bundle_tool_call *c, const struct tool_result *res)
{
    bundle_files_end(c->files);
    c->files = NULL;
    tool_call_answer(&c->call, res);
}

static void on_pictures_prepared(void *ctx)
{
    struct bundle_tool_call *c = ctx;
    c->pictures = NULL;
    bundle_answer(c, &c->res);
}

static void on_bundle_files_kept(void *ctx)
{
    struct bundle_tool_call *c = ctx;
    assert(!c->pictures);
    c->pictures =
        bundle_pictures_start(c->source->all->rt, &c->call, &c->res, on_pictures_prepared, c);
    if (!c->pictures)
        bundle_answer(c, &c->res);
}

/* The reply goes when its callback returns. */
static struct tool_result keep_result(struct arena *a, const struct tool_result *res)
{
    struct tool_result kept = *res;
    kept.content = res->content ? json_clone(a, res->content) : NULL;
    kept.structured = res->structured ? json_clone(a, res->structured) : NULL;
    kept.meta = res->meta ? json_clone(a, res->meta) : NULL;
    return kept;
}

static void on_bundle_done(void *ctx, const struct mcp_reply *r)
{
    struct bundle_tool_call *c = ctx;
    struct tool_result res = result_of(c, r);
    assert(c->sent);
    c->sent = NULL;
    bundle_asks_drop(c);
    if (!res.is_error && is_news(c))
        tell_changed(c);
    if (c->files && !res.is_error) {
        c->res = keep_result(&c->call.arena, &res);
        bundle_files_collect(c->files, &c->res, on_bundle_files_kept, c);
    } else if (bundle_pictures_needed(&c->call, &res)) {
        c->res = keep_result(&c->call.arena, &res);
        on_bundle_files_kept(c);
    } else {
        bundle_answer(c, &res);
    }
}

static void on_bundle_progress(void *ctx, const struct json *p)
{
    const struct bundle_tool_call *c = ctx;
    tool_call_progress(&c->call, json_double(json_get(p, "progress"), 0),
                       json_double(json_get(p, "total"), 0), json_get_string(p, "message"));
}

static void on_bundle_ask(void *ctx, struct mcp_ask *a)
{
    bundle_ask(ctx, a);
}

static void on_bundle_ask_gone(void *ctx, struct mcp_ask *a)
{
    bundle_ask_gone(ctx, a);
}

static struct json *call_params(struct tool_call *c, const struct json *args,
                                const struct json *meta)
{
    struct json *params = json_new(&c->arena, JSON_OBJECT);
    json_set(&c->arena, params, STR("name"), json_of_str(c->tool));
    json_set(&c->arena, params, STR("arguments"), *args);
    if (meta)
        json_set(&c->arena, params, STR("_meta"), *meta);
    return params;
}

static void send_bundle_call(struct bundle_tool_call *c, const struct json *args,
                             const struct json *meta)
{
    static const struct mcp_call_events EVENTS = {.done = on_bundle_done,
                                                  .progress = on_bundle_progress,
                                                  .ask = on_bundle_ask,
                                                  .ask_gone = on_bundle_ask_gone};
    struct bundle_source *s = c->source;
    struct tool_call *call = &c->call;
    const struct actor *actor = call->who.actor;
    bool is_own = bundle_is_per_person(s->bundle);
    assert(!c->sent);
    if (is_own)
        c->user_id = arena_str(&call->arena, actor_sole_user(actor));
    struct mcp_request req = {
        .method = STR("tools/call"),
        .params = call_params(call, args, meta),
        .wants_progress = true,
        .is_kept = true, /* the call ends before its arena and its arguments do */
    };
    c->sent =
        is_own ? bundle_request_as(s->bundle, c->user_id, &req, &EVENTS, c)
               : bundle_request_in(s->bundle, actor_user(actor), &actor->grant, &req, &EVENTS, c);
}

static void on_bundle_files(void *ctx, const struct err *err, const struct json *args,
                            const struct json *meta)
{
    struct bundle_tool_call *c = ctx;
    if (!err) {
        send_bundle_call(c, args, meta);
        return;
    }
    struct tool_result res = tool_result_error(&c->call.arena, "%s", err->msg);
    bundle_answer(c, &res);
}

static void start_bundle_call(void *self, struct tool_call *call)
{
    struct bundle_source *s = self;
    struct bundle_tool_call *c = bundle_tool_call_of(call);
    const struct tool *t = find_tool(s, call->tool);
    list_init(&c->asks);
    c->source = s;
    if (t && file_args_needed(t, call->args))
        c->files = bundle_files_start(s, t, call, on_bundle_files, c);
    else
        send_bundle_call(c, call->args, NULL);
}

static void cancel_bundle_call(void *self, struct tool_call *call)
{
    struct bundle_tool_call *c = bundle_tool_call_of(call);
    bundle_pictures_cancel(c->pictures);
    c->pictures = NULL;
    bundle_files_end(c->files);
    c->files = NULL;
    if (!c->sent)
        return;
    bundle_cancel(c->sent, call->who.app.n > 0 ? "The interface does not wait for it any more."
                                               : "The run was cancelled.");
    bundle_asks_drop(c);
}

/* ---- coming and going ---- */

static void add_source(struct bundle_sources *all, struct bundle *b)
{
    struct err e = {0};
    assert(!map_get(&all->by_bundle, bundle_info(b)->name)); /* names are unique */
    struct bundle_source *s = xcalloc(1, sizeof *s);
    arena_init(&s->arena);
    arena_init(&s->tools_arena);
    s->all = all;
    s->bundle = b;
    s->source = (struct tool_source){
        .name = arena_cstr(&s->arena, bundle_info(b)->name),
        .list = list,
        .start = start_bundle_call,
        .cancel = cancel_bundle_call,
        .absence = absence,
        .self = s,
        .call_size = sizeof(struct bundle_tool_call),
        .timeout_ms = TOOL_NO_TIMEOUT, /* the connection limits calls, but not people */
        .max_concurrent = UINT_MAX,    /* the bundle divides its slots among people (bundle.h) */
    };
    const struct runtime_deps *d = runtime_deps(all->rt);
    if (registry_add_source(d->tools, &s->source, &e) < 0)
        log_warn(d->log, "bundle", "%s: its tools cannot be used: %s", s->source.name, e.msg);
    map_put(&all->by_bundle, str_from(s->source.name), s);
}

static void remove_source(struct bundle_sources *all, struct bundle_source *s)
{
    assert(map_get(&all->by_bundle, str_from(s->source.name)) == s);
    registry_remove_source(runtime_deps(all->rt)->tools, &s->source);
    map_del(&all->by_bundle, str_from(s->source.name));
    arena_done(&s->tools_arena);
    arena_done(&s->arena);
    free(s);
}

/* A server that was started again may be another version. */
static bool ends_pages(struct bundle *b, enum bundle_change what)
{
    return what == BUNDLE_RESOURCES || what == BUNDLE_RESOURCE_UPDATED || what == BUNDLE_REMOVED ||
           (what == BUNDLE_STATE && bundle_info(b)->state != BUNDLE_RUNNING);
}

static void on_bundle_changed(void *ctx, struct bundle *b, enum bundle_change what)
{
    struct bundle_sources *all = ctx;
    if (ends_pages(b, what))
        ui_pages_forget(&all->pages, bundle_info(b)->name);
    struct bundle_source *s = map_get(&all->by_bundle, bundle_info(b)->name);
    if (s && s->bundle != b)
        s = NULL; /* another bundle has the name now */
    if (what == BUNDLE_ADDED && !s)
        add_source(all, b);
    else if ((what == BUNDLE_STATE || what == BUNDLE_TOOLS) && s)
        refresh_tools(s);
    if (what == BUNDLE_REMOVED && s)
        remove_source(all, s);
    if (all->changed)
        all->changed(all->ctx, b, what);
}

static void on_ask_alone(void *ctx, struct bundle *b, struct mcp_ask *a)
{
    bundle_ask_alone(ctx, b, a);
}

struct bundle_sources *bundle_sources_new(struct runtime *rt, const char *project_dir,
                                          void (*changed)(void *ctx, struct bundle *b,
                                                          enum bundle_change what),
                                          void *ctx)
{
    struct bundle_sources *s = xcalloc(1, sizeof *s);
    s->rt = rt;
    s->project_dir = project_dir;
    s->changed = changed;
    s->ctx = ctx;
    map_init(&s->by_bundle);
    ui_pages_init(&s->pages);
    return s;
}

void bundle_sources_free(struct bundle_sources *s)
{
    if (!s)
        return;
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->by_bundle, &i)) != NULL;)
        remove_source(s, e->value);
    map_done(&s->by_bundle);
    ui_pages_done(&s->pages);
    free(s);
}

struct ui_pages *bundle_sources_pages(struct bundle_sources *s)
{
    return &s->pages;
}

static void on_bundle_notified(void *ctx, struct bundle *b, str method, const struct json *params)
{
    struct bundle_sources *s = ctx;
    if (s->notified)
        s->notified(s->ctx, b, method, params);
}

void bundle_sources_on_notified(struct bundle_sources *s,
                                void (*notified)(void *ctx, struct bundle *b, str method,
                                                 const struct json *params))
{
    s->notified = notified;
}

struct bundle_host bundle_sources_host(struct bundle_sources *s)
{
    return (struct bundle_host){.changed = on_bundle_changed,
                                .ask = on_ask_alone,
                                .notified = on_bundle_notified,
                                .ctx = s};
}
