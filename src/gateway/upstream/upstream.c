#include "gateway/upstream/upstream.h"

#include <assert.h>
#include <errno.h>

#include "gateway/upstream/ask.h"
#include "gateway/upstream/session_connection.h"
#include "gateway/upstream/suspended_calls.h"
#include "gateway/upstream/task_ids.h"
#include "tools/result.h"

#define CALL_QUIET_MS (10u * 60 * 1000) /* people may need minutes to answer a question */
#define CALL_MAX_MS   (60u * 60 * 1000)
#define MCP_URL_FIRST -32042

/* ---- life ---- */

static void release_way(struct upstream_call *u)
{
    list_del(&u->sibling);
    private_wait_stop(&u->wait);
    if (u->settling)
        mcp_cancel(u->settling, "The call has ended.");
    u->settling = NULL;
    if (u->own)
        private_connection_give_back(u->own);
    u->own = NULL;
    u->shared = NULL;
    u->call = NULL;
}

static void upstream_call_free(struct upstream_call *u)
{
    release_way(u);
    suspended_done(u);
    assert(list_empty(&u->questions) && list_empty(&u->node) && !timer_active(&u->expiry));
    list_del(&u->all);
    free(u);
}

static void cancel_at_server(struct upstream_call *u, const char *why)
{
    if (u->shared)
        bundle_cancel(u->shared, why);
    else if (u->call)
        mcp_cancel(u->call, why);
    release_way(u);
}

void upstream_call_cancel(struct upstream_call *u, const char *why)
{
    if (u->q && u->q->session)
        gw_ask_drop_owner(u->q->session, u);
    cancel_at_server(u, why);
    upstream_call_free(u);
}

static void on_client_cancelled(struct gw_request *q)
{
    upstream_call_cancel(q->work, "The client cancelled the request.");
}

void upstream_call_attach(struct upstream_call *u, struct gw_request *q)
{
    assert(!u->q); /* a call has one request at a time */
    u->q = q;
    q->work = u;
    q->on_cancel = on_client_cancelled;
}

void upstream_call_deliver(struct upstream_call *u, const struct mcp_reply *r)
{
    struct gw_request *q = u->q;
    struct bundle *b = u->bundle;
    upstream_fn done = u->done;
    assert(q && q->work == u);
    if (q->session)
        gw_ask_drop_owner(q->session, u);
    q->on_cancel = NULL;
    q->work = NULL;
    upstream_call_free(u); /* before done, which may start the next call of q */
    done(q, b, r);
}

static void upstream_call_failed(struct upstream_call *u, const struct err *e)
{
    struct mcp_reply r = {.err = e};
    if (u->q)
        upstream_call_deliver(u, &r);
    else
        suspended_keep(u, &r);
}

void gw_upstream_bundle_gone(struct gw_space *s, struct bundle *b)
{
    struct err e = {0};
    err_set(&e, -ECONNRESET, "it was removed");
    LIST_EACH (u, &s->ups, struct upstream_call, all) {
        if (u->bundle != b)
            continue;
        cancel_at_server(u, "The server was removed.");
        /* A suspended call has no request to fail; its client gets an error when it repeats. */
        if (u->q)
            upstream_call_failed(u, &e);
        else
            upstream_call_free(u);
    }
}

/* ---- messages from the server ---- */

static void on_upstream_done(void *ctx, const struct mcp_reply *r)
{
    struct upstream_call *u = ctx;
    assert(u->shared || u->call);
    release_way(u);
    if (u->q)
        upstream_call_deliver(u, r);
    else
        suspended_keep(u, r);
}

static void on_upstream_progress(void *ctx, const struct json *params)
{
    struct upstream_call *u = ctx;
    if (u->q)
        gw_request_progress(u->q, params);
}

static void on_logged(void *ctx, const struct json *params)
{
    struct upstream_call *u = ctx;
    if (u->q)
        gw_request_log(u->q, params);
}

static void on_upstream_ask(void *ctx, struct mcp_ask *a)
{
    struct upstream_call *u = ctx;
    if (u->q && u->q->session)
        gw_ask_session(u->q->session, u->q, u->bundle, a, u);
    else if (u->own)
        suspended_question(u, a);
    else /* on the shared connection the recipient is not known */
        mcp_ask_refuse(a, RPC_METHOD_NOT_FOUND, "The client does not support this request.");
}

static void on_upstream_ask_gone(void *ctx, struct mcp_ask *a)
{
    struct upstream_call *u = ctx;
    if (u->q && u->q->session)
        gw_ask_withdraw(u->q->session, a);
    else
        suspended_question_gone(u, a);
}

static const struct mcp_call_events EVENTS = {on_upstream_done, on_upstream_progress, on_logged,
                                              on_upstream_ask, on_upstream_ask_gone};

/* ---- sending ---- */

/* The _meta of the protocol is between the client and the gateway; the request to the server gets
 * its own. */
static void strip_meta(struct gw_request *q)
{
    struct json *meta = json_get(q->params, "_meta");
    uint32_t kept = 0;
    if (!json_is(meta, JSON_OBJECT))
        return;
    for (uint32_t i = 0; i < meta->len; i++) {
        str key = meta->members[i].key;
        bool is_ours = str_starts(key, STR("io.modelcontextprotocol/")) ||
                       str_eq(key, STR(MCP_PROGRESS_TOKEN));
        if (!is_ours || str_eq(key, STR(META_RELATED_TASK)))
            meta->members[kept++] = meta->members[i];
    }
    meta->len = kept;
    if (kept == 0)
        json_unset(q->params, "_meta");
}

/* Results that contain questions or tasks are passed on to a client of the same era as the server.
 * For all other clients the gateway handles them: it answers the questions or waits for the
 * task. */
static bool is_passed_on(const struct upstream_call *u)
{
    const struct gw_request *q = u->q;
    if (q->era == MCP_ERA_MODERN)
        return u->era == MCP_ERA_MODERN;
    return u->era == MCP_ERA_LEGACY && json_get(q->params, "task");
}

static struct mcp_request wire_request(struct upstream_call *u)
{
    struct gw_request *q = u->q;
    bool is_modern = u->era == MCP_ERA_MODERN;
    if (q->params && !(is_modern && q->era == MCP_ERA_MODERN)) {
        json_unset(q->params, "inputResponses");
        json_unset(q->params, "requestState");
        if (is_modern || q->era == MCP_ERA_MODERN)
            json_unset(q->params, "task");
    }
    strip_meta(q);
    gw_task_ids_restore(q->space, &q->arena, actor_user(q->actor), q->params);
    struct mcp_request req = {
        .method = q->method,
        .params = q->params,
        .timeout_ms = CALL_QUIET_MS,
        .max_ms = CALL_MAX_MS,
        .is_raw = is_passed_on(u),
        .capabilities = q->capabilities,
        .wants_progress = q->progress_token != NULL,
        .log_level = protocol_log_level_name(q->log_level),
    };
    static const struct json NOTHING = {.type = JSON_OBJECT};
    if (!req.capabilities)
        req.capabilities = &NOTHING;
    return req;
}

/* For a connection on which the tools were not listed, so it does not know which tools need a
 * task. */
static struct mcp_call *send_alone(struct upstream_call *u, struct connections *way)
{
    struct mcp_request req = wire_request(u);
    if (str_eq(req.method, STR("tools/call")) && !req.is_raw)
        req.is_task =
            protocol_needs_task(bundle_find_tool(u->bundle, json_get_string(req.params, "name")));
    return connections_request(way, &req, &EVENTS, u);
}

static void send_on_own(void *ctx, struct private_connection *c, const struct err *e)
{
    struct upstream_call *u = ctx;
    if (!c) {
        upstream_call_failed(u, e);
        return;
    }
    assert(!u->own && !u->call);
    u->own = c;
    u->call = send_alone(u, private_connection_of(c));
}

/* Chooses the connection: it depends on whether the server may ask questions, and on whether the
 * server says for which request. */
static void send_up(struct upstream_call *u)
{
    struct gw_request *q = u->q;
    assert(q && !u->shared && !u->call && !u->own); /* a call is sent once */
    bool may_be_asked = gw_client_is_interactive(q->capabilities);
    if (bundle_is_per_person(u->bundle)) { /* its connections belong to one person already */
        struct mcp_request req = wire_request(u);
        str user_id = actor_sole_user(q->actor);
        u->shared = bundle_request_as(u->bundle, user_id, &req, &EVENTS, u);
        return;
    }
    if (u->era != MCP_ERA_MODERN && may_be_asked && q->session) {
        u->session_connection = session_connection_of(q->session, u->bundle);
        if (u->session_connection) { /* else the shared connection has to do */
            list_push(&u->session_connection->ups, &u->sibling);
            u->call = send_alone(u, u->session_connection->connections);
            return;
        }
    }
    if (u->era != MCP_ERA_MODERN && may_be_asked && protocol_may_need_input(q->method)) {
        private_connection_take(u->space, u->bundle, q->capabilities, &u->wait, send_on_own, u);
        return;
    }
    struct mcp_request req = wire_request(u);
    u->shared = bundle_request_for(u->bundle, actor_user(q->actor), &req, &EVENTS, u);
}

void gw_upstream_ask(struct gw_request *q, struct bundle *b, upstream_fn done)
{
    struct upstream_call *u = xcalloc(1, sizeof *u);
    u->g = q->g;
    u->space = q->space;
    u->bundle = b;
    u->done = done;
    u->era = bundle_era(b);
    list_init(&u->node);
    list_init(&u->sibling);
    list_init(&u->wait.node);
    list_init(&u->questions);
    list_push(&q->space->ups, &u->all);
    upstream_call_attach(u, q);
    send_up(u);
}

/* ---- responses ---- */

static void answer_unreachable(struct gw_request *q, struct bundle *b, const struct err *e)
{
    str why = bundle_failure(b, &q->arena, e);
    if (!str_eq(q->method, STR("tools/call"))) {
        gw_request_fail(q, RPC_INTERNAL_ERROR, "The server %.*s.", STR_ARG(why));
        return;
    }
    struct tool_result t = tool_result_error(&q->arena, "The server %.*s.", STR_ARG(why));
    gw_request_tool_result(q, &t, "error");
}

static void answer_error(struct gw_request *q, struct bundle *b, const struct json *error)
{
    enum mcp_era from = bundle_era(b);
    int64_t code = json_get_int(error, "code", RPC_INTERNAL_ERROR);
    bool is_tool = str_eq(q->method, STR("tools/call"));
    const struct json *addresses = json_get(json_get(error, "data"), "elicitations");
    if (code == MCP_URL_FIRST && q->era == MCP_ERA_MODERN && json_is(addresses, JSON_ARRAY)) {
        suspended_addresses(q, addresses);
        return;
    }
    if (code == MCP_MISSING_CAPABILITY && q->era == MCP_ERA_LEGACY && is_tool) {
        struct tool_result t = tool_result_error(
            &q->arena, "This tool requires something that the client does not support: %.*s",
            STR_ARG(json_get_string(error, "message")));
        gw_request_tool_result(q, &t, "error");
        return;
    }
    if (is_tool)
        gw_request_called(q, "error");
    gw_request_error(q, error, from);
}

static void answer_result(struct gw_request *q, struct bundle *b, const struct json *result)
{
    bool is_call = str_eq(q->method, STR("tools/call"));
    str task_id = is_call ? json_get_string(json_get(result, "task"), "taskId") : STR_NONE;
    if (is_call)
        gw_request_called(q, json_get_bool(result, "isError", false) ? "tool_error" : "ok");
    if (task_id.n > 0)
        gw_task_remember(q, bundle_entry(b)->server_name, task_id);
    if (is_call || str_starts(q->method, STR("tasks/")))
        result = gw_task_ids_rename(q->space, &q->arena, actor_user(q->actor), b, result);
    gw_request_result(q, result, bundle_era(b));
}

static void on_forwarded(struct gw_request *q, struct bundle *b, const struct mcp_reply *r)
{
    if (r->err)
        answer_unreachable(q, b, r->err);
    else if (r->error)
        answer_error(q, b, r->error);
    else
        answer_result(q, b, r->result);
}

void gw_upstream_forward(struct gw_request *q, struct bundle *b)
{
    /* A stateless server keeps its own request states; for other servers the gateway keeps them. */
    if (q->era == MCP_ERA_MODERN && bundle_era(b) != MCP_ERA_MODERN && suspended_resume(q))
        return;
    gw_upstream_ask(q, b, on_forwarded);
}
