/* client.c - opening and closing a connection, and the events of its transport.
 *
 *   mcp_open --> CONNECTING --client_ready--> READY
 *                    |                         |
 *                    +------- mcp_close -------+--> CLOSING --transport closed--> DEAD
 *                    +------- failure, loss: client_fail -----------------------> DEAD
 *                    +------- mcp_abort (from every state, no callback) --------> DEAD
 *
 * CONNECTING: connect.c probes; calls fail with -ENOTCONN. READY: calls are sent. CLOSING: no new
 * calls; the transport ends in order. DEAD: nothing calls back any more; client_leave frees the
 * client when the outermost callback has returned.
 *
 * Order at the end (client_fail): stop connecting and listening, free the transport, answer every
 * call with the error, drop the server's questions, then `closed` as the last callback. Each of
 * these callbacks may abort the client, so the state is checked again after them. */
#include "mcp/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "mcp/client/client_impl.h"
#include "mcp/dial.h"

#define BODY_SHOWN    200 /* bytes of a refusal's body in an error message */
#define IN_KEEP_BYTES (1024u * 1024)
#define WARNING_MAX   2048

/* ---- memory ---- */

static void free_dead_calls(struct mcp_client *c)
{
    struct list_node *n;
    while ((n = list_pop(&c->dead_calls)) != NULL)
        call_free(LIST_ENTRY(n, struct mcp_call, node));
}

static void client_delete(struct mcp_client *c)
{
    assert(list_empty(&c->calls) && list_empty(&c->asks) && !c->transport);
    free_dead_calls(c);
    map_done(&c->tools.by_name);
    arena_done(&c->tools.mem);
    free(c->table.buckets);
    buf_done(&c->out);
    arena_done(&c->in);
    arena_done(&c->facts);
    arena_done(&c->mem);
    free(c);
}

void client_enter(struct mcp_client *c)
{
    c->depth++;
}

void client_leave(struct mcp_client *c)
{
    assert(c->depth > 0);
    if (--c->depth > 0)
        return;
    free_dead_calls(c);
    if (c->state == CLIENT_DEAD)
        client_delete(c);
}

/* ---- the end ---- */

static void drop_transport(struct mcp_client *c)
{
    if (c->transport)
        c->transport->ops->free(c->transport);
    c->transport = NULL;
}

static void answer_all(struct mcp_client *c, const struct err *e)
{
    struct err closing;
    if (e->code == 0)
        err_set(&closing, -ECANCELED, "the connection was closed");
    while (!list_empty(&c->calls)) {
        struct mcp_call *call = LIST_ENTRY(c->calls.next, struct mcp_call, node);
        call_fail_with(call, e->code == 0 ? &closing : e);
    }
}

void client_fail(struct mcp_client *c, const struct err *e)
{
    assert(c->depth > 0);
    if (c->state == CLIENT_DEAD)
        return;
    struct err why = *e; /* *e may belong to an object that is freed below */
    c->state = CLIENT_CLOSING;
    connect_stop(c);
    listen_stop(c);
    drop_transport(c); /* before the callbacks: nothing can be sent from them */
    answer_all(c, &why);
    ask_drop_all(c, false);
    if (c->state == CLIENT_DEAD) /* one of the callbacks has aborted the client */
        return;
    c->state = CLIENT_DEAD;
    c->ev.closed(c->ctx, &why);
}

void client_ready(struct mcp_client *c)
{
    assert(c->depth > 0 && c->state == CLIENT_CONNECTING && c->transport);
    c->state = CLIENT_READY;
    connect_stop(c);
    if (c->ev.ready)
        c->ev.ready(c->ctx);
    if (c->state == CLIENT_READY) /* the callback may have closed the client */
        listen_start(c);
}

void client_warn(struct mcp_client *c, const char *fmt, ...)
{
    if (!c->host.on_stderr)
        return;
    char line[WARNING_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1;
    c->host.on_stderr(c->host.ctx, (str){line, len});
}

/* ---- out ---- */

int client_send(struct mcp_client *c, const struct outgoing *m, struct err *e)
{
    if (buf_failed(&c->out))
        return err_set(e, -EMSGSIZE, "the request is larger than %u bytes", RPC_MESSAGE_MAX);
    if (!c->transport)
        return err_set(e, -ENOTCONN, "the connection to the server is closed");
    return c->transport->ops->send(c->transport, m, e);
}

int mcp_notify(struct mcp_client *c, str method, const struct json *params)
{
    buf_recycle(&c->out, RPC_SPARE_BYTES);
    rpc_write_notification(&c->out, method, params);
    struct outgoing m = {
        .text = buf_str(&c->out), .era = c->era, .method = method, .params = params};
    return client_send(c, &m, NULL);
}

void client_notify_host(struct mcp_client *c, str method, const struct json *params)
{
    if (c->host.notified)
        c->host.notified(c->host.ctx, method, params);
}

/* ---- events of the transport ---- */

static void on_message(void *ctx, int64_t during, str text)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    incoming_take(c, during, text);
    /* One large message must not keep its memory for the life of the connection. */
    if (c->in.total > IN_KEEP_BYTES)
        arena_done(&c->in);
    else
        arena_reset(&c->in);
    client_leave(c);
}

static void on_accepted(void *ctx)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    connect_accepted(c);
    client_leave(c);
}

static int status_errno(int status)
{
    return status == 401   ? -EKEYREJECTED
           : status == 403 ? -EACCES
           : status == 404 ? -ENOENT
           : status >= 500 ? -EREMOTEIO
                           : -EPROTO;
}

static void describe_refusal(struct err *e, int status, str body)
{
    str text = str_trim(str_slice(body, 0, BODY_SHOWN));
    const char *hint = status == 401 || status == 403 ? " (it requires credentials)" : "";
    err_set(e, status_errno(status), "the server answered with HTTP status %d%s%s%.*s", status,
            hint, text.n > 0 ? ": " : "", STR_ARG(text));
}

/* A refusal with a JSON-RPC error object in its body is handled as that error. */
static bool take_error_body(struct mcp_client *c, struct mcp_exchange *x, str body)
{
    struct json *v;
    struct rpc_message m;
    if (rpc_parse(&c->in, body, &v, NULL) < 0 || rpc_classify(v, &m, NULL) < 0 ||
        m.kind != RPC_ERROR)
        return false;
    exchange_answer(x, &(struct mcp_reply){.error = m.error});
    return true;
}

/* The status and the header decide whether credentials are missing, because the body may say
 * anything. */
static bool wants_credentials(int status, str challenge)
{
    return status == 401 ||
           (status == 403 && str_find(challenge, STR("insufficient_scope"), 0) >= 0);
}

static void on_message_refused(void *ctx, int64_t during, int status, str body, str challenge)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    struct mcp_exchange *x = exchange_find(c, during);
    struct err e;
    describe_refusal(&e, status, body);
    /* the HTTP request ends before the challenge is used */
    challenge = arena_str(&c->in, challenge);
    if (x) {
        x->http_status = status;
        if (wants_credentials(status, challenge) || !take_error_body(c, x, body))
            exchange_refuse(x, &e, challenge);
        arena_reset(&c->in);
    } else if (during == OUTGOING_INITIALIZED) {
        err_prefix(&e, "notifications/initialized");
        client_fail(c, &e);
    }
    client_leave(c);
}

static void on_lost(void *ctx, int64_t during, const struct err *e)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    struct mcp_exchange *x = exchange_find(c, during);
    if (x)
        exchange_fail(x, e);
    else if (during == OUTGOING_INITIALIZED)
        client_fail(c, e);
    client_leave(c);
}

static void on_alive(void *ctx, int64_t during)
{
    struct mcp_exchange *x = exchange_find(ctx, during);
    if (x)
        exchange_touch(x);
}

static void on_child_stderr(void *ctx, str bytes)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    if (c->host.on_stderr)
        c->host.on_stderr(c->host.ctx, bytes);
    client_leave(c);
}

/* The id of the dropped message is not known, so every request in progress must fail. */
static void on_overflowed(void *ctx)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    struct err e;
    err_set(&e, -EMSGSIZE, "the server sent a message of more than %u MiB",
            RPC_MESSAGE_MAX / 1024 / 1024);
    answer_all(c, &e);
    if (c->state == CLIENT_CONNECTING) /* the handshake is not among the calls */
        client_fail(c, &e);
    client_leave(c);
}

static void on_session_lost(void *ctx)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    connect_renew(c);
    client_leave(c);
}

/* Reports every list as changed, because a notification may have been lost. */
static void on_gap(void *ctx)
{
    static const str LISTS[][2] = {
        {STR_INIT("tools"), STR_INIT("notifications/tools/list_changed")},
        {STR_INIT("resources"), STR_INIT("notifications/resources/list_changed")},
        {STR_INIT("prompts"), STR_INIT("notifications/prompts/list_changed")},
    };
    struct mcp_client *c = ctx;
    client_enter(c);
    for (size_t i = 0; i < ARRAY_LEN(LISTS) && c->state == CLIENT_READY; i++) {
        if (json_get_bool(json_get_str(c->server_capabilities, LISTS[i][0]), "listChanged", false))
            client_notify_host(c, LISTS[i][1], NULL);
    }
    client_leave(c);
}

static void on_transport_closed(void *ctx, const struct err *e)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    /* While connecting the loss may only mean that the server needs another protocol. */
    if (c->state != CLIENT_CONNECTING || !connect_again(c, e))
        client_fail(c, e);
    client_leave(c);
}

const struct transport_events CLIENT_TRANSPORT_EVENTS = {
    .message = on_message,
    .accepted = on_accepted,
    .refused = on_message_refused,
    .lost = on_lost,
    .alive = on_alive,
    .on_stderr = on_child_stderr,
    .overflowed = on_overflowed,
    .session_lost = on_session_lost,
    .gap = on_gap,
    .closed = on_transport_closed,
};

/* ---- opening and closing ---- */

static void copy_capabilities(struct mcp_client *c)
{
    if (c->host.capabilities)
        c->host.capabilities = json_clone(&c->mem, c->host.capabilities);
    message_write_capabilities(&c->out, c->host.capabilities, true);
    c->capabilities = arena_str(&c->mem, buf_str(&c->out));
}

struct mcp_client *mcp_open(struct loop *l, struct fetcher *f, const struct mcp_dial *dial,
                            const struct mcp_host *host, const struct mcp_client_events *ev,
                            void *ctx)
{
    assert(f || dial->wire == MCP_WIRE_STDIO);
    struct mcp_client *c = xcalloc(1, sizeof(*c));
    c->loop = l;
    c->fetcher = f;
    c->host = host ? *host : (struct mcp_host){0};
    c->ev = *ev;
    c->ctx = ctx;
    c->log_level = -1;
    list_init(&c->calls);
    list_init(&c->asks);
    list_init(&c->dead_calls);
    buf_init(&c->out, RPC_MESSAGE_MAX);
    map_init(&c->tools.by_name);
    c->dial = dial_copy(&c->mem, dial);
    copy_capabilities(c);
    connect_init(c);
    return c;
}

void mcp_close(struct mcp_client *c)
{
    if (c->state == CLIENT_DEAD || c->state == CLIENT_CLOSING)
        return;
    c->state = CLIENT_CLOSING;
    connect_stop(c);
    listen_stop(c);
    if (c->transport)
        c->transport->ops->close(c->transport);
    else
        connect_init(c); /* the connection has not begun: its first turn finds that it is closing */
}

void mcp_abort(struct mcp_client *c)
{
    if (c->state == CLIENT_DEAD)
        return;
    client_enter(c);
    c->state = CLIENT_DEAD;
    connect_stop(c);
    listen_stop(c);
    drop_transport(c);
    while (!list_empty(&c->calls))
        mcp_cancel(LIST_ENTRY(c->calls.next, struct mcp_call, node), NULL);
    ask_drop_all(c, true);
    client_leave(c);
}

void client_drop(struct mcp_client *c, const struct err *e)
{
    client_enter(c);
    answer_all(c, e);
    mcp_abort(c);
    client_leave(c);
}

/* ---- facts about the server ---- */

enum mcp_era mcp_era(const struct mcp_client *c)
{
    return c->era;
}

str mcp_version(const struct mcp_client *c)
{
    return c->version;
}

const struct json *mcp_server_capabilities(const struct mcp_client *c)
{
    return c->server_capabilities;
}

const struct json *mcp_server_info(const struct mcp_client *c)
{
    return c->server_info;
}

str mcp_instructions(const struct mcp_client *c)
{
    return c->instructions;
}

int mcp_pid(const struct mcp_client *c)
{
    return c->transport && c->transport->ops->pid ? c->transport->ops->pid(c->transport) : 0;
}

bool mcp_has_asked(const struct mcp_client *c)
{
    return c->has_asked;
}
