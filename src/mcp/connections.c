#include "mcp/connections.h"

#include <assert.h>
#include <errno.h>

#include "base/list.h"
#include "loop/timer.h"
#include "mcp/dial.h"
#include "mcp/relay.h"

#define WAIT_MAX_MS (15 * 60 * 1000u) /* in the queue, where the request names no limit */

struct connection {
    struct connections *p;
    struct mcp_client *client; /* NULL: not open */
    bool is_ready;
    size_t busy;
    struct timer idle; /* not of the main connection */
};

struct connections {
    struct loop *loop;
    struct fetcher *fetcher;
    struct arena mem;
    struct mcp_dial dial;
    struct mcp_host host;
    struct mcp_client_events ev;
    void *ctx;
    struct connection connections[CONNECTIONS_MAX]; /* the first is the main one */
    struct list_node waiting, under_way;
    size_t nwaiting, nunder_way;
    bool is_exclusive; /* the server has asked something: one call for each connection */
    bool is_draining, is_closing, is_dead;
    struct timer drain;
    struct err why; /* of the main connection's end */
    unsigned depth;
};

struct connections_call {
    struct call_relay relay; /* first: it is the context of the call */
    struct connections *p;
    struct list_node node;         /* in waiting or under_way */
    struct connection *connection; /* NULL: it waits */
    struct mcp_call *call;
    struct arena mem; /* of req, while it waits */
    struct mcp_request req;
    struct timer limit;
    struct err *failure; /* told in a turn of its own */
};

static void pump(struct connections *p);
static void close_all(struct connections *p);

static void enter(struct connections *p)
{
    p->depth++;
}

static void leave(struct connections *p)
{
    if (--p->depth > 0 || !p->is_dead)
        return;
    arena_done(&p->mem);
    free(p);
}

/* ---- calls ---- */

static void call_unlink(struct connections_call *c)
{
    struct connections *p = c->p;
    list_del(&c->node);
    timer_stop(&c->limit);
    if (!c->connection) {
        p->nwaiting--;
        return;
    }
    p->nunder_way--;
    if (--c->connection->busy == 0 && c->connection != &p->connections[0] && c->connection->client)
        timer_start(&c->connection->idle, CONNECTIONS_IDLE_MS);
}

static void call_free(struct connections_call *c)
{
    arena_done(&c->mem);
    free(c->failure);
    free(c);
}

static void finish_drain(struct connections *p)
{
    if (p->is_draining && !p->is_closing && p->nwaiting + p->nunder_way == 0)
        close_all(p);
}

static void call_end(struct connections_call *c, const struct mcp_reply *r)
{
    struct connections *p = c->p;
    enter(p);
    call_unlink(c);
    c->relay.to.done(c->relay.ctx, r);
    call_free(c);
    if (!p->is_dead) {
        pump(p);
        finish_drain(p);
    }
    leave(p);
}

static void on_done(void *ctx, const struct mcp_reply *r)
{
    call_end(ctx, r);
}

static void send_on(struct connection *connection, struct connections_call *c,
                    const struct mcp_request *req)
{
    struct mcp_call_events ev = call_relay_events(&c->relay, on_done);
    struct mcp_request r = *req;
    if (str_eq(r.method, STR("tools/call")) && connection->p->connections[0].client)
        r.is_task = r.is_task || mcp_tool_needs_task(connection->p->connections[0].client,
                                                     json_get_string(r.params, "name"));
    timer_stop(&c->limit);
    timer_stop(&connection->idle);
    c->connection = connection;
    connection->busy++;
    list_push(&connection->p->under_way, &c->node);
    connection->p->nunder_way++;
    c->call = mcp_request(connection->client, &r, &ev, c);
}

/* ---- which connection ---- */

static void open_lane(struct connections *p, size_t i);

/* Only these can lead to questions. */
static bool is_interactive(str method)
{
    return protocol_may_need_input(method) || str_eq(method, STR("tasks/result"));
}

static struct connection *find_free(struct connections *p)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (p->connections[i].is_ready && p->connections[i].busy == 0)
            return &p->connections[i];
    }
    return NULL;
}

static bool is_opening(const struct connections *p)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (p->connections[i].client && !p->connections[i].is_ready)
            return true;
    }
    return false;
}

static void open_another(struct connections *p)
{
    for (size_t i = 1; i < CONNECTIONS_MAX && !is_opening(p); i++) {
        if (!p->connections[i].client)
            open_lane(p, i);
    }
}

static void notice_asking(struct connections *p)
{
    for (size_t i = 0; i < CONNECTIONS_MAX && !p->is_exclusive; i++)
        p->is_exclusive = p->connections[i].client && mcp_has_asked(p->connections[i].client);
}

/* NULL: it has to wait. */
static struct connection *choose(struct connections *p, str method)
{
    if (!p->connections[0].is_ready || p->is_closing)
        return NULL;
    notice_asking(p);
    if (!p->is_exclusive || !is_interactive(method))
        return &p->connections[0];
    struct connection *connection = find_free(p);
    if (!connection)
        open_another(p);
    return connection;
}

static void pump(struct connections *p)
{
    LIST_FOREACH (n, &p->waiting) {
        struct connections_call *c = LIST_ENTRY(n, struct connections_call, node);
        struct connection *connection = c->failure ? NULL : choose(p, c->req.method);
        if (!connection)
            continue;
        list_del(&c->node);
        p->nwaiting--;
        send_on(connection, c, &c->req);
    }
}

/* ---- connections ---- */

static void connection_closed(struct connection *connection)
{
    connection->client = NULL;
    connection->is_ready = false;
    timer_stop(&connection->idle);
}

static size_t count_open(const struct connections *p)
{
    size_t n = 0;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        n += p->connections[i].client != NULL;
    return n;
}

static void fail_waiting(struct connections *p, const struct err *e)
{
    while (!list_empty(&p->waiting) && !p->is_dead) {
        struct connections_call *c = LIST_ENTRY(p->waiting.next, struct connections_call, node);
        call_end(c, &(struct mcp_reply){.err = e});
    }
}

/* All connections are gone. */
static void finish(struct connections *p)
{
    struct err e = p->why;
    if (e.code == 0)
        err_set(&e, -ECANCELED, "the connection was closed");
    fail_waiting(p, &e);
    if (p->is_dead)
        return;
    p->is_dead = true;
    timer_stop(&p->drain);
    p->ev.closed(p->ctx, &p->why);
}

static void abort_others(struct connections *p)
{
    for (size_t i = 1; i < CONNECTIONS_MAX; i++) {
        struct mcp_client *client = p->connections[i].client;
        connection_closed(&p->connections[i]);
        if (client)
            mcp_abort(client);
    }
}

/* The calls of an aborted connection have no answer any more. */
static void fail_under_way(struct connections *p)
{
    while (!list_empty(&p->under_way) && !p->is_dead) {
        struct connections_call *c = LIST_ENTRY(p->under_way.next, struct connections_call, node);
        call_end(c, &(struct mcp_reply){.err = &p->why});
    }
}

static void on_main_closed(struct connections *p, const struct err *e)
{
    p->why = *e;
    if (!p->is_closing) { /* lost */
        p->is_closing = true;
        abort_others(p);
        fail_under_way(p);
    }
}

static void on_closed(void *ctx, const struct err *e)
{
    struct connection *connection = ctx;
    struct connections *p = connection->p;
    enter(p);
    connection_closed(connection);
    if (connection == &p->connections[0])
        on_main_closed(p, e);
    if (!p->is_dead && p->is_closing && count_open(p) == 0)
        finish(p);
    else if (!p->is_dead)
        pump(p);
    leave(p);
}

static void on_ready(void *ctx)
{
    struct connection *connection = ctx;
    struct connections *p = connection->p;
    enter(p);
    connection->is_ready = true;
    if (connection == &p->connections[0] && p->ev.ready)
        p->ev.ready(p->ctx);
    if (!p->is_dead)
        pump(p);
    if (!p->is_dead && connection != &p->connections[0] && connection->client &&
        connection->busy == 0)
        timer_start(&connection->idle, CONNECTIONS_IDLE_MS);
    leave(p);
}

static void on_idle(void *ctx)
{
    struct connection *connection = ctx;
    mcp_close(connection->client);
    connection->is_ready = false;
}

static const struct mcp_client_events CONNECTION_EVENTS = {.ready = on_ready, .closed = on_closed};

static void open_lane(struct connections *p, size_t i)
{
    struct connection *connection = &p->connections[i];
    struct mcp_dial dial = p->dial;
    struct mcp_host host = p->host;
    if (i > 0) {
        dial.era = mcp_era(p->connections[0].client);
        host.notified = NULL; /* the main one tells of changes */
    }
    connection->client =
        mcp_open(p->loop, p->fetcher, &dial, &host, &CONNECTION_EVENTS, connection);
}

/* ---- the whole ---- */

static void on_drain_over(void *ctx)
{
    struct connections *p = ctx;
    enter(p);
    close_all(p);
    leave(p);
}

struct connections *connections_open(struct loop *l, struct fetcher *f, const struct mcp_dial *dial,
                                     const struct mcp_host *host,
                                     const struct mcp_client_events *ev, void *ctx)
{
    struct connections *p = xcalloc(1, sizeof(*p));
    p->loop = l;
    p->fetcher = f;
    p->dial = dial_copy(&p->mem, dial);
    p->host = host ? *host : (struct mcp_host){0};
    if (p->host.capabilities)
        p->host.capabilities = json_clone(&p->mem, p->host.capabilities);
    p->ev = *ev;
    p->ctx = ctx;
    list_init(&p->waiting);
    list_init(&p->under_way);
    timer_init(&p->drain, l, on_drain_over, p);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        p->connections[i].p = p;
        timer_init(&p->connections[i].idle, l, on_idle, &p->connections[i]);
    }
    open_lane(p, 0);
    return p;
}

static void close_all(struct connections *p)
{
    p->is_closing = true;
    timer_stop(&p->drain);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        timer_stop(&p->connections[i].idle);
        p->connections[i].is_ready = false;
        if (p->connections[i].client)
            mcp_close(p->connections[i].client);
    }
}

void connections_close(struct connections *p, uint64_t drain_ms)
{
    p->is_draining = true;
    if (p->nwaiting + p->nunder_way == 0 || drain_ms == 0)
        close_all(p);
    else
        timer_start(&p->drain, drain_ms);
}

void connections_abort(struct connections *p)
{
    if (p->is_dead)
        return;
    enter(p);
    p->is_dead = true;
    timer_stop(&p->drain);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct mcp_client *client = p->connections[i].client;
        connection_closed(&p->connections[i]);
        if (client)
            mcp_abort(client);
    }
    struct list_node *n;
    while ((n = list_pop(&p->under_way)) != NULL || (n = list_pop(&p->waiting)) != NULL) {
        struct connections_call *c = LIST_ENTRY(n, struct connections_call, node);
        timer_stop(&c->limit);
        call_free(c);
    }
    leave(p);
}

struct mcp_client *connections_main(const struct connections *p)
{
    return p->connections[0].client;
}

size_t connections_busy(const struct connections *p)
{
    return p->nwaiting + p->nunder_way;
}

/* ---- requests ---- */

static void on_limit(void *ctx)
{
    struct connections_call *c = ctx;
    struct err late;
    err_set(&late, -ETIMEDOUT, "the request waited too long for the server");
    call_end(c, &(struct mcp_reply){.err = c->failure ? c->failure : &late});
}

static void wait(struct connections_call *c, const struct mcp_request *req)
{
    struct connections *p = c->p;
    c->req = dial_copy_request(&c->mem, req);
    list_push(&p->waiting, &c->node);
    p->nwaiting++;
    timer_start(&c->limit, req->max_ms ? req->max_ms : WAIT_MAX_MS);
    if (!p->is_draining && p->nwaiting <= CONNECTIONS_QUEUE_MAX)
        return;
    c->failure = xcalloc(1, sizeof(*c->failure));
    if (p->is_draining)
        err_set(c->failure, -ECANCELED, "the connection is being closed");
    else
        err_set(c->failure, -EBUSY, "more than %d requests wait for the server",
                CONNECTIONS_QUEUE_MAX);
    timer_start(&c->limit, 0);
}

struct connections_call *connections_request(struct connections *p, const struct mcp_request *req,
                                             const struct mcp_call_events *ev, void *ctx)
{
    struct connections_call *c = xcalloc(1, sizeof(*c));
    c->p = p;
    c->relay = (struct call_relay){*ev, ctx};
    timer_init(&c->limit, p->loop, on_limit, c);
    bool is_queue = p->is_draining || (p->nwaiting > 0 && is_interactive(req->method));
    struct connection *connection = is_queue ? NULL : choose(p, req->method);
    if (connection)
        send_on(connection, c, req);
    else
        wait(c, req);
    return c;
}

void connections_cancel(struct connections_call *c, const char *reason)
{
    struct connections *p = c->p;
    enter(p);
    call_unlink(c);
    if (c->call)
        mcp_cancel(c->call, reason);
    call_free(c);
    pump(p);
    finish_drain(p);
    leave(p);
}
