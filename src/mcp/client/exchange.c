#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "mcp/client/client_impl.h"

#define BUCKETS_MIN 16

/* ---- the table ---- */

static struct mcp_exchange **bucket(const struct exchange_table *t, int64_t id)
{
    return &t->buckets[(size_t)id & t->mask];
}

static void grow(struct exchange_table *t)
{
    struct exchange_table wider = {.mask = t->buckets ? t->mask * 2 + 1 : BUCKETS_MIN - 1};
    wider.buckets = xcalloc(wider.mask + 1, sizeof(*wider.buckets));
    for (size_t i = 0; t->buckets && i <= t->mask; i++) {
        for (struct mcp_exchange *x = t->buckets[i], *next; x; x = next) {
            next = x->next;
            struct mcp_exchange **to = bucket(&wider, x->id);
            x->next = *to;
            *to = x;
        }
    }
    free(t->buckets);
    wider.n = t->n;
    *t = wider;
}

static void table_add(struct exchange_table *t, struct mcp_exchange *x)
{
    if (!t->buckets || t->n > t->mask)
        grow(t);
    struct mcp_exchange **to = bucket(t, x->id);
    x->next = *to;
    *to = x;
    t->n++;
}

static void table_remove(struct exchange_table *t, struct mcp_exchange *x)
{
    assert(t->n > 0);
    struct mcp_exchange **at = bucket(t, x->id);
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    t->n--;
}

struct mcp_exchange *exchange_find(const struct mcp_client *c, int64_t id)
{
    if (id <= 0 || !c->table.buckets)
        return NULL;
    struct mcp_exchange *x = *bucket(&c->table, id);
    while (x && x->id != id)
        x = x->next;
    return x;
}

/* ---- the end of an exchange ---- */

/* Removes the exchange from the table. Returns its former id. */
static int64_t exchange_unlink(struct mcp_exchange *x)
{
    int64_t id = x->id;
    timer_stop(&x->timer);
    free(x->failure);
    x->failure = NULL;
    if (id != 0)
        table_remove(&x->client->table, x);
    x->id = 0;
    return id;
}

static void exchange_end(struct mcp_exchange *x, bool was_answered)
{
    int64_t id = exchange_unlink(x);
    struct transport *t = x->client->transport;
    if (id != 0 && t && t->ops->release)
        t->ops->release(t, id, was_answered);
}

void exchange_drop(struct mcp_exchange *x)
{
    exchange_end(x, false);
}

void exchange_answer(struct mcp_exchange *x, const struct mcp_reply *r)
{
    assert(x->id != 0 && x->client->depth > 0);
    exchange_end(x, true);
    x->done(x, r);
}

void exchange_fail(struct mcp_exchange *x, const struct err *e)
{
    exchange_refuse(x, e, STR_NONE);
}

void exchange_refuse(struct mcp_exchange *x, const struct err *e, str challenge)
{
    assert(x->id != 0 && x->client->depth > 0);
    exchange_end(x, false);
    x->done(x, &(struct mcp_reply){.err = e, .challenge = challenge});
}

/* Over stateless HTTP the closed connection is the notification. */
static void tell_cancelled(struct mcp_client *c, int64_t id, const char *reason)
{
    if (c->transport->ops->is_http && c->era == MCP_ERA_MODERN)
        return;
    struct arena a;
    arena_init(&a);
    struct json *params = json_new(&a, JSON_OBJECT);
    json_set(&a, params, STR("requestId"), json_of_int(id));
    if (reason)
        json_set(&a, params, STR("reason"), json_of_str(str_from(reason)));
    (void)mcp_notify(c, STR("notifications/cancelled"), params);
    arena_done(&a);
}

void exchange_cancel(struct mcp_exchange *x, const char *reason)
{
    struct mcp_client *c = x->client;
    int64_t id = x->id;
    bool was_sent = id != 0 && !x->failure;
    exchange_end(x, false);
    if (was_sent && c->transport && x != &c->connect.initialize)
        tell_cancelled(c, id, reason);
}

/* ---- time ---- */

static void arm(struct mcp_exchange *x)
{
    uint64_t now = clock_mono_ms();
    uint64_t left = x->deadline_ms > now ? x->deadline_ms - now : 0;
    timer_start(&x->timer, left < x->timeout_ms ? left : x->timeout_ms);
}

void exchange_touch(struct mcp_exchange *x)
{
    if (x->id != 0 && !x->failure)
        arm(x);
}

static void time_out(struct mcp_exchange *x)
{
    struct err e;
    bool is_over = clock_mono_ms() >= x->deadline_ms;
    if (!is_over && x->client->nasks > 0) { /* the server waits for an answer of ours */
        arm(x);
        return;
    }
    err_set(&e, -ETIMEDOUT,
            is_over ? "the server has not finished within the time limit"
                    : "no answer from the server for %.3g s",
            (double)x->timeout_ms / 1000);
    exchange_cancel(x, "timed out");
    x->done(x, &(struct mcp_reply){.err = &e});
}

static void on_exchange_timer(void *ctx)
{
    struct mcp_exchange *x = ctx;
    struct mcp_client *c = x->client;
    client_enter(c);
    if (x->failure) {
        struct err e = *x->failure;
        exchange_fail(x, &e);
    } else {
        time_out(x);
    }
    client_leave(c);
}

/* ---- the start ---- */

void exchange_init(struct mcp_exchange *x, struct mcp_client *c,
                   void (*done)(struct mcp_exchange *x, const struct mcp_reply *r))
{
    *x = (struct mcp_exchange){.client = c, .done = done};
    timer_init(&x->timer, c->loop, on_exchange_timer, x);
}

/* Reported in the next turn of the loop: no callback comes from inside a request. */
static void fail_later(struct mcp_exchange *x, const struct err *e)
{
    assert(!x->failure && x->id != 0);
    x->failure = xcalloc(1, sizeof(*x->failure));
    *x->failure = *e;
    timer_start(&x->timer, 0);
}

static int transmit(struct mcp_client *c, const struct message_request *r,
                    const struct param_headers *headers, struct err *e)
{
    buf_recycle(&c->out, RPC_SPARE_BYTES);
    message_write_request(&c->out, r);
    return client_send(c,
                       &(struct outgoing){.text = buf_str(&c->out),
                                          .id = r->id,
                                          .era = r->era,
                                          .method = r->method,
                                          .params = r->params,
                                          .headers = headers},
                       e);
}

void exchange_send(struct mcp_exchange *x, const struct exchange_spec *s)
{
    struct mcp_client *c = x->client;
    struct message_request r = s->message;
    assert(x->id == 0 && "an exchange carries one request at a time");
    x->id = r.id = ++c->last_id;
    if (r.capabilities.n == 0)
        r.capabilities = c->capabilities;
    x->timeout_ms = s->timeout_ms;
    x->deadline_ms = s->deadline_ms;
    x->http_status = 0;
    table_add(&c->table, x);
    struct err e;
    if (x->call && c->state != CLIENT_READY) {
        err_set(&e, -ENOTCONN, "not connected to the server");
        fail_later(x, &e);
    } else if (c->table.n > MCP_CALLS_MAX) {
        err_set(&e, -EBUSY, "more than %d requests to this server are in progress", MCP_CALLS_MAX);
        fail_later(x, &e);
    } else if (transmit(c, &r, s->headers, &e) < 0) {
        fail_later(x, &e);
    } else {
        arm(x);
    }
}

void exchange_send_forgotten(struct mcp_client *c, str method, const struct json *params)
{
    struct message_request r = {
        .id = ++c->last_id,
        .method = method,
        .params = params,
        .era = c->era,
        .capabilities = c->capabilities,
    };
    (void)transmit(c, &r, NULL, NULL);
}
