/* call.c - a caller's request, from its first message to its one answer.
 *
 * A call of connections_request may first wait for a connection (connections.c). Then it uses one
 * exchange after another: its own request, and where needed polls of a task, pages
 * of a list or repetitions with input. It is in c->calls until call_answer or mcp_cancel retires
 * it; from then on it is dead: no callback follows, and it stays in c->dead_calls until the last
 * client_leave frees it. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "mcp/client/client_impl.h"
#include "mcp/connections.h"

/* ---- the end ---- */

static void retire(struct mcp_call *call, bool is_cancelled)
{
    struct mcp_client *c = call->client;
    assert(!call->is_dead && call->x.id == 0 && c->ncalls > 0 && c->depth > 0);
    call->is_dead = true;
    timer_stop(&call->later);
    list_del(&call->node);
    c->ncalls--;
    list_push(&c->dead_calls, &call->node);
    ask_drop_of(call, is_cancelled);
    if (call->connections)
        connections_release(call);
}

void call_answer(struct mcp_call *call, const struct mcp_reply *r)
{
    struct connections *p = call->connections;
    assert(call->client->depth > 0 && !call->is_dead);
    connections_enter(p);
    retire(call, false);
    call->ev.done(call->ctx, r);
    connections_proceed(p);
}

void call_result(struct mcp_call *call, const struct json *result)
{
    call_answer(call, &(struct mcp_reply){.result = result});
}

void call_error(struct mcp_call *call, const struct json *error)
{
    call_answer(call, &(struct mcp_reply){.error = error});
}

void call_fail_with(struct mcp_call *call, const struct err *e)
{
    exchange_drop(&call->x);
    call_answer(call, &(struct mcp_reply){.err = e});
}

void call_fail(struct mcp_call *call, int code, const char *fmt, ...)
{
    char text[ERR_MAX];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    struct err e;
    err_set(&e, code, "%s", text);
    call_fail_with(call, &e);
}

static void cancel_sent(struct mcp_call *call, const char *reason)
{
    struct mcp_client *c = call->client;
    client_enter(c);
    exchange_cancel(&call->x, reason);
    if (call->task)
        task_cancel(call);
    retire(call, true);
    client_leave(c);
}

void mcp_cancel(struct mcp_call *call, const char *reason)
{
    struct connections *p = call->connections;
    if (call->is_dead)
        return;
    connections_enter(p);
    if (call->client) {
        cancel_sent(call, reason);
    } else { /* no connection has it */
        connections_release(call);
        call_free(call);
    }
    connections_proceed(p);
}

/* ---- sending ---- */

static void call_transmit(struct mcp_call *call, str method, const struct json *params,
                          const struct json *more)
{
    struct exchange_spec s = {
        .message = {.method = method,
                    .params = params,
                    .more = more,
                    .era = call->client->era,
                    .capabilities = call->capabilities,
                    .log_level = call->log_level,
                    .wants_progress = call->wants_progress},
        .timeout_ms = call->timeout_ms,
        .deadline_ms = call->deadline_ms,
        .headers = call->headers.n > 0 ? &call->headers : NULL,
    };
    exchange_send(&call->x, &s);
}

static void on_first_answer(struct mcp_exchange *x, const struct mcp_reply *r);

void call_send(struct mcp_call *call, const struct json *more)
{
    call->x.done = on_first_answer;
    call_transmit(call, call->method, call->params, more);
}

void call_send_other(struct mcp_call *call, str method, const struct json *params,
                     void (*done)(struct mcp_exchange *x, const struct mcp_reply *r))
{
    call->x.done = done;
    call_transmit(call, method, params, NULL);
}

/* ---- answers ---- */

static void take_modern_result(struct mcp_call *call, const struct json *result)
{
    const struct json *type = json_get(result, "resultType");
    str name = json_string(type, STR_NONE);
    if (!type || str_eq(name, STR("complete")))
        call_result(call, result);
    else if (str_eq(name, STR("input_required")) && call->params)
        rounds_take(call, result);
    else if (str_eq(name, STR("task")))
        task_take_modern(call, result);
    else
        call_fail(call, -EPROTO, "the server returned a result of the unknown type \"%.*s\"",
                  STR_ARG(str_slice(name, 0, 64)));
}

static void take_result(struct mcp_call *call, struct json *result)
{
    struct mcp_client *c = call->client;
    if (str_eq(call->method, STR("tools/list")))
        tools_take_list(c, result, !json_get(call->params, "cursor"));
    if (call->is_raw)
        call_result(call, result);
    else if (c->era == MCP_ERA_MODERN)
        take_modern_result(call, result);
    else if (call->is_task)
        task_take_legacy(call, result);
    else
        call_result(call, result);
}

/* The annotations of the tool may have changed since it was listed. */
static bool should_refresh(const struct mcp_call *call, const struct json *error)
{
    return json_get_int(error, "code", 0) == MCP_HEADER_MISMATCH && call->params &&
           !call->has_refreshed && call->client->transport->ops->is_http &&
           str_eq(call->method, STR("tools/call"));
}

static void on_first_answer(struct mcp_exchange *x, const struct mcp_reply *r)
{
    struct mcp_call *call = x->call;
    if (r->result)
        take_result(call, (struct json *)r->result);
    else if (r->error && should_refresh(call, r->error))
        pages_refresh_tool(call, r->error);
    else
        call_answer(call, r);
}

/* ---- later ---- */

static void on_call_later(void *ctx)
{
    struct mcp_call *call = ctx;
    struct mcp_client *c = call->client;
    client_enter(c);
    call->then(call);
    client_leave(c);
}

void call_later(struct mcp_call *call, uint64_t ms, void (*then)(struct mcp_call *call))
{
    assert(call->client && !call->is_dead);
    call->then = then;
    timer_start(&call->later, ms);
}

/* ---- methods that an era does not have ---- */

static void answer_empty(struct mcp_call *call)
{
    call_result(call, json_new(&call->mem, JSON_OBJECT));
}

void call_answer_empty(struct mcp_call *call)
{
    call_later(call, 0, answer_empty);
}

static bool serve_for_modern(struct mcp_call *call, const struct mcp_request *req)
{
    struct mcp_client *c = call->client;
    if (str_eq(req->method, STR("ping"))) {
        call->method = STR("server/discover");
        return false;
    }
    if (str_eq(req->method, STR("logging/setLevel"))) {
        c->default_log_level = arena_str(&c->mem, json_get_string(req->params, "level"));
        call_answer_empty(call);
        return true;
    }
    return listen_serve(call, req);
}

/* A legacy server has one log level for the whole session: the lowest that any call requested. */
static void lower_log_level(struct mcp_client *c, str wanted)
{
    int level = protocol_log_level(wanted);
    if (level < 0 || (c->log_level >= 0 && c->log_level <= level) ||
        !json_get(c->server_capabilities, "logging"))
        return;
    c->log_level = level;
    struct json params = JSON_ONE("level", json_of_str(wanted));
    exchange_send_forgotten(c, STR("logging/setLevel"), &params);
}

/* ---- the start ---- */

struct mcp_call *call_new(struct loop *l, const struct mcp_call_events *ev, void *ctx)
{
    assert(ev->done);
    struct mcp_call *call = xcalloc(1, sizeof(*call));
    call->ev = *ev;
    call->ctx = ctx;
    list_init(&call->node);
    buf_init(&call->rounds.state, RPC_MESSAGE_MAX);
    timer_init(&call->later, l, on_call_later, call);
    return call;
}

void call_free(struct mcp_call *call)
{
    timer_stop(&call->later);
    list_del(&call->node);
    buf_done(&call->rounds.state);
    arena_done(&call->round_mem);
    arena_done(&call->mem);
    free(call);
}

static void join_client(struct mcp_call *call, struct mcp_client *c)
{
    assert(!call->client && !call->is_dead && !call->refusal);
    call->client = c;
    timer_init(&call->later, c->loop, on_call_later, call); /* it was the limit of waiting */
    call->timeout_ms = MCP_TIMEOUT_MS;
    call->deadline_ms = clock_mono_ms() + MCP_MAX_MS;
    exchange_init(&call->x, c, on_first_answer);
    call->x.call = call;
    list_push(&c->calls, &call->node);
    c->ncalls++;
}

static void copy_capabilities(struct mcp_call *call, const struct mcp_request *req)
{
    struct mcp_client *c = call->client;
    call->declared = !req->capabilities ? c->host.capabilities
                     : req->is_kept     ? req->capabilities
                                        : json_clone(&call->mem, req->capabilities);
    if (c->era != MCP_ERA_MODERN || (!req->capabilities && !req->is_raw))
        return;
    buf_recycle(&c->out, RPC_SPARE_BYTES);
    message_write_capabilities(&c->out, call->declared, !req->is_raw);
    call->capabilities = arena_str(&call->mem, buf_str(&c->out));
}

/* Only the main connection of several lists tools, so only it knows these facts. */
static void take_tool_facts(struct mcp_call *call, const struct mcp_request *req)
{
    struct mcp_client *c = call->client;
    if (!str_eq(req->method, STR("tools/call")))
        return;
    const struct mcp_client *lister =
        call->connections ? connections_main(call->connections) : call->client;
    const struct known_tool *tool =
        lister ? tools_find(lister, json_get_string(req->params, "name")) : NULL;
    call->is_task =
        !req->is_raw && c->era == MCP_ERA_LEGACY && (req->is_task || (tool && tool->needs_task));
    if (tool && c->era == MCP_ERA_MODERN && c->transport && c->transport->ops->is_http)
        call->headers = param_headers_copy(&call->mem, &tool->headers);
}

static bool may_send_again(const struct mcp_call *call, const struct mcp_request *req)
{
    return call->client->era == MCP_ERA_MODERN && protocol_may_need_input(req->method) &&
           (!req->is_raw || call->headers.n > 0);
}

static void call_start(struct mcp_call *call, const struct mcp_request *req)
{
    struct mcp_client *c = call->client;
    const struct json *params = req->params;
    if (call->is_task) {
        struct json *more = json_new(&call->mem, JSON_OBJECT);
        json_set(&call->mem, more, STR("task"), *json_new(&call->mem, JSON_OBJECT));
        call_transmit(call, call->method, params, more);
        return;
    }
    if (may_send_again(call, req) || str_eq(req->method, STR("tools/list")))
        call->params = !params        ? json_new(&call->mem, JSON_OBJECT)
                       : req->is_kept ? params
                                      : json_clone(&call->mem, params);
    if (c->era == MCP_ERA_LEGACY && call->log_level.n > 0)
        lower_log_level(c, call->log_level);
    call_transmit(call, call->method, params, NULL);
}

void call_begin(struct mcp_call *call, struct mcp_client *c, const struct mcp_request *req)
{
    join_client(call, c);
    call->method = arena_str(&call->mem, req->method);
    if (req->timeout_ms > 0)
        call->timeout_ms = req->timeout_ms;
    if (req->max_ms > 0)
        call->deadline_ms = clock_mono_ms() + req->max_ms;
    call->is_raw = req->is_raw;
    call->begins_task = c->era == MCP_ERA_LEGACY && json_get(req->params, "task");
    call->wants_progress = req->wants_progress;
    call->log_level =
        arena_str(&call->mem, req->log_level.n > 0 ? req->log_level : c->default_log_level);
    copy_capabilities(call, req);
    take_tool_facts(call, req);
    if (str_eq(req->method, STR("logging/setLevel")))
        c->log_level = protocol_log_level(json_get_string(req->params, "level"));
    if (c->era != MCP_ERA_MODERN || !serve_for_modern(call, req))
        call_start(call, req);
}

struct mcp_call *mcp_request(struct mcp_client *c, const struct mcp_request *req,
                             const struct mcp_call_events *ev, void *ctx)
{
    struct mcp_call *call = call_new(c->loop, ev, ctx);
    call_begin(call, c, req);
    return call;
}

struct mcp_call *mcp_list_all(struct mcp_client *c, str method, const char *key,
                              const struct mcp_call_events *ev, void *ctx)
{
    struct mcp_call *call = call_new(c->loop, ev, ctx);
    join_client(call, c);
    call->method = arena_str(&call->mem, method);
    call->declared = c->host.capabilities;
    pages_start(call, key);
    return call;
}
