/* incoming.c - dispatches each message of the server. */
#include <assert.h>
#include <errno.h>

#include "mcp/client/client_impl.h"

#define BAD_LINE_SHOWN     200 /* bytes of a bad line in a warning */
#define BAD_LINES_REPORTED 20  /* bad lines in a row that are reported individually */

static void take_answer(struct mcp_client *c, int64_t during, const struct rpc_message *m)
{
    int64_t id = m->id ? (m->id->type == JSON_INT ? m->id->i : 0) : during;
    struct mcp_exchange *x = exchange_find(c, id);
    if (x) /* otherwise the request was cancelled, or never sent */
        exchange_answer(x, &(struct mcp_reply){.result = m->result, .error = m->error});
    else if (!m->id)
        client_warn(c, "the server reports: %.*s\n", STR_ARG(json_get_string(m->error, "message")));
}

static void take_progress(struct mcp_client *c, struct json *params)
{
    const struct json *token = json_get(params, MCP_PROGRESS_TOKEN);
    struct mcp_exchange *x = json_is(token, JSON_INT) ? exchange_find(c, token->i) : NULL;
    if (!x || !x->call || !x->call->wants_progress)
        return;
    exchange_touch(x);
    json_unset(params, MCP_PROGRESS_TOKEN);
    if (x->call->ev.progress)
        x->call->ev.progress(x->call->ctx, params);
}

/* A server sends nothing about these methods except their answers. */
static bool is_aside(str method)
{
    return str_eq(method, STR("ping")) || str_ends(method, STR("/list"));
}

/* On a shared stream a message can be assigned to a call only while there is exactly one. */
static struct mcp_call *only_call(const struct mcp_client *c)
{
    struct mcp_call *found = NULL;
    LIST_EACH (call, &c->calls, struct mcp_call, node) {
        if (is_aside(call->method))
            continue;
        if (found)
            return NULL;
        found = call;
    }
    return found;
}

struct mcp_call *incoming_call(struct mcp_client *c, int64_t during)
{
    struct mcp_exchange *x = exchange_find(c, during);
    if (x)
        return x->call;
    return during == 0 ? only_call(c) : NULL;
}

static void take_log(struct mcp_client *c, int64_t during, const struct json *params)
{
    struct mcp_call *call = incoming_call(c, during);
    int wanted = call ? protocol_log_level(call->log_level) : -1;
    if (wanted < 0 || !call->ev.logged)
        client_notify_host(c, STR("notifications/message"), params);
    else if (protocol_log_level(json_get_string(params, "level")) >= wanted)
        call->ev.logged(call->ctx, params);
}

static void take_notification(struct mcp_client *c, int64_t during, const struct rpc_message *m)
{
    if (str_eq(m->method, STR("notifications/progress")))
        take_progress(c, m->params);
    else if (str_eq(m->method, STR("notifications/message")))
        take_log(c, during, m->params);
    else if (str_eq(m->method, STR("notifications/cancelled")))
        ask_take_cancelled(c, m->params);
    else if (str_eq(m->method, STR("notifications/subscriptions/acknowledged")))
        listen_acknowledged(c, m->params);
    else
        client_notify_host(c, m->method, m->params);
}

static void take_bad_line(struct mcp_client *c, str text, const struct err *why)
{
    if (++c->bad_lines_in_row <= BAD_LINES_REPORTED)
        client_warn(c, "not a JSON-RPC message: %.*s (%s)\n",
                    STR_ARG(str_slice(text, 0, BAD_LINE_SHOWN)), why->msg);
    if (c->bad_lines_in_row < MCP_BAD_LINES_MAX || c->state == CLIENT_DEAD)
        return;
    struct err e;
    err_set(&e, -EPROTO, "the server wrote %u lines in a row that are not JSON-RPC messages",
            c->bad_lines_in_row);
    client_fail(c, &e);
}

static void take_malformed(struct mcp_client *c, str text, const struct rpc_message *m,
                           const struct err *why)
{
    struct mcp_exchange *x =
        m->id && m->id->type == JSON_INT && !m->method.p ? exchange_find(c, m->id->i) : NULL;
    if (!x) {
        take_bad_line(c, text, why);
        return;
    }
    struct err e;
    err_set(&e, -EPROTO, "the server's answer is not valid: %s", why->msg);
    exchange_fail(x, &e);
}

static void take_one(struct mcp_client *c, int64_t during, struct json *v, str text)
{
    struct rpc_message m;
    struct err e;
    if (rpc_classify(v, &m, &e) < 0) {
        take_malformed(c, text, &m, &e);
        return;
    }
    c->bad_lines_in_row = 0;
    if (m.kind == RPC_NOTIFICATION)
        take_notification(c, during, &m);
    else if (m.kind == RPC_REQUEST)
        ask_take_request(c, during, &m);
    else
        take_answer(c, during, &m);
}

/* Only one revision has batches; before the handshake the revision is not known. */
static bool may_batch(const struct mcp_client *c)
{
    return c->version.n == 0 || str_eq(c->version, STR(MCP_REVISION_BATCH));
}

void incoming_take(struct mcp_client *c, int64_t during, str text)
{
    struct json *v;
    struct err e;
    assert(c->depth > 0); /* a message may end the client */
    if (rpc_parse(&c->in, text, &v, &e) < 0) {
        take_bad_line(c, text, &e);
        return;
    }
    if (v->type != JSON_ARRAY || !may_batch(c)) {
        take_one(c, during, v, text);
        return;
    }
    for (uint32_t i = 0; i < v->len && c->state != CLIENT_DEAD; i++)
        take_one(c, during, &v->items[i], text);
}
