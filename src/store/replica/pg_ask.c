/* pg_ask.c - questions to other servers (store_ask_others), over the relay. */
#include <assert.h>
#include <errno.h>

#include "store/postgres/pg_store.h"
#include "store/replica/pg_relay_impl.h"

struct store_ask {
    struct list_node node; /* in pg_relay.asks */
    char id[RANDOM_ID_MAX];
    struct timer timer;
    store_reply_fn fn;
    void *ctx;
};

static void ask_free(struct store_ask *a)
{
    list_del(&a->node);
    timer_stop(&a->timer);
    free(a);
}

static void on_ask_late(void *ctx)
{
    struct store_ask *a = ctx;
    store_reply_fn fn = a->fn;
    void *fn_ctx = a->ctx;
    struct err e = {0};
    err_set(&e, -ETIMEDOUT, "no server has answered; try again in a few seconds");
    ask_free(a);
    fn(fn_ctx, &e, NULL);
}

struct store_ask *pg_ask(struct store *s, str id, str question, store_reply_fn fn, void *ctx)
{
    struct pg_relay *r = pg_database(s)->relay;
    struct store_ask *a = xcalloc(1, sizeof *a);
    assert(r); /* there are leases */
    random_id("ask", a->id);
    a->fn = fn;
    a->ctx = ctx;
    list_push(&r->asks, &a->node);
    timer_init(&a->timer, r->db->loop, on_ask_late, a);
    timer_start(&a->timer, STORE_ASK_MS);
    relay_tell_ask(r, "ask", pg_workspace(s), id, str_from(a->id), question);
    return a;
}

void store_ask_cancel(struct store_ask *a)
{
    if (a)
        ask_free(a);
}

void pg_reply(struct store *s, str ask_id, str reply)
{
    struct pg_relay *r = pg_database(s)->relay;
    if (r)
        relay_tell_ask(r, "reply", pg_workspace(s), STR(""), ask_id, reply);
}

void relay_take_reply(struct pg_relay *r, str ask_id, const struct json *reply)
{
    LIST_EACH (a, &r->asks, struct store_ask, node) {
        if (!str_eq(str_from(a->id), ask_id))
            continue;
        store_reply_fn fn = a->fn;
        void *ctx = a->ctx;
        ask_free(a);
        fn(ctx, NULL, reply);
        return;
    }
}
