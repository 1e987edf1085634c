/* ask.c - questions of the server to the client: requests of its own, or questions inside a
 * result. */
#include <assert.h>
#include <errno.h>

#include "mcp/client/client_impl.h"

static const char *const METHODS[] = {[MCP_ASK_SAMPLING] = "sampling/createMessage",
                                      [MCP_ASK_ELICITATION] = "elicitation/create",
                                      [MCP_ASK_ROOTS] = "roots/list"};
static const char *const CAPABILITIES[] = {[MCP_ASK_SAMPLING] = "sampling",
                                           [MCP_ASK_ELICITATION] = "elicitation",
                                           [MCP_ASK_ROOTS] = "roots"};

/* ---- the answer ---- */

static void ask_free(struct ask *a)
{
    assert(a->client->nasks > 0);
    list_del(&a->node);
    a->client->nasks--;
    arena_done(&a->mem);
    free(a);
}

/* A failure to send is ignored: the call that the answer belongs to will fail as well. */
static void send_answer(struct mcp_client *c)
{
    struct outgoing m = {.text = buf_str(&c->out), .era = c->era};
    (void)client_send(c, &m, NULL);
}

static void reply_result(struct mcp_client *c, const struct json *id, const struct json *result)
{
    buf_recycle(&c->out, RPC_SPARE_BYTES);
    rpc_write_result(&c->out, id, result);
    if (buf_failed(&c->out)) {
        buf_recycle(&c->out, RPC_SPARE_BYTES);
        rpc_write_error(&c->out, id, RPC_INTERNAL_ERROR, STR("the answer is too large"));
    }
    send_answer(c);
}

static void reply_error(struct mcp_client *c, const struct json *id, int code, const char *message)
{
    buf_recycle(&c->out, RPC_SPARE_BYTES);
    rpc_write_error(&c->out, id, code, str_from(message));
    send_answer(c);
}

void mcp_ask_answer(struct mcp_ask *pub, const struct json *result)
{
    struct ask *a = CONTAINER_OF(pub, struct ask, pub);
    struct mcp_client *c = a->client;
    client_enter(c);
    if (a->id) {
        reply_result(c, a->id, result);
        if (a->pub.call)
            exchange_touch(&a->pub.call->x);
    } else {
        rounds_answered(a->pub.call, a->key, result);
    }
    ask_free(a);
    client_leave(c);
}

void mcp_ask_refuse(struct mcp_ask *pub, int code, const char *message)
{
    struct ask *a = CONTAINER_OF(pub, struct ask, pub);
    if (a->id)
        reply_error(a->client, a->id, code, message);
    else
        rounds_refused(a->pub.call, code, message);
    ask_free(a);
}

/* ---- which party answers ---- */

static bool has_mode(const struct json *elicitation, const struct json *params)
{
    str mode = json_get_string(params, "mode");
    if (str_eq(mode, STR("url")))
        return json_get(elicitation, "url") != NULL;
    /* An empty object also means "form". */
    return json_get(elicitation, "form") || !json_get(elicitation, "url");
}

/* Returns 0, or the error code for the reply. */
static int check_declared(const struct json *declared, enum mcp_ask_kind kind,
                          const struct json *params)
{
    const struct json *capability = json_get(declared, CAPABILITIES[kind]);
    if (!json_is(capability, JSON_OBJECT))
        return RPC_METHOD_NOT_FOUND;
    if (kind == MCP_ASK_ELICITATION && !has_mode(capability, params))
        return RPC_INVALID_PARAMS;
    return 0;
}

str mcp_ask_method(enum mcp_ask_kind kind)
{
    return str_from(METHODS[kind]);
}

bool mcp_ask_is_declared(const struct json *capabilities, enum mcp_ask_kind kind,
                         const struct json *params)
{
    return check_declared(capabilities, kind, params) == 0;
}

static int find_kind(str method, enum mcp_ask_kind *ret)
{
    ptrdiff_t i = STR_INDEX(method, METHODS);
    *ret = (enum mcp_ask_kind)i;
    return i < 0 ? -ENOENT : 0;
}

static struct ask *ask_new(struct mcp_client *c, enum mcp_ask_kind kind, const struct json *params,
                           struct mcp_call *call)
{
    struct ask *a = xcalloc(1, sizeof(*a));
    a->client = c;
    a->pub.kind = kind;
    a->pub.params = params ? json_clone(&a->mem, params) : json_new(&a->mem, JSON_OBJECT);
    a->pub.call = call;
    list_push(&c->asks, &a->node);
    c->nasks++;
    return a;
}

static void ask_put(struct ask *a)
{
    struct mcp_client *c = a->client;
    struct mcp_call *call = a->pub.call;
    assert(c->depth > 0 && (a->id || call)); /* a question inside a result has its call */
    if (call && call->ev.ask) {
        a->is_calls = true;
        call->ev.ask(call->ctx, &a->pub);
    } else if (c->host.ask) {
        c->host.ask(c->host.ctx, &a->pub);
    } else {
        mcp_ask_refuse(&a->pub, RPC_METHOD_NOT_FOUND, "this client cannot answer the request");
    }
}

static void tell_gone(struct ask *a)
{
    struct mcp_call *call = a->pub.call;
    struct mcp_client *c = a->client;
    assert(!a->is_calls || call);
    if (a->is_calls && call->ev.ask_gone)
        call->ev.ask_gone(call->ctx, &a->pub);
    else if (!a->is_calls && c->host.ask_gone)
        c->host.ask_gone(c->host.ctx, &a->pub);
}

/* ---- requests of a legacy server ---- */

/* Many servers request the roots once, right after the handshake: that request does not belong to a
 * call. */
static bool is_about_a_call(const struct mcp_client *c, enum mcp_ask_kind kind)
{
    if (kind != MCP_ASK_ROOTS)
        return true;
    LIST_FOREACH (n, &c->calls) {
        if (protocol_may_need_input(LIST_ENTRY(n, struct mcp_call, node)->method))
            return true;
    }
    return false;
}

/* A question during a call that begins a task belongs to the task, which outlives the call. */
static struct mcp_call *asking_call(struct mcp_client *c, int64_t during)
{
    struct mcp_call *call = incoming_call(c, during);
    return call && call->begins_task ? NULL : call;
}

void ask_take_request(struct mcp_client *c, int64_t during, const struct rpc_message *m)
{
    enum mcp_ask_kind kind;
    if (str_eq(m->method, STR("ping"))) {
        reply_result(c, m->id, &(struct json){.type = JSON_OBJECT});
        return;
    }
    if (c->era == MCP_ERA_MODERN) {
        client_warn(c,
                    "the server sent a request that this protocol revision does not define: %.*s\n",
                    STR_ARG(str_slice(m->method, 0, 128)));
        return;
    }
    int code = find_kind(m->method, &kind) < 0
                   ? RPC_METHOD_NOT_FOUND
                   : check_declared(c->host.capabilities, kind, m->params);
    if (code != 0) {
        reply_error(c, m->id, code, "the client has not declared this capability");
        return;
    }
    c->has_asked = c->has_asked || (during == 0 && is_about_a_call(c, kind));
    if (c->nasks >= MCP_ASKS_MAX) {
        reply_error(c, m->id, RPC_INTERNAL_ERROR, "too many concurrent requests");
        return;
    }
    struct ask *a = ask_new(c, kind, m->params, asking_call(c, during));
    a->id = json_clone(&a->mem, m->id);
    ask_put(a);
}

static bool same_id(const struct json *a, const struct json *b)
{
    return a && b && a->type == b->type && json_equal(a, b);
}

void ask_take_cancelled(struct mcp_client *c, const struct json *params)
{
    const struct json *id = json_get(params, "requestId");
    if (json_is(id, JSON_INT) && listen_cancelled(c, id->i))
        return;
    LIST_EACH (a, &c->asks, struct ask, node) {
        if (same_id(a->id, id)) {
            tell_gone(a);
            ask_free(a);
            return;
        }
    }
}

/* ---- questions inside results ---- */

int ask_start_input(struct mcp_call *call, str key, const struct json *request, struct err *e)
{
    struct mcp_client *c = call->client;
    str method = json_get_string(request, "method");
    const struct json *params = json_get(request, "params");
    enum mcp_ask_kind kind;
    if (find_kind(method, &kind) < 0 || check_declared(call->declared, kind, params) != 0)
        return err_set(e, -EPROTO,
                       "the server requests \"%.*s\", a capability that the client did not declare",
                       STR_ARG(str_slice(method, 0, 64)));
    if (c->nasks >= MCP_ASKS_MAX)
        return err_set(e, -EBUSY, "the server has more than %d unanswered requests", MCP_ASKS_MAX);
    struct ask *a = ask_new(c, kind, params, call);
    a->key = arena_str(&a->mem, key);
    ask_put(a);
    return 0;
}

/* ---- the end of a call, and of the connection ---- */

static void ask_drop(struct ask *a, bool is_quiet)
{
    struct mcp_client *c = a->client;
    if (!is_quiet)
        tell_gone(a);
    if (a->id && c->transport)
        reply_error(c, a->id, RPC_INTERNAL_ERROR,
                    "the request that this question belongs to has ended");
    ask_free(a);
}

/* Searches from the head each time, because a callback may have answered other questions. */
static struct ask *first_of(struct mcp_client *c, const struct mcp_call *call)
{
    LIST_EACH (a, &c->asks, struct ask, node)
        if (!call || a->pub.call == call)
            return a;
    return NULL;
}

void ask_drop_of(struct mcp_call *call, bool is_cancelled)
{
    struct ask *a;
    while ((a = first_of(call->client, call)) != NULL)
        ask_drop(a, is_cancelled && a->is_calls);
}

void ask_drop_all(struct mcp_client *c, bool is_quiet)
{
    struct ask *a;
    while ((a = first_of(c, NULL)) != NULL)
        ask_drop(a, is_quiet);
}
