#include "auth/session/token_use.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "loop/pool.h"
#include "loop/timer.h"

#define SAVE_AFTER_MS 60000

/* `noted` and `forgotten` are what the store does not have yet. A save takes them along; if it
 * fails, they are put back. */
struct token_use {
    struct loop *loop;
    struct logger *log;
    struct use_store *store;
    bool is_open;         /* a shared store is read every minute */
    struct map times;     /* id -> int64_t */
    struct map noted;     /* the same */
    struct map forgotten; /* id -> this */
    struct timer soon;
    struct pool *pool;
    bool is_saving;

    /* the job's */
    struct job job;
    struct arena arena;
    struct use_changes changes;
    struct token_times found; /* of a shared store, after the save */
    struct err err;
};

/* ---- the maps ---- */

static void set(struct map *m, str token_id, int64_t ms)
{
    int64_t *t = map_get(m, token_id);
    if (!t) {
        t = xcalloc(1, sizeof *t);
        map_put(m, token_id, t);
    }
    *t = ms;
}

static void clear(struct map *m)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(m, &i)) != NULL;)
        free(e->value);
    map_done(m);
    map_init(m);
}

static struct token_times copy_times(struct arena *a, const struct map *m)
{
    struct token_times t = {arena_array(a, map_len(m) + 1, sizeof *t.items), 0};
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(m, &i)) != NULL;)
        t.items[t.n++] = (struct token_time){arena_str(a, e->key), *(int64_t *)e->value};
    return t;
}

/* ---- writing ---- */

static bool is_dirty(const struct token_use *u)
{
    return map_len(&u->noted) > 0 || map_len(&u->forgotten) > 0;
}

static void take_changes(struct token_use *u)
{
    struct map_entry *e;
    arena_init(&u->arena);
    str *ids = arena_array(&u->arena, map_len(&u->forgotten) + 1, sizeof *ids);
    size_t n = 0;
    for (size_t i = 0; (e = map_next(&u->forgotten, &i)) != NULL;)
        ids[n++] = arena_str(&u->arena, e->key);
    u->changes = (struct use_changes){.all = copy_times(&u->arena, &u->times),
                                      .noted = copy_times(&u->arena, &u->noted),
                                      .forgotten = ids,
                                      .nforgotten = n};
    u->found = (struct token_times){0};
    clear(&u->noted);
    map_done(&u->forgotten);
    map_init(&u->forgotten);
}

static void put_changes_back(struct token_use *u)
{
    const struct use_changes *c = &u->changes;
    for (size_t i = 0; i < c->nforgotten; i++)
        map_put(&u->forgotten, c->forgotten[i], u);
    for (size_t i = 0; i < c->noted.n; i++)
        if (!map_get(&u->noted, c->noted.items[i].token_id) &&
            !map_get(&u->forgotten, c->noted.items[i].token_id))
            set(&u->noted, c->noted.items[i].token_id, c->noted.items[i].ms);
}

static void token_use_save(struct job *j)
{
    struct token_use *u = CONTAINER_OF(j, struct token_use, job);
    int r = 0;
    err_clear(&u->err);
    if (u->changes.noted.n > 0 || u->changes.nforgotten > 0)
        r = u->store->write(u->store, &u->changes, &u->err);
    if (r == 0 && u->store->is_shared)
        (void)u->store->read(u->store, &u->arena, &u->found, &u->err); /* u->err */
}

/* The times of all servers, and those that were noted here meanwhile. */
static void take_found(struct token_use *u)
{
    struct map_entry *e;
    clear(&u->times);
    for (size_t i = 0; i < u->found.n; i++)
        if (!map_get(&u->forgotten, u->found.items[i].token_id))
            set(&u->times, u->found.items[i].token_id, u->found.items[i].ms);
    for (size_t i = 0; (e = map_next(&u->noted, &i)) != NULL;)
        set(&u->times, e->key, *(int64_t *)e->value);
}

static void token_use_saved(struct token_use *u)
{
    if (u->err.code < 0) {
        log_warn(u->log, "auth", "%s", u->err.msg);
        put_changes_back(u);
    } else if (u->store->is_shared) {
        take_found(u);
    }
    arena_done(&u->arena);
    u->is_saving = false;
}

static void start_timer(struct token_use *u)
{
    if (!timer_active(&u->soon) && (u->is_open || is_dirty(u)))
        timer_start(&u->soon, SAVE_AFTER_MS);
}

static void token_use_save_done(struct job *j)
{
    struct token_use *u = CONTAINER_OF(j, struct token_use, job);
    token_use_saved(u);
    start_timer(u);
}

static void on_soon(void *ctx)
{
    struct token_use *u = ctx;
    if (u->is_saving) {
        timer_start(&u->soon, SAVE_AFTER_MS);
        return;
    }
    if (!u->pool)
        u->pool = pool_new(u->loop, "nb-token-use", 1);
    u->is_saving = true;
    take_changes(u);
    pool_run(u->pool, &u->job, token_use_save, token_use_save_done);
}

/* ---- life ---- */

struct token_use *token_use_new(struct loop *l, struct logger *log, struct use_store *store)
{
    struct token_use *u = xcalloc(1, sizeof *u);
    struct arena a;
    u->loop = l;
    u->log = log;
    u->store = store;
    map_init(&u->times);
    map_init(&u->noted);
    map_init(&u->forgotten);
    timer_init(&u->soon, l, on_soon, u);
    if (store->is_shared)
        return u;
    arena_init(&a);
    if (store->read(store, &a, &u->found, NULL) == 0)
        take_found(u);
    arena_done(&a);
    return u;
}

static void save_now(struct token_use *u)
{
    assert(!u->is_saving);
    take_changes(u);
    token_use_save(&u->job);
    token_use_saved(u);
}

void token_use_open(struct token_use *u)
{
    if (!u->store->is_shared || u->is_open)
        return;
    u->is_open = true;
    save_now(u);
    start_timer(u);
}

void token_use_free(struct token_use *u)
{
    if (!u)
        return;
    timer_stop(&u->soon);
    pool_free(u->pool);
    timer_stop(&u->soon); /* of the save that the pool has ended */
    if (is_dirty(u))
        save_now(u);
    clear(&u->times);
    clear(&u->noted);
    map_done(&u->times);
    map_done(&u->noted);
    map_done(&u->forgotten);
    u->store->free(u->store);
    free(u);
}

void token_use_note(struct token_use *u, str token_id)
{
    int64_t now = clock_now_ms();
    set(&u->times, token_id, now);
    set(&u->noted, token_id, now);
    start_timer(u);
}

void token_use_forget(struct token_use *u, str token_id)
{
    free(map_del(&u->times, token_id));
    free(map_del(&u->noted, token_id));
    map_put(&u->forgotten, token_id, u);
    start_timer(u);
}

int64_t token_use_ms(const struct token_use *u, str token_id)
{
    const int64_t *t = map_get(&u->times, token_id);
    return t ? *t : 0;
}
