#include "cli/conversations/stores.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "cli/session/journal_recover.h"
#include "os/file.h"
#include "server/place.h"
#include "store/log/appender.h"
#include "store/postgres/database.h"

enum { READ_THREADS = 2, SYNC_THREADS = 4, PAGE = 1000 };

/* These commands do not need prices. */
static bool no_price(void *ctx, str model, const struct conv_usage *usage, double *ret_usd)
{
    return false;
}

void stores_init(struct stores *s, struct cmd *x)
{
    *s = (struct stores){.x = x};
    s->env = (struct store_env){
        .loop = x->loop,
        .log = x->log,
        .bus = bus_new(x->loop),
        .appender = appender_new(x->loop, SYNC_THREADS),
        .readers = pool_new(x->loop, "nb-read", READ_THREADS),
        .database = database_new(x->loop, x->log, x->config.store.url),
        .price = no_price,
    };
    if (x->config.store.replicas)
        database_share(s->env.database);
}

void stores_done(struct stores *s)
{
    assert(s->open == 0);
    database_free(s->env.database);
    appender_free(s->env.appender);
    pool_free(s->env.readers);
    bus_free(s->env.bus);
}

int stores_find(struct cmd *x, const char *type, const char *dir, struct store_conf *ret,
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
    return !store_type_has_files(conf->type) || file_exists(conf->dir);
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
    int r = store_open(&s->env, conf, ret, e);
    s->open += r == 0;
    return r;
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
    assert(s->open > 0);
    s->open--;
    store_close(store, set_true, &is_closed);
    cmd_wait(s->x, &is_closed);
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

struct id_page {
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
    struct id_page *p = ctx;
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

static void visit_one(struct stores_visit *v, str id, size_t i, int64_t n)
{
    progress_update(&v->progress, n > 0 ? (double)i / (double)n : -1, id);
    v->one(v, id);
}

/* Lists all conversations, hidden ones included. */
static int visit_all(struct stores_visit *v, struct err *e)
{
    struct id_page p = {0};
    size_t seen = 0;
    arena_init(&p.arena);
    do {
        struct id_page next = {0};
        arena_init(&next.arena);
        struct store_query q = {
            .limit = PAGE, .cursor = p.next, .sort = STORE_BY_CREATED, .with_hidden = true};
        store_list(v->store, &q, on_stores_listed, &next);
        cmd_wait(v->stores.x, &next.is_done);
        arena_done(&p.arena);
        p = next;
        for (size_t i = 0; i < p.n; i++)
            visit_one(v, p.ids[i], seen++, p.total);
    } while (!p.err.code && p.next.n > 0);
    if (p.err.code)
        *e = p.err;
    arena_done(&p.arena);
    return e->code;
}

static void visit_named(struct stores_visit *v)
{
    for (int i = 0; i < v->x->argc; i++) {
        str id = conv_id(v->x, v->x->argv[i]);
        if (id.n == 0)
            v->unknown++;
        else
            visit_one(v, id, (size_t)i, v->x->argc);
    }
}

static int visit_store(struct stores_visit *v, struct store_conf conf, str owner)
{
    struct err e = {0};
    assert(!v->store);
    conf.read_only = v->is_read_only;
    v->owner = owner;
    stores_init(&v->stores, v->x);
    progress_begin(&v->progress, v->label);
    int r = stores_open(&v->stores, &conf, &v->store, &e);
    if (r == 0 && v->x->argc > 0)
        visit_named(v);
    else if (r == 0)
        r = visit_all(v, &e);
    progress_end(&v->progress);
    stores_close(&v->stores, v->store);
    v->store = NULL;
    stores_done(&v->stores);
    if (v->after)
        v->after(&conf);
    return r < 0 ? cli_fail(&e) : EXIT_DONE;
}

/* A workspace that was never used has no store; one that the user named must have it. */
static int visit_workspaces(struct stores_visit *v, const struct roster *all)
{
    int code = EXIT_DONE;
    size_t found = 0;
    for (size_t i = 0; i < all->nworkspaces; i++) {
        struct store_conf conf = place_store(&v->x->config, &all->workspaces[i], NULL, NULL);
        if (!is_there(&conf)) {
            fprintf(stderr, "nb: %s has no conversations: there is no %s\n", conf.workspace_id,
                    conf.dir);
            continue;
        }
        found++;
        int r = visit_store(v, conf, roster_operator(all));
        code = r > code ? r : code;
    }
    return found > 0 ? code : EXIT_FAILED;
}

int stores_visit(struct stores_visit *v)
{
    struct config *c = &v->x->config;
    struct roster *all;
    const struct workspace *w = NULL;
    struct err e = {0};
    int code;
    if (place_roster(c, &all, &e) < 0)
        return cli_fail(&e);
    /* an id exists in only one workspace */
    bool is_one = v->x->argc > 0 || c->workspace || all->nworkspaces < 2;
    if (is_one && place_choose(all, c->workspace, &w, &e) < 0)
        code = cli_fail(&e);
    else if (is_one)
        code = visit_store(v, place_store(c, w, NULL, NULL), roster_operator(all));
    else
        code = visit_workspaces(v, all);
    roster_free(all);
    return code;
}
