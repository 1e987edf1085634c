/* connections.c - up to CONNECTIONS_MAX connections to one server; see connections.h for the
 * reason.
 *
 * One connection:
 *
 *   closed --connection_open--> opening --on_connection_ready--> ready (busy = 0..n calls)
 *     ^                            |                               |
 *     +--on_connection_closed------+-------------------------------+
 *
 *   closed: client == NULL. opening: client set, not is_ready. A connection that closes because it
 *   is idle has client set and is not ready, so it gets no new call.
 *
 * One call (struct connections_call): in p->waiting with connection == NULL, or in p->under_way
 * with the connection that carries it. pump() sends waiting calls in the order of their arrival;
 * calls that can share the main connection need not wait for those that cannot.
 * connections_end_call ends a call with its one callback; connections_cancel ends it without.
 *
 * The whole: open --connections_close--> is_draining (calls in progress may end) --close_all-->
 * is_closing --last connection closed, connections_finish--> is_dead. When the main connection is
 * lost, the step is_draining is skipped. connections_abort leads to is_dead from every state.
 *
 * Order of callbacks at the end: every call under way, then every waiting call, then `closed`.
 * A callback may make and cancel requests, close or abort: everything that calls back runs between
 * connections_enter and connections_leave, checks is_dead afterwards, and the last
 * connections_leave frees the memory. */
#include "mcp/connections.h"

#include <assert.h>
#include <errno.h>

#include "base/list.h"
#include "loop/timer.h"
#include "mcp/dial.h"
#include "mcp/relay.h"

#define WAIT_MAX_MS (15 * 60 * 1000u) /* in the queue, when the request has no limit */

struct connection {
    struct connections *p;
    struct mcp_client *client; /* NULL: not open */
    bool is_ready;
    size_t busy;       /* calls under way on it */
    struct timer idle; /* never started for the main connection */
};

struct connections {
    struct loop *loop;
    struct fetcher *fetcher;
    struct arena mem;
    struct mcp_dial dial;
    struct mcp_host host;
    struct mcp_client_events ev;
    void *ctx;
    struct connection connections[CONNECTIONS_MAX]; /* [0] is the main one */
    struct list_node waiting, under_way;            /* struct connections_call */
    size_t nwaiting, nunder_way;
    bool is_exclusive; /* the server sends requests of its own: one call per connection */
    bool is_draining;  /* no new requests */
    bool is_closing;   /* every connection closes; no call is sent any more */
    bool is_dead;      /* no callback any more; freed by the last connections_leave */
    struct timer drain;
    struct err why; /* the main connection closed; code 0 after connections_close */
    unsigned depth; /* nested connections_enter calls */
};

struct connections_call {
    struct call_relay relay; /* first: the struct is the context of the mcp_call */
    struct connections *p;
    struct list_node node;         /* in waiting or under_way */
    struct connection *connection; /* NULL: the call waits */
    struct mcp_call *call;
    struct arena mem; /* owns the copy of req while the call waits */
    struct mcp_request req;
    struct timer limit;  /* of waiting; 0 ms when `failure` is set */
    struct err *failure; /* refused; reported in the next turn of the loop, never sent */
};

static void pump(struct connections *p);
static void close_all(struct connections *p);

static void connections_enter(struct connections *p)
{
    p->depth++;
}

static void connections_leave(struct connections *p)
{
    assert(p->depth > 0);
    if (--p->depth > 0 || !p->is_dead)
        return;
    assert(list_empty(&p->waiting) && list_empty(&p->under_way));
    arena_done(&p->mem);
    free(p);
}

/* ---- calls ---- */

static void connections_unlink_call(struct connections_call *c)
{
    struct connections *p = c->p;
    list_del(&c->node);
    timer_stop(&c->limit);
    if (!c->connection) {
        assert(p->nwaiting > 0 && !c->call);
        p->nwaiting--;
        return;
    }
    assert(p->nunder_way > 0 && c->connection->busy > 0);
    p->nunder_way--;
    /* The main connection stays open; every other connection closes when it is idle. */
    if (--c->connection->busy == 0 && c->connection != &p->connections[0] && c->connection->client)
        timer_start(&c->connection->idle, CONNECTIONS_IDLE_MS);
}

static void connections_free_call(struct connections_call *c)
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

static void connections_end_call(struct connections_call *c, const struct mcp_reply *r)
{
    struct connections *p = c->p;
    connections_enter(p);
    connections_unlink_call(c);
    c->relay.to.done(c->relay.ctx, r);
    connections_free_call(c);
    if (!p->is_dead) { /* the callback may have aborted */
        pump(p);
        finish_drain(p);
    }
    connections_leave(p);
}

static void on_connection_call_done(void *ctx, const struct mcp_reply *r)
{
    connections_end_call(ctx, r);
}

static void send_on(struct connection *connection, struct connections_call *c,
                    const struct mcp_request *req)
{
    struct mcp_call_events ev = call_relay_events(&c->relay, on_connection_call_done);
    struct mcp_request r = *req;
    assert(!c->connection && !c->failure && connection->is_ready && !connection->p->is_closing);
    /* Only the main connection lists tools, so only it knows which ones need a task. */
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

static void connection_open(struct connections *p, size_t i);

/* Only these methods can cause a question of the server. */
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

/* Opens at most one at a time: a server that cannot be reached is not asked by three more. */
static void open_another(struct connections *p)
{
    for (size_t i = 1; i < CONNECTIONS_MAX && !is_opening(p); i++) {
        if (!p->connections[i].client)
            connection_open(p, i);
    }
}

/* Permanent: a server that has asked once will ask again. */
static void notice_asking(struct connections *p)
{
    for (size_t i = 0; i < CONNECTIONS_MAX && !p->is_exclusive; i++)
        p->is_exclusive = p->connections[i].client && mcp_has_asked(p->connections[i].client);
}

/* The connection for a request, or NULL: the request has to wait. Requests that cannot cause a
 * question always share the main connection. */
static struct connection *choose_connection(struct connections *p, str method)
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

/* Sends the waiting calls for which there is a connection now. A call that cannot be sent does not
 * hold up later ones: those may need no connection of their own. */
static void pump(struct connections *p)
{
    LIST_FOREACH (n, &p->waiting) {
        struct connections_call *c = LIST_ENTRY(n, struct connections_call, node);
        struct connection *connection = c->failure ? NULL : choose_connection(p, c->req.method);
        if (!connection)
            continue;
        list_del(&c->node);
        p->nwaiting--;
        send_on(connection, c, &c->req);
    }
}

/* ---- connections ---- */

static void connection_reset(struct connection *connection)
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
        connections_end_call(c, &(struct mcp_reply){.err = e});
    }
}

/* All connections are closed: the last callbacks. */
static void connections_finish(struct connections *p)
{
    assert(p->is_closing && list_empty(&p->under_way));
    struct err e = p->why;
    if (e.code == 0) /* closed on request: a call must not fail with code 0 */
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
        connection_reset(&p->connections[i]);
        if (client)
            mcp_abort(client);
    }
}

/* mcp_abort makes no callbacks, so the calls of the aborted connections are ended here. */
static void fail_under_way(struct connections *p)
{
    while (!list_empty(&p->under_way) && !p->is_dead) {
        struct connections_call *c = LIST_ENTRY(p->under_way.next, struct connections_call, node);
        connections_end_call(c, &(struct mcp_reply){.err = &p->why});
    }
}

static void on_main_closed(struct connections *p, const struct err *e)
{
    p->why = *e;
    if (!p->is_closing) { /* lost: the other connections are of no use without it */
        p->is_closing = true;
        abort_others(p);
        fail_under_way(p);
    }
}

static void on_connection_closed(void *ctx, const struct err *e)
{
    struct connection *connection = ctx;
    struct connections *p = connection->p;
    connections_enter(p);
    connection_reset(connection);
    if (connection == &p->connections[0])
        on_main_closed(p, e);
    if (!p->is_dead && p->is_closing && count_open(p) == 0)
        connections_finish(p);
    else if (!p->is_dead)
        pump(p);
    connections_leave(p);
}

static void on_connection_ready(void *ctx)
{
    struct connection *connection = ctx;
    struct connections *p = connection->p;
    connections_enter(p);
    connection->is_ready = true;
    if (connection == &p->connections[0] && p->ev.ready)
        p->ev.ready(p->ctx);
    if (!p->is_dead)
        pump(p);
    if (!p->is_dead && connection != &p->connections[0] && connection->client &&
        connection->busy == 0)
        timer_start(&connection->idle, CONNECTIONS_IDLE_MS);
    connections_leave(p);
}

static void on_connection_idle(void *ctx)
{
    struct connection *connection = ctx;
    assert(connection->busy == 0 && connection->client &&
           connection != &connection->p->connections[0]);
    mcp_close(connection->client);
    connection->is_ready = false; /* no new call; on_connection_closed follows */
}

static const struct mcp_client_events CONNECTION_EVENTS = {.ready = on_connection_ready,
                                                           .closed = on_connection_closed};

static void connection_open(struct connections *p, size_t i)
{
    struct connection *connection = &p->connections[i];
    assert(!connection->client);
    struct mcp_dial dial = p->dial;
    struct mcp_host host = p->host;
    if (i > 0) {
        /* The server is known by now: no detection of the era. */
        dial.era = mcp_era(p->connections[0].client);
        host.notified = NULL; /* each change is reported once, by the main connection */
    }
    connection->client =
        mcp_open(p->loop, p->fetcher, &dial, &host, &CONNECTION_EVENTS, connection);
}

/* ---- opening, closing, aborting ---- */

static void on_drain_over(void *ctx)
{
    struct connections *p = ctx;
    connections_enter(p);
    close_all(p);
    connections_leave(p);
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
        timer_init(&p->connections[i].idle, l, on_connection_idle, &p->connections[i]);
    }
    connection_open(p, 0);
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
    connections_enter(p);
    p->is_dead = true;
    timer_stop(&p->drain);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct mcp_client *client = p->connections[i].client;
        connection_reset(&p->connections[i]);
        if (client)
            mcp_abort(client);
    }
    struct list_node *n;
    while ((n = list_pop(&p->under_way)) != NULL || (n = list_pop(&p->waiting)) != NULL) {
        struct connections_call *c = LIST_ENTRY(n, struct connections_call, node);
        timer_stop(&c->limit);
        connections_free_call(c);
    }
    connections_leave(p);
}

struct mcp_client *connections_main(const struct connections *p)
{
    return p->connections[0].client;
}

/* ---- requests ---- */

static void on_wait_limit(void *ctx)
{
    struct connections_call *c = ctx;
    struct err late;
    err_set(&late, -ETIMEDOUT, "the request waited too long for the server");
    connections_end_call(c, &(struct mcp_reply){.err = c->failure ? c->failure : &late});
}

static void enqueue(struct connections_call *c, const struct mcp_request *req)
{
    struct connections *p = c->p;
    c->req = dial_copy_request(&c->mem, req);
    list_push(&p->waiting, &c->node);
    p->nwaiting++;
    timer_start(&c->limit, req->max_ms ? req->max_ms : WAIT_MAX_MS);
    if (!p->is_draining && p->nwaiting <= CONNECTIONS_QUEUE_MAX)
        return;
    /* Refused, but not from inside the request: the limit timer reports it in the next turn. */
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
    timer_init(&c->limit, p->loop, on_wait_limit, c);
    /* A request that may cause a question does not overtake those that already wait. */
    bool is_queue = p->is_draining || (p->nwaiting > 0 && is_interactive(req->method));
    struct connection *connection = is_queue ? NULL : choose_connection(p, req->method);
    if (connection)
        send_on(connection, c, req);
    else
        enqueue(c, req);
    return c;
}

void connections_cancel(struct connections_call *c, const char *reason)
{
    struct connections *p = c->p;
    connections_enter(p);
    connections_unlink_call(c);
    if (c->call)
        mcp_cancel(c->call, reason);
    connections_free_call(c);
    pump(p);
    finish_drain(p);
    connections_leave(p);
}
