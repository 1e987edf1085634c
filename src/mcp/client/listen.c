/* listen.c - the stream on which a modern server sends change notifications.
 *
 * Older revisions send them without a request; here the client requests them: lists that change,
 * and the resources that a caller has subscribed to. The stream is reopened when it ends;
 * everything that may have been missed meanwhile is reported as changed. */
#include <assert.h>
#include <errno.h>

#include "mcp/client/client_impl.h"

#define URIS_MAX 1000

struct listen {
    struct mcp_client *client;
    struct mcp_exchange x;
    struct timer again;
    struct map uris; /* subscribed URIs; the value is the listen itself, as a mark */
    uint64_t wait_ms;
    unsigned tries;
    bool was_open; /* an acknowledgement after this one follows a gap */
};

static const struct {
    const char *capability, *wanted;
} LISTS[] = {
    {"tools", "toolsListChanged"},
    {"prompts", "promptsListChanged"},
    {"resources", "resourcesListChanged"},
};

static bool tells_of(const struct mcp_client *c, size_t list)
{
    return json_get_bool(json_get(c->server_capabilities, LISTS[list].capability), "listChanged",
                         false);
}

static bool has_anything(const struct mcp_client *c)
{
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++) {
        if (tells_of(c, i))
            return true;
    }
    return c->listen && map_len(&c->listen->uris) > 0;
}

static struct json *build_params(struct listen *l, struct arena *a)
{
    struct json *wanted = json_new(a, JSON_OBJECT);
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++) {
        if (tells_of(l->client, i))
            json_set(a, wanted, str_from(LISTS[i].wanted), json_of_bool(true));
    }
    struct json *uris = json_new(a, JSON_ARRAY);
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&l->uris, &i)) != NULL;)
        json_push(a, uris, json_of_str(e->key));
    if (uris->len > 0)
        json_set(a, wanted, STR("resourceSubscriptions"), *uris);
    struct json *params = json_new(a, JSON_OBJECT);
    json_set(a, params, STR("notifications"), *wanted);
    return params;
}

static void listen_open_stream(struct listen *l)
{
    struct arena a;
    assert(l->x.id == 0 && l->client->era == MCP_ERA_MODERN); /* one stream */
    arena_init(&a);
    struct exchange_spec s = {
        .message = {.method = STR("subscriptions/listen"),
                    .params = build_params(l, &a),
                    .era = MCP_ERA_MODERN},
        .timeout_ms = UINT64_MAX,
        .deadline_ms = UINT64_MAX,
    };
    exchange_send(&l->x, &s);
    arena_done(&a);
}

static void on_again(void *ctx)
{
    struct listen *l = ctx;
    client_enter(l->client);
    listen_open_stream(l);
    client_leave(l->client);
}

static void retry(struct listen *l, const struct err *e)
{
    const struct mcp_reconnect *policy = &l->client->dial.reconnect;
    assert(l->x.id == 0 && !timer_active(&l->again));
    if (e && ++l->tries > policy->max_tries) {
        client_fail(l->client, e);
        return;
    }
    timer_start(&l->again, l->wait_ms);
    l->wait_ms = l->wait_ms * 3 / 2 < policy->max_ms ? l->wait_ms * 3 / 2 : policy->max_ms;
}

static void on_ended(struct mcp_exchange *x, const struct mcp_reply *r)
{
    struct listen *l = CONTAINER_OF(x, struct listen, x);
    if (r->error || (r->err && r->err->code == -EACCES) || x->http_status != 0)
        client_warn(
            l->client, "the server does not send change notifications: %.*s\n",
            STR_ARG(r->error ? json_get_string(r->error, "message") : str_from(r->err->msg)));
    else
        retry(l, r->err);
}

bool listen_cancelled(struct mcp_client *c, int64_t id)
{
    struct listen *l = c->listen;
    if (!l || id == 0 || l->x.id != id)
        return false;
    exchange_drop(&l->x);
    retry(l, NULL);
    return true;
}

void listen_acknowledged(struct mcp_client *c, const struct json *params)
{
    struct listen *l = c->listen;
    if (!l || l->x.id == 0)
        return;
    l->tries = 0;
    l->wait_ms = c->dial.reconnect.initial_ms;
    bool was_open = l->was_open;
    l->was_open = true;
    if (was_open)
        CLIENT_TRANSPORT_EVENTS.gap(c);
}

static struct listen *listen_new(struct mcp_client *c)
{
    struct listen *l = xcalloc(1, sizeof(*l));
    l->client = c;
    l->wait_ms = c->dial.reconnect.initial_ms;
    map_init(&l->uris);
    exchange_init(&l->x, c, on_ended);
    timer_init(&l->again, c->loop, on_again, l);
    return l;
}

void listen_start(struct mcp_client *c)
{
    if (c->era != MCP_ERA_MODERN || !c->host.notified || c->listen || !has_anything(c))
        return;
    c->listen = listen_new(c);
    listen_open_stream(c->listen);
}

void listen_stop(struct mcp_client *c)
{
    struct listen *l = c->listen;
    if (!l)
        return;
    exchange_drop(&l->x);
    timer_stop(&l->again);
    map_done(&l->uris);
    free(l);
    c->listen = NULL;
}

/* ---- subscriptions ---- */

static void reopen(struct listen *l)
{
    exchange_cancel(&l->x, "the subscriptions have changed");
    timer_stop(&l->again);
    l->was_open = false;
    if (has_anything(l->client))
        listen_open_stream(l);
}

bool listen_serve(struct mcp_call *call, const struct mcp_request *req)
{
    struct mcp_client *c = call->client;
    bool is_new = str_eq(req->method, STR("resources/subscribe"));
    if (!is_new && !str_eq(req->method, STR("resources/unsubscribe")))
        return false;
    str uri = json_get_string(req->params, "uri");
    if (!c->listen)
        c->listen = listen_new(c);
    struct listen *l = c->listen;
    bool had = map_get(&l->uris, uri) != NULL;
    if (is_new && !had && map_len(&l->uris) < URIS_MAX)
        map_put(&l->uris, uri, l);
    else if (!is_new)
        map_del(&l->uris, uri);
    if (had != (map_get(&l->uris, uri) != NULL))
        reopen(l);
    call_answer_empty(call);
    return true;
}
