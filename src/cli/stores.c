#include "cli/stores.h"

#include <unistd.h>

#include "cli/put_back.h"
#include "store/appender.h"

enum { READ_THREADS = 2, SYNC_THREADS = 4, PAGE = 1000 };

/* Costs are not what these commands are about. */
static bool no_price(void *ctx, str model, const struct conv_usage *usage, double *ret_usd)
{
    return false;
}

void stores_init(struct stores *s, struct conv_cli *x)
{
    *s = (struct stores){.x = x};
    s->env = (struct store_env){
        .loop = x->loop,
        .log = x->log,
        .bus = bus_new(x->loop),
        .appender = appender_new(x->loop, SYNC_THREADS),
        .readers = pool_new(x->loop, "nb-read", READ_THREADS),
        .price = no_price,
    };
}

void stores_done(struct stores *s)
{
    appender_free(s->env.appender);
    pool_free(s->env.readers);
    bus_free(s->env.bus);
}

int stores_open(struct stores *s, const struct store_conf *conf, struct store **ret, struct err *e)
{
    if (conf->read_only && strcmp(conf->type, "jsonl") == 0)
        put_back(conf->dir);
    return store_open(&s->env, conf, ret, e);
}

static void set_true(void *flag)
{
    *(bool *)flag = true;
}

void stores_close(struct stores *s, struct store *store)
{
    bool is_closed = false;
    if (!store)
        return;
    store_close(store, set_true, &is_closed);
    stores_wait(s, &is_closed);
}

void stores_wait(struct stores *s, const bool *is_done)
{
    while (!*is_done)
        (void)loop_run_until(s->x->loop, is_done, UINT32_MAX);
}

void stores_drop_index(struct config *c)
{
    static const char *const NAMES[] = {"cache/index.db", "cache/index.db-wal",
                                        "cache/index.db-shm"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        (void)unlink(config_path(c, NAMES[i]));
}

/* ---- all conversations ---- */

struct page {
    struct arena arena;
    str *ids;
    size_t n;
    str next;
    int64_t total;
    struct err err;
    bool is_done;
};

static void on_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct page *p = ctx;
    p->is_done = true;
    if (err) {
        p->err = *err;
        return;
    }
    p->ids = arena_array(&p->arena, l->n, sizeof(str));
    for (p->n = 0; p->n < l->n; p->n++)
        p->ids[p->n] = arena_str(&p->arena, l->convs[p->n].id);
    p->next = arena_str(&p->arena, l->next_cursor);
    p->total = l->total;
}

int stores_each(struct stores *s, struct store *store,
                int (*fn)(void *ctx, str id, size_t i, int64_t n), void *ctx, struct err *e)
{
    struct page p = {0};
    size_t seen = 0;
    int r = 0;
    arena_init(&p.arena);
    do {
        struct page next = {0};
        arena_init(&next.arena);
        struct store_query q = {
            .limit = PAGE, .cursor = p.next, .sort = STORE_BY_CREATED, .with_hidden = true};
        store_list(store, &q, on_listed, &next);
        stores_wait(s, &next.is_done);
        arena_done(&p.arena);
        p = next;
        if (p.err.code) {
            *e = p.err;
            r = p.err.code;
        }
        for (size_t i = 0; r == 0 && i < p.n; i++)
            r = fn(ctx, p.ids[i], seen++, p.total);
    } while (r == 0 && p.next.n > 0);
    arena_done(&p.arena);
    return r;
}
