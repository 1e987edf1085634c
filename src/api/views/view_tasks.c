/* Tasks of an interface: calls whose result is fetched later (2025-11-25).
 *
 * A server gives ids to the tasks of everybody who calls it, so that an id proves nothing: a view
 * may ask about the tasks that its own calls began, and about no others. */
#include "api/views/view_rpc.h"
#include "apps/file_args.h"
#include "base/schema/schema.h"
#include "base/utf8.h"
#include "bundle/bundle.h"

#define TASKS_MAX      32 /* of one view */
#define TASK_ID_MAX    256
#define RESULT_WAIT_MS (10u * 60 * 1000) /* tasks/result answers when the task has ended */

bool view_has_tasks(const struct app_view *v)
{
    struct bundle *b = view_bundle(v);
    const struct json *tasks = b ? json_get(bundle_server_capabilities(b), "tasks") : NULL;
    return b && bundle_era(b) == MCP_ERA_LEGACY &&
           json_get(json_get(json_get(tasks, "requests"), "tools"), "call");
}

bool view_task_is_wanted(const struct view_rpc *q)
{
    return json_is(json_get(q->params, "task"), JSON_OBJECT) && view_has_tasks(q->view);
}

static void remember_task(struct view_rpc *q, const struct json *result)
{
    struct app_view *v = q->view;
    str id = json_get_string(json_get(result, "task"), "taskId");
    if (id.n > 0 && id.n <= TASK_ID_MAX)
        map_put(&v->tasks, id, v);
}

/* The registry waits for results of tools; a task is not one. Its other checks are made here. */
void view_task_begin(struct view_rpc *q, const struct toolset_item *it)
{
    static const struct json NONE = {.type = JSON_OBJECT};
    struct arena *a = &q->arena;
    struct err e = {0};
    const struct json *args = json_get(q->params, "arguments");
    struct json *params = json_new(a, JSON_OBJECT), *task = json_new(a, JSON_OBJECT);
    const struct json *ttl = json_get(json_get(q->params, "task"), "ttl");
    if (map_len(&q->view->tasks) >= TASKS_MAX) {
        view_rpc_fail(q, VIEW_RPC_REFUSED, "This interface has too many tasks.");
        return;
    }
    args = args ? args : &NONE;
    if (it->tool->input_schema &&
        schema_validate(it->tool->input_schema, args, "arguments", &e) < 0) {
        view_rpc_fail(q, RPC_INVALID_PARAMS, "%s", e.msg);
        return;
    }
    if (file_args_needed(it->tool, args)) { /* what it names would reach the server as a path */
        view_rpc_fail(q, VIEW_RPC_REFUSED, "A call with files cannot be a task of an interface.");
        return;
    }
    if (json_is(ttl, JSON_NUMBER))
        json_set(a, task, STR("ttl"), *ttl);
    json_set(a, params, STR("name"), json_of_str(it->tool->name));
    json_set(a, params, STR("arguments"), *args);
    json_set(a, params, STR("task"), *task);
    struct mcp_request req = {.method = q->method,
                              .params = params,
                              .is_raw = true,
                              .wants_progress = true,
                              .is_kept = true};
    q->heard = remember_task;
    view_rpc_forward(q, &req);
}

void view_task(struct view_rpc *q)
{
    str id = json_get_string(q->params, "taskId");
    struct json *params = json_new(&q->arena, JSON_OBJECT);
    if (id.n == 0 || !map_get(&q->view->tasks, id)) {
        view_rpc_fail(q, RPC_INVALID_PARAMS, "No such task.");
        return;
    }
    json_set(&q->arena, params, STR("taskId"), json_of_str(id));
    struct mcp_request req = {.method = q->method,
                              .params = params,
                              .timeout_ms = RESULT_WAIT_MS,
                              .is_raw = true,
                              .is_kept = true};
    view_rpc_forward(q, &req);
}
