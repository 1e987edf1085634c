/* tasks.c - calls that continue after their response.
 *
 * A task is stored by the server that runs it. Clients get an id of the gateway, which names the
 * server and is signed for the caller: "<mac>.<source>/<id>". So a user cannot access the task of
 * another user, and the gateway needs no table to find the task again. */
#include "gateway/internal.h"

#define TASK_PAGES_MAX 100 /* pages of the list of one server */

static str context_of(const struct gw_space *s, struct arena *a, str user_id)
{
    return arena_printf(a, "task\n%s\n%.*s", s->id, STR_ARG(user_id));
}

static str public_id(struct gw_space *s, struct arena *a, str user_id, str source, str id)
{
    str body = arena_printf(a, "%.*s/%.*s", STR_ARG(source), STR_ARG(id));
    return gw_sign_text(s->g, a, body, context_of(s, a, user_id));
}

/* Splits an id of the gateway into the server and the id that the server uses. */
static bool split_id(struct gw_space *s, struct arena *a, str user_id, str public, str *ret_source,
                     str *ret_id)
{
    return gw_sign_check(s->g, public, context_of(s, a, user_id), ret_id) &&
           str_split(ret_id, '/', ret_source);
}

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
        !split_id(q->space, &q->arena, actor_user(q->actor), public, &source, ret_id))
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

/* ---- owners of tasks ---- */

/* needed because servers do not know our users: their lists contain the tasks of all users */
struct gw_task {
    struct list_node node;
    char *user_id, *source, *id;
};

static void task_free(struct gw_task *t)
{
    list_del(&t->node);
    free(t->user_id);
    free(t->source);
    free(t->id);
    free(t);
}

void gw_tasks_done(struct gw_space *s)
{
    LIST_FOREACH (n, &s->tasks)
        task_free(LIST_ENTRY(n, struct gw_task, node));
}

static void task_remember(struct gw_request *q, str source, str id)
{
    struct gw_space *s = q->space;
    struct gw_task *t = xcalloc(1, sizeof *t);
    t->user_id = str_dup(actor_user(q->actor));
    t->source = str_dup(source);
    t->id = str_dup(id);
    list_push(&s->tasks, &t->node);
    if (++s->ntasks <= GW_TASKS_MAX)
        return;
    s->ntasks--;
    task_free(LIST_ENTRY(s->tasks.next, struct gw_task, node));
}

static bool is_own(const struct gw_request *q, str source, str id)
{
    LIST_FOREACH (n, &q->space->tasks) {
        const struct gw_task *t = LIST_ENTRY(n, struct gw_task, node);
        if (str_eq(str_from(t->id), id) && str_eq(str_from(t->source), source))
            return str_eq(str_from(t->user_id), actor_user(q->actor));
    }
    return false;
}

/* ---- responses ---- */

static void rename_in(struct gw_space *s, struct arena *a, struct json *obj, str user_id,
                      str source)
{
    str id = json_get_string(obj, "taskId");
    if (id.n > 0)
        json_set(a, obj, STR("taskId"), json_of_str(public_id(s, a, user_id, source, id)));
}

const struct json *gw_tasks_rename(struct gw_space *s, struct arena *a, str user_id,
                                   struct bundle *b, const struct json *said)
{
    const struct json *related = json_get(json_get(said, "_meta"), META_RELATED_TASK);
    if (!json_get(said, "taskId") && !json_get(said, "task") && !related)
        return said;
    str source = bundle_entry(b)->server_name;
    struct json *copy = json_clone(a, said);
    rename_in(s, a, copy, user_id, source);
    rename_in(s, a, json_get(copy, "task"), user_id, source);
    rename_in(s, a, json_get(json_get(copy, "_meta"), META_RELATED_TASK), user_id, source);
    return copy;
}

void gw_tasks_restore(struct gw_space *s, struct arena *a, str user_id, struct json *said)
{
    struct json *meta = json_get(said, "_meta");
    struct json *related = json_get(meta, META_RELATED_TASK);
    str source, id;
    if (!related)
        return;
    if (split_id(s, a, user_id, json_get_string(related, "taskId"), &source, &id))
        json_set(a, related, STR("taskId"), json_of_str(arena_str(a, id)));
    else
        json_unset(meta, META_RELATED_TASK); /* a task of another user */
}

void gw_tasks_answer(struct gw_request *q, struct bundle *b, const struct json *result)
{
    bool is_call = str_eq(q->method, STR("tools/call"));
    str made = is_call ? json_get_string(json_get(result, "task"), "taskId") : STR_NONE;
    if (made.n > 0)
        task_remember(q, bundle_entry(b)->server_name, made);
    if (is_call || str_starts(q->method, STR("tasks/")))
        result = gw_tasks_rename(q->space, &q->arena, actor_user(q->actor), b, result);
    gw_request_result(q, result, gw_upstream_era(b));
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
        if (!is_own(q, source, json_get_string(&list->items[i], "taskId")))
            continue;
        struct json *one = json_clone(&q->arena, &list->items[i]);
        rename_in(q->space, &q->arena, one, actor_user(q->actor), source);
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
    struct bundles *set = q->space->bundles;
    while (set && c->at < bundles_count(set)) {
        struct bundle *b = bundles_at(set, c->at++);
        str name = bundle_entry(b)->server_name;
        bool is_asked = (q->source.n == 0 || str_eq(name, q->source)) &&
                        tool_selection_may_use_source(q->actor, name);
        const struct json *can = bundle_server_capabilities(b);
        if (is_asked && json_get(json_get(can, "tasks"), "list")) {
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
