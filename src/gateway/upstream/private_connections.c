/* The states of a private connection:
 *
 *   private_connection_take --> waiting --pump--> busy --give_back--> idle --timeout--> freed
 *                                                   |                  |
 *                                                   | server closes    | server closes
 *                                                   v                  v
 *                                    busy, connections NULL         freed
 *                                                   |
 *                                                   +--give_back--> freed
 *
 * A connection declares only the capabilities of its client, so it can be reused only for clients
 * with the same capabilities. When the pool is full, an idle connection with other capabilities is
 * closed; else the longest suspended call is cancelled (suspended_evict); else the request waits
 * and pump tries again every EVICT_MS.
 *
 * pump runs from a deferred callback or a timer, never inside private_connection_take, so `fn` is
 * not called before take has returned, except for the error that the queue is full. */
#include "gateway/upstream/private_connections.h"

#include <assert.h>
#include <errno.h>

#include "gateway/upstream/suspended_calls.h"

#define EVICT_MS 1000 /* between two attempts to free a connection */

struct gw_pool {
    struct gw_space *space;
    struct bundle *bundle;
    struct list_node connections;
    struct list_node waiting; /* struct private_wait */
    size_t nconnections, nwaiting;
    struct deferred pump;
    struct timer again;
};

struct private_connection {
    struct list_node node;
    struct gw_pool *pool;
    /* NULL: the server closed it; a call may still hold the struct */
    struct connections *connections;
    struct mcp_host host;
    struct arena arena;
    struct timer idle;
    unsigned abilities;
    bool is_busy;
};

static void pump(void *pool);

/* ---- capabilities of clients ---- */

/* A connection declares the capabilities of its client and no others, so that the server asks only
 * questions that the client can answer. */
enum { CAN_SAMPLE = 1, CAN_SAMPLE_TOOLS = 2, CAN_FORM = 4, CAN_URL = 8, CAN_ROOTS = 16 };

static unsigned abilities_of(const struct json *client)
{
    const struct json *sampling = json_get(client, "sampling");
    return (sampling ? CAN_SAMPLE : 0u) | (json_get(sampling, "tools") ? CAN_SAMPLE_TOOLS : 0u) |
           (mcp_ask_is_declared(client, MCP_ASK_ELICITATION, NULL) ? CAN_FORM : 0u) |
           (json_get(json_get(client, "elicitation"), "url") ? CAN_URL : 0u) |
           (json_get(client, "roots") ? CAN_ROOTS : 0u);
}

static void declare(struct arena *a, struct json *to, const char *name, bool can)
{
    if (can)
        json_set(a, to, str_from(name), *json_new(a, JSON_OBJECT));
}

static const struct json *declaration(struct arena *a, unsigned can)
{
    struct json *all = json_new(a, JSON_OBJECT);
    declare(a, all, "sampling", can & CAN_SAMPLE);
    declare(a, all, "elicitation", can & (CAN_FORM | CAN_URL));
    declare(a, all, "roots", can & CAN_ROOTS);
    if (can & CAN_SAMPLE)
        declare(a, json_get(all, "sampling"), "tools", can & CAN_SAMPLE_TOOLS);
    if (can & (CAN_FORM | CAN_URL)) {
        declare(a, json_get(all, "elicitation"), "form", can & CAN_FORM);
        declare(a, json_get(all, "elicitation"), "url", can & CAN_URL);
    }
    return all;
}

/* ---- connections ---- */

static void private_free(struct private_connection *l)
{
    timer_stop(&l->idle);
    assert(l->pool->nconnections > 0);
    list_del(&l->node);
    l->pool->nconnections--;
    arena_done(&l->arena);
    free(l);
}

static void on_private_closed(void *ctx, const struct err *e)
{
    struct private_connection *l = ctx;
    struct gw_pool *p = l->pool;
    l->connections = NULL;
    if (!l->is_busy) /* else the call that uses it frees it (give_back) */
        private_free(l);
    defer_start(p->space->g->deps.loop, &p->pump);
}

static void on_private_ask(void *ctx, struct mcp_ask *a)
{
    mcp_ask_refuse(a, RPC_METHOD_NOT_FOUND, "No client is connected that could answer.");
}

static void private_close(void *ctx)
{
    struct private_connection *l = ctx;
    struct connections *c = l->connections;
    struct gw_pool *p = l->pool;
    assert(!l->is_busy);
    private_free(l);
    if (c)
        bundle_disconnect(p->bundle, c);
}

static struct private_connection *private_open(struct gw_pool *p, unsigned abilities)
{
    static const struct mcp_client_events EVENTS = {.closed = on_private_closed};
    struct private_connection *l = xcalloc(1, sizeof *l);
    l->pool = p;
    l->abilities = abilities;
    arena_init(&l->arena);
    timer_init(&l->idle, p->space->g->deps.loop, private_close, l);
    l->host = (struct mcp_host){
        .capabilities = declaration(&l->arena, abilities),
        .ask = on_private_ask,
        .ctx = l,
    };
    list_push(&p->connections, &l->node);
    p->nconnections++;
    l->connections = bundle_connect(p->bundle, &l->host, &EVENTS, l);
    if (l->connections)
        return l;
    private_free(l);
    return NULL;
}

/* Returns an idle connection with the same capabilities, or opens one; in a full pool, in place of
 * an idle connection with other capabilities. */
static struct private_connection *find_free(struct gw_pool *p, unsigned abilities)
{
    struct private_connection *other = NULL;
    LIST_EACH (l, &p->connections, struct private_connection, node) {
        if (l->is_busy || !l->connections)
            continue;
        if (l->abilities == abilities)
            return l;
        other = l;
    }
    if (p->nconnections >= p->space->g->deps.limits.connections) {
        if (!other)
            return NULL;
        private_close(other);
    }
    return private_open(p, abilities);
}

static void give(struct gw_pool *p, struct private_wait *w, struct private_connection *l,
                 const struct err *e)
{
    assert(p->nwaiting > 0 && w->pool == p);
    list_del(&w->node);
    p->nwaiting--;
    if (l) {
        assert(!l->is_busy && l->connections);
        timer_stop(&l->idle);
        l->is_busy = true;
    }
    w->fn(w->ctx, l, e);
}

static void pump(void *pool)
{
    struct gw_pool *p = pool;
    while (!list_empty(&p->waiting)) {
        struct private_wait *w = LIST_ENTRY(p->waiting.next, struct private_wait, node);
        struct private_connection *l = find_free(p, w->abilities);
        struct err e = {0};
        if (!l && p->nconnections > 0) {
            /* Suspended calls must not block all other requests. */
            if (!suspended_evict(p->space, p))
                timer_start(&p->again, EVICT_MS);
            return;
        }
        /* With no connection at all and no new one, the server does not run. */
        err_set(&e, -ECONNREFUSED, "it is not running");
        give(p, w, l, &e);
    }
}

static struct gw_pool *pool_of(struct gw_space *s, struct bundle *b)
{
    str name = bundle_entry(b)->server_name;
    struct gw_pool *p = map_get(&s->pools, name);
    if (p)
        return p;
    p = xcalloc(1, sizeof *p);
    p->space = s;
    p->bundle = b;
    list_init(&p->connections);
    list_init(&p->waiting);
    defer_init(&p->pump, pump, p);
    timer_init(&p->again, s->g->deps.loop, pump, p);
    map_put(&s->pools, name, p);
    return p;
}

void private_connection_take(struct gw_space *s, struct bundle *b, const struct json *capabilities,
                             struct private_wait *w, private_connection_fn fn, void *ctx)
{
    struct gw_pool *p = pool_of(s, b);
    struct err e = {0};
    assert(list_empty(&w->node)); /* one wait at a time */
    w->fn = fn;
    w->ctx = ctx;
    w->pool = p;
    w->abilities = abilities_of(capabilities);
    if (p->nwaiting >= GW_PRIVATE_QUEUE_MAX) {
        err_set(&e, -EBUSY, "too many requests are waiting for it");
        fn(ctx, NULL, &e);
        return;
    }
    list_push(&p->waiting, &w->node);
    p->nwaiting++;
    defer_start(s->g->deps.loop, &p->pump);
}

void private_wait_stop(struct private_wait *w)
{
    if (w->node.next == &w->node) /* it does not wait */
        return;
    assert(w->pool->nwaiting > 0);
    list_del(&w->node);
    w->pool->nwaiting--;
}

void private_connection_give_back(struct private_connection *l)
{
    struct gw_pool *p = l->pool;
    assert(l->is_busy);
    l->is_busy = false;
    if (l->connections)
        timer_start(&l->idle, GW_PRIVATE_IDLE_MS);
    else
        private_free(l);
    defer_start(p->space->g->deps.loop, &p->pump);
}

struct connections *private_connection_of(struct private_connection *l)
{
    return l->connections;
}

static void drop_pool(struct gw_pool *p)
{
    struct err e = {0};
    err_set(&e, -ECONNRESET, "the server was removed");
    while (!list_empty(&p->waiting))
        give(p, LIST_ENTRY(p->waiting.next, struct private_wait, node), NULL, &e);
    LIST_EACH (l, &p->connections, struct private_connection, node) {
        if (l->connections)
            bundle_disconnect(p->bundle, l->connections);
        private_free(l);
    }
    defer_stop(&p->pump);
    timer_stop(&p->again);
    free(p);
}

void private_connection_bundle_gone(struct gw_space *s, struct bundle *b)
{
    struct gw_pool *p = map_del(&s->pools, bundle_entry(b)->server_name);
    if (p)
        drop_pool(p);
}

void private_connections_done(struct gw_space *s)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->pools, &i)) != NULL;)
        drop_pool(e->value);
    map_done(&s->pools);
}

bool private_connection_is_of(const struct private_connection *c, const struct gw_pool *pool)
{
    return c->pool == pool;
}
