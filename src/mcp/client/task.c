/* task.c - results that arrive later: polls a task until it has ended.
 *
 * There are two kinds. In 2025-11-25 the client requests a task and fetches its result with a
 * request that blocks; in the modern era the server decides, and the task itself carries the
 * result, the error or the questions. */
#include <assert.h>
#include <errno.h>

#include "mcp/client/client_impl.h"

#define INTERVAL_MS     500 /* when the server names no interval */
#define INTERVAL_MIN_MS 20
#define INTERVAL_MAX_MS 30000

struct task {
    str id;
    struct json *params; /* {taskId} */
    uint64_t interval_ms;
    struct json *answered; /* keys of answered questions: {key: true} */
    void (*take)(struct mcp_call *call, const struct json *result);
};

static void take_modern_state(struct mcp_call *call, const struct json *v);
static void take_legacy_state(struct mcp_call *call, const struct json *v);
static void ask_server(struct mcp_call *call, str method, const struct json *params,
                       void (*take)(struct mcp_call *call, const struct json *result));

/* ---- polling ---- */

static void on_interval_over(struct mcp_call *call)
{
    ask_server(call, STR("tasks/get"), call->task->params,
               call->client->era == MCP_ERA_MODERN ? take_modern_state : take_legacy_state);
}

static void look_later(struct mcp_call *call)
{
    assert(call->task && call->x.id == 0);
    call_later(call, call->task->interval_ms, on_interval_over);
}

static void take_interval(struct task *t, const struct json *v, const char *key)
{
    int64_t ms = json_get_int(v, key, (int64_t)t->interval_ms);
    t->interval_ms = ms < INTERVAL_MIN_MS   ? INTERVAL_MIN_MS
                     : ms > INTERVAL_MAX_MS ? INTERVAL_MAX_MS
                                            : (uint64_t)ms;
}

static int task_new(struct mcp_call *call, const struct json *v, const char *interval_key)
{
    str id = json_get_string(v, "taskId");
    if (id.n == 0) {
        call_fail(call, -EPROTO, "the server started a task without a \"taskId\"");
        return -EPROTO;
    }
    assert(!call->task); /* a call leads to one task */
    struct task *t = ARENA_NEW(&call->mem, struct task);
    t->id = arena_str(&call->mem, id);
    t->params = json_new(&call->mem, JSON_OBJECT);
    json_set(&call->mem, t->params, STR("taskId"), json_of_str(t->id));
    t->answered = json_new(&call->mem, JSON_OBJECT);
    t->interval_ms = INTERVAL_MS;
    take_interval(t, v, interval_key);
    call->task = t;
    return 0;
}

void task_cancel(struct mcp_call *call)
{
    struct mcp_client *c = call->client;
    assert(call->task);
    if (c->state == CLIENT_READY)
        exchange_send_forgotten(c, STR("tasks/cancel"), call->task->params);
}

static void on_task_answer(struct mcp_exchange *x, const struct mcp_reply *r)
{
    if (r->result) {
        x->call->task->take(x->call, r->result);
        return;
    }
    if (r->err) /* the call ends, so the task must not stay running on the server */
        task_cancel(x->call);
    call_answer(x->call, r);
}

static void ask_server(struct mcp_call *call, str method, const struct json *params,
                       void (*take)(struct mcp_call *call, const struct json *result))
{
    call->task->take = take;
    call_send_other(call, method, params, on_task_answer);
}

static void end_cancelled(struct mcp_call *call)
{
    call->task = NULL;
    call_fail(call, -ECANCELED, "the server has cancelled the task");
}

/* ---- the extension of the modern era ---- */

static void take_updated(struct mcp_call *call, const struct json *result)
{
    look_later(call);
}

static void send_update(struct mcp_call *call, struct json *responses)
{
    struct arena *a = &call->round_mem;
    for (uint32_t i = 0; i < responses->len; i++)
        json_set(&call->mem, call->task->answered, arena_str(&call->mem, responses->members[i].key),
                 json_of_bool(true));
    struct json *params = json_new(a, JSON_OBJECT);
    json_set(a, params, STR("taskId"), json_of_str(call->task->id));
    json_set(a, params, STR("inputResponses"), *responses);
    ask_server(call, STR("tasks/update"), params, take_updated);
}

/* Questions stay in the task until the server has received the answers. */
static void take_questions(struct mcp_call *call, const struct json *requests)
{
    struct json *fresh = json_new(&call->client->in, JSON_OBJECT);
    for (uint32_t i = 0; json_is(requests, JSON_OBJECT) && i < requests->len; i++) {
        if (!json_get_str(call->task->answered, requests->members[i].key))
            json_set(&call->client->in, fresh, requests->members[i].key,
                     requests->members[i].value);
    }
    if (fresh->len == 0)
        look_later(call);
    else if (call->task->answered->len + fresh->len > MCP_LIST_MAX)
        call_fail(call, -EPROTO, "the task has asked too many questions");
    else
        rounds_ask(call, fresh, send_update);
}

static void take_modern_state(struct mcp_call *call, const struct json *v)
{
    str status = json_get_string(v, "status");
    take_interval(call->task, v, "pollIntervalMs");
    if (str_eq(status, STR("working"))) {
        look_later(call);
    } else if (str_eq(status, STR("input_required"))) {
        take_questions(call, json_get(v, "inputRequests"));
    } else if (str_eq(status, STR("completed")) && json_is(json_get(v, "result"), JSON_OBJECT)) {
        call_result(call, json_get(v, "result"));
    } else if (str_eq(status, STR("failed")) && json_is(json_get(v, "error"), JSON_OBJECT)) {
        call_error(call, json_get(v, "error"));
    } else if (str_eq(status, STR("cancelled"))) {
        end_cancelled(call);
    } else {
        call_fail(call, -EPROTO, "the task has the unknown status \"%.*s\"",
                  STR_ARG(str_slice(status, 0, 64)));
    }
}

void task_take_modern(struct mcp_call *call, const struct json *result)
{
    if (task_new(call, result, "pollIntervalMs") == 0)
        take_modern_state(call, result);
}

/* ---- 2025-11-25 ---- */

/* The task has ended, or waits for answers. In the second case the server asks while this request
 * is in progress, and continues to work afterwards. That may take as long as the call itself. */
static void fetch_legacy_result(struct mcp_call *call)
{
    call->timeout_ms = UINT64_MAX;
    ask_server(call, STR("tasks/result"), call->task->params, call_result);
}

static void take_legacy_state(struct mcp_call *call, const struct json *v)
{
    str status = json_get_string(v, "status");
    take_interval(call->task, v, "pollInterval");
    if (str_eq(status, STR("working")))
        look_later(call);
    else if (str_eq(status, STR("cancelled")))
        end_cancelled(call);
    else
        fetch_legacy_result(call);
}

void task_take_legacy(struct mcp_call *call, const struct json *result)
{
    const struct json *v = json_get(result, "task");
    if (!json_is(v, JSON_OBJECT)) /* the server has run the tool without a task */
        call_result(call, result);
    else if (task_new(call, v, "pollInterval") == 0)
        take_legacy_state(call, v);
}
