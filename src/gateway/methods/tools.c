#include <assert.h>
#include <math.h>

#include "apps/file_args.h"
#include "gateway/methods/catalog.h"
#include "gateway/methods/method.h"
#include "gateway/upstream/upstream.h"
#include "gateway/write.h"
#include "tools/names.h"
#include "tools/result.h"

/* ---- tools of a caller ---- */

static bool is_permitted(const struct gw_request *q, const struct toolset_item *it)
{
    if (it->tool->is_internal || !tool_selection_may_call(q->actor, false, it))
        return false;
    /* This tool delegates work of a conversation, and an MCP call has no conversation. */
    if (str_eq(it->name, STR("nb__delegate")))
        return false;
    /* A tool that would need permission in a chat is allowed here: the MCP client asks its user. */
    return !q->permissions || permission_decide(q->permissions, it) != PERMISSION_DENY;
}

static struct bundle *bundle_of(const struct gw_request *q, const struct toolset_item *it)
{
    return q->space->bundles ? bundles_find(q->space->bundles, it->source) : NULL;
}

/* Within one source, tools have the names that their server gave them. */
static const struct toolset_item *find_unprefixed(struct gw_request *q, str name)
{
    char made[TOOL_NAME_MAX + 1];
    struct toolset *all = registry_tools(q->space->tools);
    size_t n = tool_name_make(q->source, name, made);
    const struct toolset_item *it = toolset_find(all, str_make(made, n));
    if (it && str_eq(it->tool->name, name) && str_eq(it->source, q->source))
        return it;
    n = tool_name_make_hashed(q->source, name, made);
    it = toolset_find(all, str_make(made, n));
    return it && str_eq(it->tool->name, name) ? it : NULL;
}

const struct toolset_item *gw_tools_find(struct gw_request *q, str name, struct bundle **ret_bundle)
{
    const struct toolset_item *it =
        q->source.n > 0 ? find_unprefixed(q, name)
                        : registry_find(q->space->tools, name, json_get(q->params, "arguments"),
                                        actor_is_admin(q->actor));
    if (!it || !is_permitted(q, it))
        return NULL;
    *ret_bundle = bundle_of(q, it);
    return it;
}

/* ---- tools/list ---- */

/* A built-in tool in the form of MCP. */
static const struct json *own_tool(struct arena *a, const struct tool *t)
{
    struct json *o = json_new(a, JSON_OBJECT);
    if (t->title.n > 0)
        json_set(a, o, STR("title"), json_of_str(t->title));
    json_set(a, o, STR("description"), json_of_str(t->description));
    json_set(a, o, STR("inputSchema"), *t->input_schema);
    if (t->output_schema)
        json_set(a, o, STR("outputSchema"), *t->output_schema);
    if (t->annotations)
        json_set(a, o, STR("annotations"), *t->annotations);
    if (t->meta)
        json_set(a, o, STR("_meta"), *t->meta);
    return o;
}

struct listed_tool {
    str name;
    const struct json *raw;
};

static size_t collect(struct gw_request *q, struct listed_tool **ret)
{
    struct toolset *all = registry_tools(q->space->tools);
    struct listed_tool *out = arena_array(&q->arena, all->len + 1, sizeof *out);
    size_t n = 0;
    for (size_t i = 0; i < all->len; i++) {
        const struct toolset_item *it = &all->items[i];
        if ((q->source.n > 0 && !str_eq(it->source, q->source)) || !is_permitted(q, it))
            continue;
        struct bundle *b = bundle_of(q, it);
        const struct json *raw = b ? bundle_find_tool(b, it->tool->name) : NULL;
        out[n++] = (struct listed_tool){q->source.n > 0 ? it->tool->name : it->name,
                                        raw ? raw : own_tool(&q->arena, it->tool)};
    }
    if (gw_chat_is_offered(q))
        out[n++] = (struct listed_tool){STR(GATEWAY_CHAT_TOOL), gw_chat_tool(&q->arena)};
    *ret = out;
    return n;
}

static void write_listed(struct json_writer *w, struct gw_request *q, const void *items, size_t i)
{
    const struct listed_tool *l = items;
    gw_write_tool(w, q, l[i].raw, l[i].name);
}

void gw_tools_list(struct gw_request *q)
{
    struct listed_tool *all;
    size_t n = collect(q, &all);
    gw_page_reply(q, &(struct gw_items){
                         .key = gw_list_key(GW_TOOLS),
                         .items = all,
                         .len = n,
                         .write = write_listed,
                         .ttl_ms = GW_LIST_FRESH_MS,
                     });
}

/* ---- tools/call: built-in tools, and tools that exchange files, through the registry ---- */

static void on_called(void *ctx, const struct tool_result *r)
{
    struct gw_request *q = ctx;
    assert(q->on_cancel && q->tool.n > 0);
    q->on_cancel = NULL;
    gw_request_tool_result(q, r, NULL);
}

static void on_tool_progress(void *ctx, double progress, double total, str message)
{
    struct gw_request *q = ctx;
    struct arena a;
    arena_init(&a);
    struct json *params = json_new(&a, JSON_OBJECT);
    json_set(&a, params, STR("progress"), json_of_double(&a, progress));
    if (total > 0 && isfinite(total))
        json_set(&a, params, STR("total"), json_of_double(&a, total));
    if (message.n > 0)
        json_set(&a, params, STR("message"), json_of_str(message));
    gw_request_progress(q, params);
    arena_done(&a);
}

static void on_tool_cancel(struct gw_request *q)
{
    registry_cancel(q->work);
}

static void call_own(struct gw_request *q)
{
    static const struct tool_call_events EVENTS = {on_called, on_tool_progress};
    struct tool_caller who = {
        .actor = q->actor,
        .via = STR("mcp"),
    };
    q->on_cancel = on_tool_cancel;
    q->work =
        registry_call(q->space->tools, q->tool, json_get(q->params, "arguments"), &who, &EVENTS, q);
}

/* ---- tools/call ---- */

/* The source may have no tools now: it has failed, or nobody has signed in to it. */
static void refuse_name(struct gw_request *q, str name)
{
    bool is_coming;
    str why = gw_request_bundle(q)
                  ? registry_absence(q->space->tools, &q->arena, q->source, &is_coming)
                  : STR_NONE;
    if (why.n == 0) {
        gw_request_fail(q, RPC_INVALID_PARAMS, "Unknown tool: %.*s",
                        STR_ARG(str_slice(name, 0, 200)));
        return;
    }
    struct tool_result t = tool_result_error(&q->arena, "%.*s", STR_ARG(why));
    gw_request_tool_result(q, &t, "error");
}

static void call_named(struct gw_request *q)
{
    str name = json_get_string(q->params, "name");
    struct bundle *b = NULL;
    const struct toolset_item *it = gw_tools_find(q, name, &b);
    if (!it) {
        refuse_name(q, name);
        return;
    }
    q->tool = arena_str(&q->arena, it->name);
    /* A path on this machine must not come from the client: files are named, and looked up. */
    if (!b || file_args_needed(it->tool, json_get(q->params, "arguments"))) {
        call_own(q);
        return;
    }
    json_set(&q->arena, q->params, STR("name"), json_of_str(arena_str(&q->arena, it->tool->name)));
    gw_upstream_forward(q, b);
}

static void on_source_started(void *ctx)
{
    struct gw_request *q = ctx;
    q->on_cancel = NULL;
    q->work = NULL;
    call_named(q);
}

static void on_wait_cancelled(struct gw_request *q)
{
    registry_await_cancel(q->work);
}

/* The tools of a server that is starting are not known yet, nor whether this client may call them:
 * the call waits until they are listed. */
static bool waits_for_source(struct gw_request *q)
{
    bool is_coming = false;
    if (gw_request_bundle(q))
        (void)registry_absence(q->space->tools, &q->arena, q->source, &is_coming);
    if (!is_coming)
        return false;
    q->on_cancel = on_wait_cancelled;
    q->work = registry_await(q->space->tools, q->source, REGISTRY_TIMEOUT_MS, on_source_started, q);
    return true;
}

void gw_tools_call(struct gw_request *q)
{
    const struct json *args = json_get(q->params, "arguments");
    str name = json_get_string(q->params, "name");
    if (!json_is(json_get(q->params, "name"), JSON_STRING) || (args && args->type != JSON_OBJECT)) {
        gw_request_fail(q, RPC_INVALID_PARAMS,
                        "tools/call requires a name, and arguments as an object.");
        return;
    }
    if (gw_chat_is_offered(q) && str_eq(name, STR(GATEWAY_CHAT_TOOL))) {
        q->tool = STR(GATEWAY_CHAT_TOOL);
        gw_chat_call(q);
        return;
    }
    if (!waits_for_source(q))
        call_named(q);
}
