/* index_background.c - the sweep of the directory and the feed of the full-text index. */
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/index/index_impl.h"

enum {
    SETTLE_MS = 20,        /* within this time a directory may change without a new mtime */
    PATIENCE_MS = 100,     /* of a call that takes a part, from the start of the sweep */
    AGAIN_MS = 20,         /* it looks again, while there is nothing to show */
    SWEEP_EVERY_MS = 5000, /* by the feed, while the index is used */
    SWEEP_SHARE = 100,     /* and at most one hundredth of the time */
    WATCHED_MS = 2000,     /* after a call, slices are smaller: a call waits for their commit, */
    WATCHED_SLICE = 1024,  /* messages */
    CHANGING_SLICE = 64,   /* and one that has rows to write for all of a slice */
    SHRINK_MS = 10000,     /* between two releases of memory, which block other allocations, and
                              the next write needs the memory again */
    CLOSE_MS = 30000,      /* unused connections are closed after this time */
    FEEDS_MAX = 2,         /* of all indexes; the others wait */
};

/* ---- what indexes share ---- */

static struct pool *group_pool(struct index_group *g)
{
    if (!g->pool) {
        g->pool = pool_new(g->loop, "nb-index", FEEDS_MAX);
        pool_give_way(g->pool);
    }
    return g->pool;
}

bool index_is_busy(const struct index *ix)
{
    return ix->sync.is_busy || ix->sweep.is_busy || ix->feed.is_busy;
}

void index_disconnect(struct index *ix)
{
    assert(!index_is_busy(ix));
    while (ix->nidle > 0) {
        struct index_db *db = ix->idle[--ix->nidle];
        index_db_close(db);
        free(db);
    }
    index_db_close(&ix->sync.db);
    index_db_close(&ix->sweep.db);
    index_db_close(&ix->feed.db);
    ix->feed.has_fed = false; /* its memory is released with the connection */
    timer_stop(&ix->shrink);
    ix->group->nopen -= !list_empty(&ix->open);
    list_del(&ix->open);
}

static void trim_work(struct job *j)
{
    (void)j;
    (void)malloc_trim(0);
}

static void trim_done(struct job *j)
{
    CONTAINER_OF(j, struct index_group, trim)->is_trimming = false;
}

static void on_close(void *ctx)
{
    struct index_group *g = ctx;
    uint64_t now = clock_mono_ms();
    size_t before = g->nopen;
    LIST_EACH (ix, &g->open, struct index, open)
        if (now - ix->connected_ms >= CLOSE_MS && !index_is_busy(ix))
            index_disconnect(ix);
    if (g->nopen > 0)
        timer_start(&g->close, CLOSE_MS);
    if (g->nopen == before || g->is_trimming)
        return;
    g->is_trimming = true;
    pool_run(group_pool(g), &g->trim, trim_work, trim_done);
}

/* With more than INDEX_OPEN_MAX that are busy, all of them stay. */
static void close_oldest(struct index_group *g)
{
    LIST_EACH (ix, &g->open, struct index, open) {
        if (g->nopen <= INDEX_OPEN_MAX)
            return;
        if (!index_is_busy(ix))
            index_disconnect(ix);
    }
}

void index_connect(struct index *ix)
{
    struct index_group *g = ix->group;
    g->nopen += list_empty(&ix->open);
    list_del(&ix->open);
    close_oldest(g); /* not this one, which is in no list now */
    list_push(&g->open, &ix->open);
    ix->connected_ms = clock_mono_ms();
    if (!timer_active(&g->close))
        timer_start(&g->close, CLOSE_MS);
}

struct index_group *index_group_new(struct loop *l)
{
    struct index_group *g = xcalloc(1, sizeof(*g));
    g->loop = l;
    list_init(&g->open);
    list_init(&g->feeds);
    timer_init(&g->close, l, on_close, g);
    return g;
}

void index_group_free(struct index_group *g)
{
    if (!g)
        return;
    assert(g->nopen == 0 && g->nfeeds == 0 && list_empty(&g->feeds));
    timer_stop(&g->close);
    pool_free(g->pool);
    free(g);
}

/* ---- the directory ---- */

int64_t index_dir_mtime_ns(const char *dir)
{
    struct stat st;
    if (stat(dir, &st) < 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* Waits, shortly, until the time of a directory that has just changed can be relied on. 0: it
 * changes too often. */
static int64_t settled_mtime_ns(const char *dir)
{
    const struct timespec nap = {.tv_nsec = SETTLE_MS * 1000000};
    for (int i = 0; i < 2; i++) {
        int64_t ns = index_dir_mtime_ns(dir);
        if (ns / 1000000 <= clock_now_ms() - SETTLE_MS)
            return ns;
        if (i == 0)
            (void)nanosleep(&nap, NULL);
    }
    return 0;
}

/* The mtime is read first: a change during the sweep then leads to another sweep. */
int index_sweep_dir(struct index_sync *s, const struct index *ix, size_t names_max,
                    struct sweep_state *state)
{
    struct arena a;
    str *ids;
    size_t n;
    struct sweep_state now = {.changes = atomic_load(&ix->own->ended), .birth = s->db->birth};
    uint64_t began_ms = clock_mono_ms();
    arena_init(&a);
    if (names_max) /* a small directory is swept every time: its mtime does not matter */
        now.dir_mtime_ns = index_dir_mtime_ns(ix->dir);
    else
        now.dir_mtime_ns = settled_mtime_ns(ix->dir);
    int r = index_sweep(s, &a, names_max, &ids, &n, &now.total);
    if (r == 0)
        r = index_catch_up(s, ids, n);
    if (r == 0) {
        now.swept_ms = clock_mono_ms();
        now.sweep_ms = now.swept_ms - began_ms;
        *state = now;
    }
    arena_done(&a);
    return r;
}

/* Changes of this process are in `touched` when they are acknowledged, and need not be listed
 * before. The directory is looked at first: a change that it shows has begun by then, and if it has
 * ended, so has its time. */
bool index_has_foreign_change(const struct sweep_state *st, const struct index *ix)
{
    int64_t now = index_dir_mtime_ns(ix->dir);
    uint64_t ended = atomic_load(&ix->own->ended);
    bool is_under_way = atomic_load(&ix->own->begun) != ended;
    bool is_ours = is_under_way ||
                   (ended != st->changes && now / 1000000 <= atomic_load(&ix->own->ended_at_ms));
    return now != st->dir_mtime_ns && !is_ours;
}

void index_learn(struct index *ix, const struct sweep_state *from)
{
    if (from->swept_ms > ix->state.swept_ms)
        ix->state = *from;
}

/* ---- the sweep that calls wait for ---- */

static void sweep_work(struct job *job)
{
    struct sweep_job *j = CONTAINER_OF(job, struct sweep_job, job);
    struct index *ix = CONTAINER_OF(j, struct index, sweep);
    struct index_sync s = {.db = &j->db,
                           .store = ix->store,
                           .stop = &ix->stop,
                           .progress = &j->progress,
                           .yield = &ix->writers};
    int r = index_db_ready(&j->db);
    if (r >= 0)
        r = index_sweep_dir(&s, ix, 0, &j->state);
    index_db_close(&j->db); /* its cache is large, and the next sweep may be far */
    j->status = r;
}

static void answer_all(struct index *ix, const struct sweep_job *j)
{
    struct list_node *n;
    while ((n = list_pop(&ix->sweeping)) != NULL) {
        struct store_op *op = LIST_ENTRY(n, struct store_op, wait);
        if (j->status < 0)
            index_scan_instead(op);
        else
            index_query(ix, op, j->state.birth, (struct store_counting){0});
    }
    /* Something may have changed since this sweep began: they look again. */
    while ((n = list_pop(&ix->too_late)) != NULL)
        list_push(&ix->waiting, n);
}

static void sweep_done(struct job *job)
{
    struct sweep_job *j = CONTAINER_OF(job, struct sweep_job, job);
    struct index *ix = CONTAINER_OF(j, struct index, sweep);
    assert(j->is_busy);
    j->is_busy = false;
    timer_stop(&ix->patience);
    index_learn(ix, &j->state);
    answer_all(ix, j);
    if (ix->on_free) {
        index_free_if_idle(ix);
        return;
    }
    if (!list_empty(&ix->waiting) && !ix->sync.is_busy)
        index_sync_start(ix);
    index_feed_start(ix);
}

/* Calls that take a part are answered when their patience has ended and there is something to show;
 * a small directory, or one that differs little, is soon done. */
static void answer_part(struct index *ix, struct list_node *calls, struct store_counting counting)
{
    LIST_EACH (op, calls, struct store_op, wait) {
        if (!index_takes_part(op))
            continue;
        list_del(&op->wait);
        index_query(ix, op, ix->sync.db.birth, counting);
    }
}

void index_on_patience(void *ctx)
{
    struct index *ix = ctx;
    const struct index_progress *p = &ix->sweep.progress;
    size_t total = atomic_load(&p->total), behind = atomic_load(&p->behind);
    if (ix->sync.is_busy) { /* which may be opening another database */
        timer_start(&ix->patience, AGAIN_MS);
        return;
    }
    if (total > INDEX_SMALL_DIR && atomic_load(&p->has_rows)) {
        /* Taken before the rows are read: what is counted as done is in them. */
        struct store_counting counting = {.done = total - (behind < total ? behind : total),
                                          .total = total};
        answer_part(ix, &ix->sweeping, counting);
        answer_part(ix, &ix->too_late, counting);
    } else {
        timer_start(&ix->patience, AGAIN_MS);
    }
}

void index_await_sweep(struct index *ix, struct store_op *op)
{
    list_push(ix->sweep.is_busy ? &ix->too_late : &ix->sweeping, &op->wait);
}

void index_sweep_start(struct index *ix)
{
    struct sweep_job *j = &ix->sweep;
    uint64_t now = clock_mono_ms();
    if (!j->is_busy) {
        atomic_store(&j->progress.total, 0);
        atomic_store(&j->progress.behind, 0);
        atomic_store(&j->progress.has_rows, false);
        j->state = ix->state;
        j->began_ms = now;
        j->is_busy = true;
        index_connect(ix);
        pool_run(ix->store->env->readers, &j->job, sweep_work, sweep_done);
    }
    uint64_t until = j->began_ms + PATIENCE_MS;
    if (!timer_active(&ix->patience))
        timer_start(&ix->patience, until > now ? until - now : 0);
}

/* ---- the feed ---- */

static void shrink(struct feed_job *f)
{
    uint64_t now = clock_mono_ms();
    if (f->shrunk_ms && now - f->shrunk_ms < SHRINK_MS)
        return; /* has_fed stays set: the timer starts the feed again */
    index_db_shrink(&f->db);
    f->shrunk_ms = now;
    f->has_fed = false;
}

static void gather_work(struct job *job)
{
    struct feed_job *f = CONTAINER_OF(job, struct feed_job, job);
    struct index *ix = CONTAINER_OF(f, struct index, feed);
    struct index_sync s = {
        .db = &f->db, .store = ix->store, .stop = &ix->stop, .yield = &ix->writers};
    int r = index_db_ready(&f->db);
    if (r >= 0 && (f->must_sweep || f->state.birth != f->db.birth))
        r = index_sweep_dir(&s, ix, 0, &f->state);
    if (r >= 0)
        r = search_gather(&s, f->slice_max, &f->slice);
    if (r == 0 && !f->slice && f->has_fed)
        shrink(f);
    if (!f->slice) /* whose rows are written next */
        index_db_rest(&f->db);
    f->status = r;
}

static void write_work(struct job *job)
{
    struct feed_job *f = CONTAINER_OF(job, struct feed_job, job);
    struct index *ix = CONTAINER_OF(f, struct index, feed);
    struct index_sync s = {.db = &f->db, .store = ix->store, .stop = &ix->stop};
    f->status = search_write(f->slice, &s);
    f->slice = NULL;
    f->has_fed |= f->status > 0;
    index_db_rest(&f->db);
}

static bool is_feed_sweep_due(const struct index *ix)
{
    uint64_t rest_ms = SWEEP_SHARE * ix->state.sweep_ms;
    return clock_mono_ms() >
           ix->state.swept_ms + (rest_ms > SWEEP_EVERY_MS ? rest_ms : SWEEP_EVERY_MS);
}

static void feed_done(struct job *job);

static void feed_begin(struct index *ix)
{
    struct feed_job *f = &ix->feed;
    uint64_t now = clock_mono_ms();
    f->must_sweep |= is_feed_sweep_due(ix);
    f->slice_max = now - ix->used_ms >= WATCHED_MS    ? SEARCH_SLICE_MAX
                   : now - ix->wrote_ms >= WATCHED_MS ? WATCHED_SLICE
                                                      : CHANGING_SLICE;
    f->state = ix->state;
    f->is_busy = true;
    ix->group->nfeeds++;
    index_connect(ix);
    pool_run(group_pool(ix->group), &f->job, gather_work, feed_done);
}

static void feed_next(struct index_group *g)
{
    while (g->nfeeds < FEEDS_MAX && !list_empty(&g->feeds)) {
        struct index *ix = LIST_ENTRY(list_pop(&g->feeds), struct index, feed.node);
        if (!ix->sweep.is_busy) /* which starts the feed at its end */
            feed_begin(ix);
    }
}

static void feed_done(struct job *job)
{
    struct feed_job *f = CONTAINER_OF(job, struct feed_job, job);
    struct index *ix = CONTAINER_OF(f, struct index, feed);
    assert(f->is_busy);
    if (f->slice && !ix->on_free) {
        pool_run(ix->store->env->readers, &f->job, write_work, feed_done);
        return;
    }
    search_slice_free(f->slice);
    f->slice = NULL;
    f->is_busy = false;
    ix->group->nfeeds--;
    feed_next(ix->group);
    if (ix->on_free) {
        index_free_if_idle(ix);
        return;
    }
    index_learn(ix, &f->state);
    f->must_sweep = false;
    if (f->has_fed && !timer_active(&ix->shrink))
        timer_start(&ix->shrink, SHRINK_MS);
    /* More slices to write, a replaced database, or a start that came during the job. Any other
     * error waits for the next write or call, so that a broken disk does not cause a busy loop. */
    if (f->status > 0 || f->status == -ESTALE || f->is_wanted)
        index_feed_start(ix);
}

void index_feed_start(struct index *ix)
{
    struct feed_job *f = &ix->feed;
    f->is_wanted = false;
    if (f->is_busy || ix->sweep.is_busy) { /* the sweep starts the feed at its end */
        f->is_wanted = f->is_busy;
        return;
    }
    if (list_empty(&f->node))
        list_push(&ix->group->feeds, &f->node);
    feed_next(ix->group);
}

void index_feed_if_due(struct index *ix)
{
    if (is_feed_sweep_due(ix))
        index_feed_start(ix);
}

void index_on_shrink(void *ctx)
{
    index_feed_start(ctx);
}
