#include "cli/conversations/stores.h"

#include <errno.h>
#include <unistd.h>

#include "cli/session/journal_recover.h"
#include "os/file.h"
#include "server/place.h"
#include "store/log/appender.h"

enum { READ_THREADS = 2, SYNC_THREADS = 4, PAGE = 1000 };

/* These commands do not need prices. */
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

int stores_find(struct conv_cli *x, const char *type, const char *dir, struct store_conf *ret,
                struct err *e)
{
    struct roster *all;
    const struct workspace *w;
    int r = place_roster(&x->config, &all, e);
    if (r < 0)
        return r;
    r = place_choose(all, x->config.workspace, &w, e);
    if (r == 0)
        *ret = place_store(&x->config, w, type, dir);
    roster_free(all);
    return r;
}

static bool is_there(const struct store_conf *conf)
{
    return strcmp(conf->type, "memory") == 0 || file_exists(conf->dir);
}

/* A workspace that was never used has no store; one that the user named must have it. */
static int each_place(struct conv_cli *x, const struct roster *all,
                      int (*fn)(void *ctx, const struct store_conf *conf, str owner), void *ctx)
{
    int code = EXIT_DONE;
    size_t found = 0;
    for (size_t i = 0; i < all->nworkspaces; i++) {
        struct store_conf conf = place_store(&x->config, &all->workspaces[i], NULL, NULL);
        if (!is_there(&conf)) {
            fprintf(stderr, "nb: %s has no conversations: there is no %s\n", conf.workspace_id,
                    conf.dir);
            continue;
        }
        found++;
        int r = fn(ctx, &conf, roster_operator(all));
        code = r > code ? r : code;
    }
    return found > 0 ? code : EXIT_FAILED;
}

int stores_each_place(struct conv_cli *x,
                      int (*fn)(void *ctx, const struct store_conf *conf, str owner), void *ctx)
{
    struct roster *all;
    const struct workspace *w = NULL;
    struct err e = {0};
    int code;
    if (place_roster(&x->config, &all, &e) < 0)
        return cli_fail(&e);
    bool is_one = x->config.workspace || all->nworkspaces < 2;
    if (is_one && place_choose(all, x->config.workspace, &w, &e) < 0) {
        code = cli_fail(&e);
    } else if (is_one) {
        struct store_conf conf = place_store(&x->config, w, NULL, NULL);
        code = fn(ctx, &conf, roster_operator(all));
    } else {
        code = each_place(x, all, fn, ctx);
    }
    roster_free(all);
    return code;
}

int stores_open(struct stores *s, const struct store_conf *conf, struct store **ret, struct err *e)
{
    if (!is_there(conf))
        return err_set(e, -ENOENT,
                       "there are no conversations: %s does not exist (pass --workdir DIR or "
                       "--workspace ID to look elsewhere)",
                       conf->dir);
    return stores_make(s, conf, ret, e);
}

int stores_make(struct stores *s, const struct store_conf *conf, struct store **ret, struct err *e)
{
    if (conf->read_only && strcmp(conf->type, "jsonl") == 0)
        journal_recover(conf->dir);
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

void stores_drop_index(const struct store_conf *conf)
{
    static const char *const NAMES[] = {"index.db", "index.db-wal", "index.db-shm"};
    for (size_t i = 0; conf->cache_dir && i < ARRAY_LEN(NAMES); i++) {
        struct arena a;
        arena_init(&a);
        (void)unlink(arena_printf(&a, "%s/%s", conf->cache_dir, NAMES[i]).p);
        arena_done(&a);
    }
}

void stores_drop_indexes(struct config *c)
{
    struct roster *all;
    if (place_roster(c, &all, NULL) < 0)
        return;
    for (size_t i = 0; i < all->nworkspaces; i++) {
        struct store_conf conf = place_store(c, &all->workspaces[i], NULL, NULL);
        stores_drop_index(&conf);
    }
    roster_free(all);
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

static void on_stores_listed(void *ctx, const struct err *err, const struct store_listing *l)
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
        store_list(store, &q, on_stores_listed, &next);
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
