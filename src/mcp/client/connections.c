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
 * One call (struct mcp_call with `connections` set): in p->waiting with connection == NULL, or with
 * the client of the connection that carries it. pump() sends waiting calls in the order of their
 * arrival; calls that can share the main connection need not wait for those that cannot. call.c
 * ends a call that was sent, end_waiting one that was not; both tell connections_release.
 *
 * The whole: open --connections_close--> is_draining (calls in progress may end) --close_all-->
 * is_closing --last connection closed, connections_finish--> is_dead. When the main connection is
 * lost, the step is_draining is skipped. connections_abort leads to is_dead from every state.
 *
 * Order of callbacks at the end: every call that was sent, then every waiting call, then `closed`.
 * A callback may make and cancel requests, close or abort: everything that calls back runs between
 * connections_enter and connections_leave, checks is_dead afterwards, and the last
 * connections_leave frees the memory. */
#include "mcp/connections.h"

#include <assert.h>
#include <errno.h>

#include "mcp/client/client_impl.h"
#include "mcp/dial.h"

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
    struct list_node waiting;                       /* struct mcp_call */
    size_t nwaiting, nsent;
    bool is_exclusive; /* the server sends requests of its own: one call per connection */
    bool is_draining;  /* no new requests */
    bool is_closing;   /* every connection closes; no call is sent any more */
    bool is_dead;      /* no callback any more; freed by the last connections_leave */
    struct timer drain;
    struct err why; /* the main connection closed; code 0 after connections_close */
    unsigned depth; /* nested connections_enter calls */
};

static void pump(struct connections *p);
static void close_all(struct connections *p);

void connections_enter(struct connections *p)
{
    if (p)
        p->depth++;
}

static void connections_leave(struct connections *p)
{
    assert(p->depth > 0);
    if (--p->depth > 0 || !p->is_dead)
        return;
    assert(list_empty(&p->waiting) && p->nwaiting + p->nsent == 0);
    arena_done(&p->mem);
    free(p);
}

/* ---- calls ---- */

void connections_release(struct mcp_call *call)
{
    struct connections *p = call->connections;
    struct connection *connection = call->connection;
    if (!connection) {
        assert(p->nwaiting > 0 && !call->client);
        list_del(&call->node);
        timer_stop(&call->later);
        p->nwaiting--;
        return;
    }
    assert(p->nsent > 0 && connection->busy > 0);
    p->nsent--;
    /* The main connection stays open; every other connection closes when it is idle. */
    if (--connection->busy == 0 && connection != &p->connections[0] && connection->client)
        timer_start(&connection->idle, CONNECTIONS_IDLE_MS);
}

void connections_proceed(struct connections *p)
{
    if (!p)
        return;
    assert(p->depth > 0);
    if (!p->is_dead)
        pump(p);
    if (!p->is_dead && p->is_draining && !p->is_closing && p->nwaiting + p->nsent == 0)
        close_all(p);
    connections_leave(p);
}

/* Ends a call that no connection has. */
static void end_waiting(struct mcp_call *call, const struct err *e)
{
    struct connections *p = call->connections;
    connections_enter(p);
    connections_release(call);
    call->ev.done(call->ctx, &(struct mcp_reply){.err = e});
    call_free(call);
    connections_proceed(p);
}

static void send_on(struct connection *connection, struct mcp_call *call,
                    const struct mcp_request *req)
{
    struct connections *p = connection->p;
    assert(!call->connection && !call->refusal && connection->is_ready && !p->is_closing);
    timer_stop(&connection->idle);
    call->connection = connection;
    connection->busy++;
    p->nsent++;
    call_begin(call, connection->client, req);
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
    LIST_EACH (call, &p->waiting, struct mcp_call, node) {
        struct connection *connection =
            call->refusal ? NULL : choose_connection(p, call->waiting->method);
        if (!connection)
            continue;
        connections_release(call);
        send_on(connection, call, call->waiting);
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
    while (!list_empty(&p->waiting) && !p->is_dead)
        end_waiting(LIST_ENTRY(p->waiting.next, struct mcp_call, node), e);
}

/* All connections are closed: the last callbacks. */
static void connections_finish(struct connections *p)
{
    assert(p->is_closing && p->nsent == 0);
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

/* Their calls fail with the error of the main connection. */
static void drop_others(struct connections *p)
{
    for (size_t i = 1; i < CONNECTIONS_MAX && !p->is_dead; i++) {
        struct mcp_client *client = p->connections[i].client;
        connection_reset(&p->connections[i]);
        if (client)
            client_drop(client, &p->why);
    }
}

static void on_main_closed(struct connections *p, const struct err *e)
{
    p->why = *e;
    if (!p->is_closing) { /* lost: the other connections are of no use without it */
        p->is_closing = true;
        drop_others(p);
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
    if (p->nwaiting + p->nsent == 0 || drain_ms == 0)
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
    while (!list_empty(&p->waiting)) {
        struct mcp_call *call = LIST_ENTRY(p->waiting.next, struct mcp_call, node);
        connections_release(call);
        call_free(call);
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
    struct mcp_call *call = ctx;
    struct err late;
    err_set(&late, -ETIMEDOUT, "the request waited too long for the server");
    end_waiting(call, call->refusal ? call->refusal : &late);
}

/* Refuses a request, but not from inside it: its timer reports the error in the next turn. */
static void refuse_waiting(struct mcp_call *call)
{
    call->refusal = ARENA_NEW(&call->mem, struct err);
    if (call->connections->is_draining)
        err_set(call->refusal, -ECANCELED, "the connection is being closed");
    else
        err_set(call->refusal, -EBUSY, "more than %d requests wait for the server",
                CONNECTIONS_QUEUE_MAX);
    timer_start(&call->later, 0);
}

static void enqueue(struct mcp_call *call, const struct mcp_request *req)
{
    struct connections *p = call->connections;
    call->waiting = ARENA_NEW(&call->mem, struct mcp_request);
    *call->waiting = dial_copy_request(&call->mem, req);
    list_push(&p->waiting, &call->node);
    p->nwaiting++;
    timer_stop(&call->later);
    timer_init(&call->later, p->loop, on_wait_limit, call);
    timer_start(&call->later, req->max_ms ? req->max_ms : WAIT_MAX_MS);
    if (p->is_draining || p->nwaiting > CONNECTIONS_QUEUE_MAX)
        refuse_waiting(call);
}

struct mcp_call *connections_request(struct connections *p, const struct mcp_request *req,
                                     const struct mcp_call_events *ev, void *ctx)
{
    assert(!p->is_dead);
    struct mcp_call *call = call_new(p->loop, ev, ctx);
    call->connections = p;
    /* A request that may cause a question does not overtake those that already wait. */
    bool is_queue = p->is_draining || (p->nwaiting > 0 && is_interactive(req->method));
    struct connection *connection = is_queue ? NULL : choose_connection(p, req->method);
    if (connection)
        send_on(connection, call, req);
    else
        enqueue(call, req);
    return call;
}
