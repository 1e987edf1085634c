#include "gateway/upstream/session_connection.h"

#include <assert.h>

#include "gateway/upstream/ask.h"
#include "gateway/upstream/task_ids.h"
#include "gateway/upstream/upstream.h"

static void session_connection_free(struct session_connection *i)
{
    assert(list_empty(&i->ups)); /* its calls have ended before it */
    list_del(&i->node);
    arena_done(&i->arena);
    free(i);
}

/* A message without a request belongs to the only call in progress, if there is exactly one. */
static struct gw_request *only(const struct session_connection *i)
{
    const struct list_node *first = i->ups.next;
    if (first == &i->ups || first->next != &i->ups)
        return NULL;
    return LIST_ENTRY(first, struct upstream_call, sibling)->q;
}

static void on_session_conn_ask(void *ctx, struct mcp_ask *a)
{
    struct session_connection *i = ctx;
    gw_ask_session(i->session, only(i), i->bundle, a, i);
}

static void on_session_conn_ask_gone(void *ctx, struct mcp_ask *a)
{
    struct session_connection *i = ctx;
    gw_ask_withdraw(i->session, a);
}

static bool is_forwarded(str method)
{
    static const char *const METHODS[] = {"notifications/message",
                                          "notifications/elicitation/complete",
                                          "notifications/tasks/status", NULL};
    /* notifications about lists and resources arrive on the shared connection */
    return str_in_cstrs(method, METHODS);
}

static void on_session_conn_notified(void *ctx, str method, const struct json *params)
{
    struct session_connection *i = ctx;
    struct gw_session *s = i->session;
    if (!is_forwarded(method))
        return;
    if (str_eq(method, STR("notifications/message")) &&
        protocol_log_level(json_get_string(params, "level")) < s->log_level)
        return;
    struct buf *b = &s->g->scratch;
    struct arena a;
    arena_init(&a);
    buf_recycle(b, GW_SPARE_BYTES);
    rpc_write_notification(
        b, method, gw_task_ids_rename(s->space, &a, actor_user(s->actor), i->bundle, params));
    arena_done(&a);
    if (buf_failed(b))
        return;
    struct gw_request *q = only(i);
    if (!q || !q->out->emit(q, buf_str(b)))
        gw_session_send(s, buf_str(b));
}

static void on_session_conn_closed(void *ctx, const struct err *e)
{
    session_connection_free(ctx);
}

static const struct mcp_client_events EVENTS = {.closed = on_session_conn_closed};

/* The client's capabilities that a server can use through the gateway. */
static const struct json *shared_capabilities(struct arena *a, const struct json *client)
{
    static const char *const KEYS[] = {"sampling", "elicitation", "roots"};
    struct json *out = json_new(a, JSON_OBJECT);
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        const struct json *v = json_get(client, KEYS[i]);
        if (v)
            json_set(a, out, str_from(KEYS[i]), *json_clone(a, v));
    }
    return out;
}

static struct session_connection *session_conn_find(struct gw_session *s, const struct bundle *b)
{
    LIST_EACH (i, &s->connections, struct session_connection, node)
        if (i->bundle == b)
            return i;
    return NULL;
}

struct session_connection *session_connection_of(struct gw_session *s, struct bundle *b)
{
    struct session_connection *i = session_conn_find(s, b);
    if (i)
        return i;
    i = xcalloc(1, sizeof *i);
    list_init(&i->ups);
    i->session = s;
    i->bundle = b;
    arena_init(&i->arena);
    i->host = (struct mcp_host){
        .capabilities = shared_capabilities(&i->arena, s->capabilities),
        .ask = on_session_conn_ask,
        .ask_gone = on_session_conn_ask_gone,
        .notified = on_session_conn_notified,
        .ctx = i,
    };
    list_push(&s->connections, &i->node);
    i->connections = bundle_connect(b, &i->host, &EVENTS, i);
    if (i->connections)
        return i;
    session_connection_free(i);
    return NULL;
}

static void disconnect(struct session_connection *i)
{
    /* its questions end with it, and the server sends no cancellation for them */
    gw_ask_drop_owner(i->session, i);
    bundle_disconnect(i->bundle, i->connections);
    session_connection_free(i);
}

void session_connection_drop_all(struct gw_session *s)
{
    LIST_FOREACH (n, &s->connections)
        disconnect(LIST_ENTRY(n, struct session_connection, node));
}

void session_connection_bundle_gone(struct gw_session *s, struct bundle *b)
{
    struct session_connection *i = session_conn_find(s, b);
    if (i)
        disconnect(i);
}

void session_connection_notify_all(struct gw_session *s, str method, const struct json *params)
{
    LIST_EACH (i, &s->connections, struct session_connection, node) {
        struct mcp_client *c = connections_main(i->connections);
        if (c)
            (void)mcp_notify(c, method, params);
    }
}

static void on_level_set(void *ctx, const struct mcp_reply *r) {}

void session_connection_set_level(struct gw_session *s, str level)
{
    struct json params = JSON_ONE("level", json_of_str(level));
    struct mcp_request req = {.method = STR("logging/setLevel"), .params = &params};
    static const struct mcp_call_events NOBODY = {.done = on_level_set};
    LIST_EACH (i, &s->connections, struct session_connection, node)
        (void)connections_request(i->connections, &req, &NOBODY, NULL);
}
