/* tasks.c - calls that go on after their answer.
 *
 * A task is known to the server that runs it. Clients get an id of ours that names the server and
 * is signed for the caller: "<mac>.<source>/<id>". So nothing is remembered here, and nobody can
 * ask for the task of somebody else. */
#include "gateway/internal.h"

static str context_of(struct gw_request *q)
{
    return arena_printf(&q->arena, "task\n%s\n%.*s", q->space->id, STR_ARG(q->who.user_id));
}

static str public_id(struct gw_request *q, str source, str id)
{
    str body = arena_printf(&q->arena, "%.*s/%.*s", STR_ARG(source), STR_ARG(id));
    return gw_sign_text(q->g, &q->arena, body, context_of(q));
}

/* Which bundle has it, and what it calls it. */
static struct bundle *find(struct gw_request *q, str public, str *ret_id)
{
    str body, source;
    if (!q->space->bundles || !gw_sign_check(q->g, public, context_of(q), &body) ||
        !str_split(&body, '/', &source))
        return NULL;
    if (q->source.n > 0 && !str_eq(source, q->source))
        return NULL;
    *ret_id = body;
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
        gw_request_fail_data(q, MCP_MISSING_CAPABILITY, data, "The client does not know tasks.");
        return;
    }
    struct bundle *b = find(q, json_get_string(q->params, "taskId"), &id);
    if (!b) {
        gw_request_fail(q, RPC_INVALID_PARAMS, "There is no such task.");
        return;
    }
    json_set(&q->arena, q->params, STR("taskId"), json_of_str(arena_str(&q->arena, id)));
    gw_upstream_forward(q, b);
}

/* Replaces the id where the eras put it: flat, in `task`, in related-task. */
static void rename_in(struct gw_request *q, struct json *obj, str source)
{
    str id = json_get_string(obj, "taskId");
    if (id.n > 0)
        json_set(&q->arena, obj, STR("taskId"), json_of_str(public_id(q, source, id)));
}

static bool is_about_tasks(const struct gw_request *q, const struct json *result)
{
    return json_get(result, "taskId") || json_get(result, "task") ||
           json_get(json_get(result, "_meta"), META_RELATED_TASK) ||
           str_starts(q->method, STR("tasks/"));
}

void gw_tasks_answer(struct gw_request *q, struct bundle *b, const struct json *result)
{
    bool is_ours = str_eq(q->method, STR("tools/call")) || str_starts(q->method, STR("tasks/"));
    if (!is_ours || !is_about_tasks(q, result)) {
        gw_request_result(q, result, gw_upstream_era(b));
        return;
    }
    str source = bundle_entry(b)->server_name;
    struct json *copy = json_clone(&q->arena, result);
    rename_in(q, copy, source);
    rename_in(q, json_get(copy, "task"), source);
    rename_in(q, json_get(json_get(copy, "_meta"), META_RELATED_TASK), source);
    gw_request_result(q, copy, gw_upstream_era(b));
}

/* ---- tasks/list: of one server after the other ---- */

struct collected {
    struct json *tasks;
    size_t at;
};

static void collect_next(struct gw_request *q);

static void on_listed(struct gw_request *q, struct bundle *b, const struct mcp_reply *r)
{
    struct collected *c = q->plan;
    const struct json *list = json_get(r->result, "tasks");
    str source = bundle_entry(b)->server_name;
    for (uint32_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++) {
        struct json *one = json_clone(&q->arena, &list->items[i]);
        rename_in(q, one, source);
        json_push(&q->arena, c->tasks, *one);
    }
    collect_next(q);
}

static void collect_next(struct gw_request *q)
{
    struct collected *c = q->plan;
    struct bundles *set = q->space->bundles;
    while (set && c->at < bundles_count(set)) {
        struct bundle *b = bundles_at(set, c->at++);
        bool is_asked = q->source.n == 0 || str_eq(bundle_entry(b)->server_name, q->source);
        const struct json *can = bundle_server_capabilities(b);
        if (is_asked && json_get(json_get(can, "tasks"), "list")) {
            q->params = NULL;
            gw_upstream_ask(q, b, on_listed);
            return;
        }
    }
    struct json *result = json_new(&q->arena, JSON_OBJECT);
    json_set(&q->arena, result, STR("tasks"), *c->tasks);
    gw_request_result(q, result, MCP_ERA_LEGACY);
}

void gw_tasks_list(struct gw_request *q)
{
    struct collected *c = ARENA_NEW(&q->arena, struct collected);
    c->tasks = json_new(&q->arena, JSON_ARRAY);
    q->plan = c;
    collect_next(q);
}
