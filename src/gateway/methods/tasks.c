#include "gateway/methods/method.h"
#include "gateway/upstream/task_ids.h"
#include "gateway/upstream/upstream.h"

#define TASK_PAGES_MAX 100 /* pages of the list of one server */

/* A task belongs to a tool call; a token that allows some tools of the source may have made the
 * call. */
static bool may_use(struct gw_request *q, str source)
{
    const struct toolset *all = registry_tools(q->space->tools);
    for (size_t i = 0; actor_is_narrowed(q->actor) && i < all->len; i++)
        if (str_eq(all->items[i].source, source) &&
            tool_selection_may_call(q->actor, false, &all->items[i]))
            return true;
    return !actor_is_narrowed(q->actor);
}

static struct bundle *task_find(struct gw_request *q, str public, str *ret_id)
{
    str source;
    if (!q->space->bundles ||
        !gw_task_id_split(q->space, &q->arena, actor_user(q->actor), public, &source, ret_id))
        return NULL;
    if ((q->source.n > 0 && !str_eq(source, q->source)) || !may_use(q, source))
        return NULL;
    return bundles_find(q->space->bundles, source);
}

void gw_tasks_route(struct gw_request *q)
{
    str id;
    bool may = q->era != MCP_ERA_MODERN ||
               json_get(json_get(q->capabilities, "extensions"), MCP_EXTENSION_TASKS);
    if (!may) {
        struct json *data = NULL;
        (void)json_parse(
            &q->arena,
            STR("{\"requiredCapabilities\":{\"extensions\":{\"" MCP_EXTENSION_TASKS "\":{}}}}"), 0,
            &data, NULL);
        gw_request_fail_data(q, MCP_MISSING_CAPABILITY, data, "The client does not support tasks.");
        return;
    }
    struct bundle *b = task_find(q, json_get_string(q->params, "taskId"), &id);
    if (!b) {
        gw_request_fail(q, RPC_INVALID_PARAMS, "No such task.");
        return;
    }
    json_set(&q->arena, q->params, STR("taskId"), json_of_str(arena_str(&q->arena, id)));
    gw_upstream_forward(q, b);
}

/* ---- tasks/list: one server after the other ---- */

struct collected {
    struct json *params; /* of the client's request */
    struct json *tasks;
    size_t at;      /* the bundle after the one that is being asked now */
    unsigned pages; /* pages read from the current bundle */
};

static void collect_next(struct gw_request *q);

static void ask_page(struct gw_request *q, struct bundle *b, const struct json *cursor);

static void on_task_listed(struct gw_request *q, struct bundle *b, const struct mcp_reply *r)
{
    struct collected *c = q->plan;
    const struct json *list = json_get(r->result, "tasks");
    const struct json *cursor = json_get(r->result, "nextCursor");
    str source = bundle_entry(b)->server_name;
    for (uint32_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++) {
        if (!gw_task_is_own(q, source, json_get_string(&list->items[i], "taskId")))
            continue;
        struct json *one = json_clone(&q->arena, &list->items[i]);
        gw_task_id_replace(q->space, &q->arena, actor_user(q->actor), source, one);
        json_push(&q->arena, c->tasks, *one);
    }
    if (json_is(cursor, JSON_STRING) && ++c->pages < TASK_PAGES_MAX)
        ask_page(q, b, cursor);
    else
        collect_next(q);
}

static void ask_page(struct gw_request *q, struct bundle *b, const struct json *cursor)
{
    struct arena *a = &q->arena;
    q->params = json_new(a, JSON_OBJECT);
    if (cursor)
        json_set(a, q->params, STR("cursor"), *json_clone(a, cursor));
    gw_upstream_ask(q, b, on_task_listed);
}

static void write_task(struct json_writer *w, struct gw_request *q, const void *tasks, size_t i)
{
    jw_value(w, &((const struct json *)tasks)[i]);
}

static void collect_next(struct gw_request *q)
{
    struct collected *c = q->plan;
    struct bundle *b;
    while ((b = gw_request_next_bundle(q, &c->at)) != NULL) {
        if (json_get(json_get(bundle_server_capabilities(b), "tasks"), "list")) {
            c->pages = 0;
            ask_page(q, b, NULL);
            return;
        }
    }
    q->params = c->params;
    gw_page_reply(q, &(struct gw_items){
                         .key = "tasks",
                         .items = c->tasks->items,
                         .len = c->tasks->len,
                         .write = write_task,
                     });
}

void gw_tasks_list(struct gw_request *q)
{
    struct collected *c = ARENA_NEW(&q->arena, struct collected);
    c->params = q->params;
    c->tasks = json_new(&q->arena, JSON_ARRAY);
    q->plan = c;
    collect_next(q);
}
