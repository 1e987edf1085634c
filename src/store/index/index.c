#include "store/index/index.h"

#include <assert.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/timer.h"
#include "store/index/index_sync.h"
#include "store/index/search_feed.h"

enum {
    IDLE_MAX = 4,          /* connections kept for the next query */
    SMALL_DIR = 200,       /* a directory with so few logs is swept by every sync */
    SETTLE_MS = 20,        /* within this time a directory may change without a new mtime */
    SWEEP_EVERY_MS = 5000, /* by the feed, while the index is used */
    TOUCH_DELAY_MS = 500,  /* from a write to full text */
    START_DELAY_MS = 2000, /* a short-lived process should not start to index */
    TOUCHED_MAX = 10000,   /* with more touched logs, the whole directory is swept */
    SHRINK_MS = 10000,     /* between two releases of memory, which block other allocations, and
                              the next write needs the memory again */
    LOW_PRIORITY = 10,
};

struct sweep_state {         /* of the directory; each job gets a copy */
    int64_t dir_mtime_ns;    /* at the last sweep; 0 = too recent to rely on (SETTLE_MS) */
    uint64_t swept_ms;       /* time of the last sweep; 0 = sweep again */
    size_t total;            /* logs */
    uint64_t changes, swept; /* logs created or deleted by this process; `changes` at the sweep */
    int64_t changed_at_ms;   /* time of the last of these changes */
};

struct index {
    struct store *store;
    char *dir, *path;
    atomic_bool stop;
    loop_fn on_free;
    void *on_free_ctx;

    struct map touched;    /* ids of logs written since the last sync */
    bool touched_too_many; /* more than TOUCHED_MAX: sweep instead */
    struct sweep_state state;

    struct sync_job { /* one at a time; calls that arrive meanwhile wait for the next */
        struct job job;
        bool is_busy, must_sweep;
        struct arena arena;
        str *ids;
        size_t nids;
        struct sweep_state state;
        struct index_db db;
        int status;
    } sync;
    struct list_node waiting, batch; /* calls for the next sync, and for the current one */

    struct index_db *idle[IDLE_MAX];
    size_t nidle;

    struct feed_job { /* full text, in the background */
        struct job job;
        bool is_busy, is_wanted, must_sweep, is_low, has_fed;
        struct sweep_state state;
        struct index_db db;
        uint64_t shrunk_ms;
        int status;
    } feed;
    struct pool *pool;
    struct timer timer, shrink;
};

static struct index *index_of(const struct store_op *op)
{
    struct files *f = op->store->impl;
    return f->index;
}

/* ---- sync ---- */

static int64_t dir_mtime_ns(const char *dir)
{
    struct stat st;
    if (stat(dir, &st) < 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* Compares the directory with the rows, and brings the rows that differ up to date. The mtime is
 * read first: a change during the sweep then leads to another sweep. */
static int sweep_dir(struct index_sync *s, const char *dir, struct sweep_state *state)
{
    struct arena a;
    str *ids;
    size_t n;
    uint64_t changes = state->changes;
    arena_init(&a);
    state->dir_mtime_ns = dir_mtime_ns(dir);
    if (state->dir_mtime_ns / 1000000 > clock_now_ms() - SETTLE_MS)
        state->dir_mtime_ns = 0;
    int r = index_sweep(s, &a, &ids, &n, &state->total);
    if (r == 0)
        r = index_catch_up(s, ids, n);
    if (r == 0) {
        state->swept_ms = clock_mono_ms();
        state->swept = changes;
    }
    arena_done(&a);
    return r;
}

/* Has another process created or deleted a log? Changes of this process are in `touched`. */
static bool has_foreign_change(const struct sweep_state *st, const char *dir)
{
    int64_t now = dir_mtime_ns(dir);
    bool is_ours = st->changes != st->swept && now / 1000000 <= st->changed_at_ms;
    return now != st->dir_mtime_ns && !is_ours;
}

static bool is_sweep_due(const struct sync_job *j, const char *dir)
{
    return j->must_sweep || !j->state.swept_ms || j->state.total <= SMALL_DIR ||
           has_foreign_change(&j->state, dir);
}

/* Takes over the state of a finished job, unless another job has swept later. */
static void learn(struct index *ix, const struct sweep_state *from)
{
    if (from->swept_ms <= ix->state.swept_ms)
        return;
    ix->state.dir_mtime_ns = from->dir_mtime_ns;
    ix->state.swept_ms = from->swept_ms;
    ix->state.total = from->total;
    ix->state.swept = from->swept;
}

static void sync_work(struct job *job)
{
    struct sync_job *j = CONTAINER_OF(job, struct sync_job, job);
    struct index *ix = CONTAINER_OF(j, struct index, sync);
    struct index_sync s = {.db = &j->db, .store = ix->store, .stop = &ix->stop};
    int r = index_db_ready(&j->db);
    if (r > 0)
        j->must_sweep = true; /* a new file: `state` describes the file before */
    if (r >= 0 && is_sweep_due(j, ix->dir))
        r = sweep_dir(&s, ix->dir, &j->state);
    else if (r >= 0)
        r = index_catch_up(&s, j->ids, j->nids);
    j->status = r < 0 ? r : 0;
}

static void start_query(struct index *ix, struct store_op *op);
static void feed_start(struct index *ix);
static void index_free_if_idle(struct index *ix);

static void sync_start(struct index *ix);

static void sync_done(struct job *job)
{
    struct sync_job *j = CONTAINER_OF(job, struct sync_job, job);
    struct index *ix = CONTAINER_OF(j, struct index, sync);
    struct list_node *n;
    assert(j->is_busy);
    j->is_busy = false;
    arena_done(&j->arena);
    learn(ix, &j->state);
    if (j->status < 0)
        ix->state.swept_ms = 0; /* the touched ids of this job are lost: sweep next time */
    while ((n = list_pop(&ix->batch)) != NULL)
        start_query(ix, LIST_ENTRY(n, struct store_op, wait));
    if (ix->on_free) {
        index_free_if_idle(ix);
        return;
    }
    feed_start(ix);
    if (!list_empty(&ix->waiting))
        sync_start(ix);
}

static void take_touched(struct index *ix, struct sync_job *j)
{
    struct map_entry *e;
    j->ids = arena_array(&j->arena, map_len(&ix->touched) + 1, sizeof(str));
    j->nids = 0;
    for (size_t i = 0; (e = map_next(&ix->touched, &i)) != NULL;)
        j->ids[j->nids++] = arena_str(&j->arena, e->key);
    map_done(&ix->touched);
    map_init(&ix->touched);
}

static void sync_start(struct index *ix)
{
    struct sync_job *j = &ix->sync;
    struct list_node *n;
    assert(!j->is_busy && list_empty(&ix->batch) && !ix->on_free);
    while ((n = list_pop(&ix->waiting)) != NULL)
        list_push(&ix->batch, n);
    arena_init(&j->arena);
    take_touched(ix, j);
    j->must_sweep = ix->touched_too_many;
    ix->touched_too_many = false;
    j->state = ix->state;
    j->is_busy = true;
    pool_run(ix->store->env->readers, &j->job, sync_work, sync_done);
}

/* `without` is the call that scans the logs; in op->work it also tells a list from a search. */
static void index_call(struct store_op *op, void (*without)(struct store_op *op))
{
    struct index *ix = index_of(op);
    assert(!ix || !ix->on_free);
    if (!ix) {
        op_run(op, without);
        return;
    }
    op->work = without;
    list_push(&ix->waiting, &op->wait);
    if (!ix->sync.is_busy)
        sync_start(ix);
}

void index_list(struct store_op *op)
{
    index_call(op, scan_list);
}

void index_search(struct store_op *op)
{
    index_call(op, scan_search);
}

/* ---- queries ---- */

struct query_job { /* in the arena of the op */
    struct job job;
    struct store_op *op;
    struct index *ix;
    struct index_db *db;
    int64_t birth; /* of the database that was synced */
    int status;
};

static void query_work(struct job *job)
{
    struct query_job *q = CONTAINER_OF(job, struct query_job, job);
    struct index_sync s = {.db = q->db, .store = q->ix->store, .stop = &q->ix->stop};
    q->status = index_db_ready(q->db);
    if (q->status >= 0 && q->db->birth != q->birth)
        q->status = -ESTALE; /* replaced since the sync: its rows may be out of date */
    if (q->status < 0)
        return;
    bool is_search = q->op->work == scan_search;
    q->status = is_search ? search_find(&s, q->op) : index_list_page(&s, q->op);
}

static void scan_instead(struct store_op *op)
{
    err_clear(&op->err);
    op_run(op, op->work);
}

static void db_delete(struct index_db *db)
{
    index_db_close(db);
    free(db);
}

static void query_done(struct job *job)
{
    struct query_job *q = CONTAINER_OF(job, struct query_job, job);
    struct index *ix = q->ix;
    if (q->status == 0 && ix->nidle < IDLE_MAX)
        ix->idle[ix->nidle++] = q->db;
    else
        db_delete(q->db);
    if (q->status < 0)
        scan_instead(q->op);
    else
        op_done(q->op);
}

static void start_query(struct index *ix, struct store_op *op)
{
    if (ix->sync.status < 0) {
        scan_instead(op);
        return;
    }
    struct query_job *q = ARENA_NEW(&op->arena, struct query_job);
    *q = (struct query_job){.op = op, .ix = ix, .birth = ix->sync.db.birth};
    q->job = (struct job){.work = query_work, .done = query_done};
    if (ix->nidle > 0) {
        q->db = ix->idle[--ix->nidle];
    } else {
        q->db = xcalloc(1, sizeof(*q->db));
        index_db_init(q->db, ix->path, ix->dir, ix->store->env);
    }
    pool_submit(ix->store->env->readers, &q->job);
}

/* ---- the background ---- */

static void shrink(struct feed_job *f)
{
    uint64_t now = clock_mono_ms();
    if (f->shrunk_ms && now - f->shrunk_ms < SHRINK_MS)
        return; /* has_fed stays set: the timer starts the feed again */
    index_db_shrink(&f->db);
    f->shrunk_ms = now;
    f->has_fed = false;
}

static void feed_work(struct job *job)
{
    struct feed_job *f = CONTAINER_OF(job, struct feed_job, job);
    struct index *ix = CONTAINER_OF(f, struct index, feed);
    struct index_sync s = {.db = &f->db, .store = ix->store, .stop = &ix->stop};
    if (!f->is_low)
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), LOW_PRIORITY);
    f->is_low = true;
    int r = index_db_ready(&f->db);
    if (r > 0)
        f->must_sweep = true;
    r = r < 0 ? r : 0;
    if (r == 0 && f->must_sweep)
        r = sweep_dir(&s, ix->dir, &f->state);
    if (r == 0)
        r = search_feed(&s);
    f->has_fed |= r > 0;
    if (r == 0 && f->has_fed)
        shrink(f);
    f->status = r;
}

static void feed_done(struct job *job)
{
    struct feed_job *f = CONTAINER_OF(job, struct feed_job, job);
    struct index *ix = CONTAINER_OF(f, struct index, feed);
    assert(f->is_busy);
    f->is_busy = false;
    if (ix->on_free) {
        index_free_if_idle(ix);
        return;
    }
    learn(ix, &f->state);
    f->must_sweep = false;
    if (f->has_fed && !timer_active(&ix->shrink))
        timer_start(&ix->shrink, SHRINK_MS);
    /* More slices to write, a replaced database, or a start that came during the job. Any other
     * error waits for the next write or call, so that a broken disk does not cause a busy loop. */
    if (f->status > 0 || f->status == -ESTALE || f->is_wanted)
        feed_start(ix);
}

static void feed_start(struct index *ix)
{
    struct feed_job *f = &ix->feed;
    f->is_wanted = false;
    if (f->is_busy) {
        f->is_wanted = true;
        return;
    }
    if (!ix->pool)
        ix->pool = pool_new(ix->store->env->loop, "nb-index", 1);
    f->must_sweep |= clock_mono_ms() > ix->state.swept_ms + SWEEP_EVERY_MS;
    f->state = ix->state;
    f->is_busy = true;
    pool_run(ix->pool, &f->job, feed_work, feed_done);
}

static void on_shrink(void *ctx)
{
    feed_start(ctx);
}

static void on_index_timer(void *ctx)
{
    struct index *ix = ctx;
    if (map_len(&ix->touched) > 0 && !ix->sync.is_busy)
        sync_start(ix); /* sync_done starts the feed */
    else
        feed_start(ix);
}

void index_touch(struct index *ix, str id, bool came_or_went)
{
    if (!ix)
        return;
    if (came_or_went) {
        ix->state.changes++;
        ix->state.changed_at_ms = clock_now_ms();
    }
    if (map_len(&ix->touched) < TOUCHED_MAX)
        map_put(&ix->touched, id, ix);
    else
        ix->touched_too_many = true;
    if (!timer_active(&ix->timer))
        timer_start(&ix->timer, TOUCH_DELAY_MS);
}

/* ---- one row ---- */

bool index_load(const struct index *ix, str id, int fd, off_t limit, struct derive *d)
{
    struct index_db db;
    struct index_log log = {0};
    struct stat st;
    if (!ix || fstat(fd, &st) < 0)
        return false;
    index_db_init(&db, ix->path, ix->dir, ix->store->env);
    bool is_known = index_db_ready(&db) >= 0 && index_db_begin(&db, false) == 0 &&
                    index_log_read(&db, id, &log) == 0 && index_is_same(&log, fd, &st, limit) &&
                    log.done > 0 && index_conv_read(&db, id, d) == 0;
    index_db_rollback(&db);
    index_db_close(&db);
    if (is_known)
        d->conv.end = (store_pos)log.done;
    return is_known;
}

/* ---- life ---- */

struct index *index_new(struct store *s, const char *dir)
{
    struct index *ix = xcalloc(1, sizeof(*ix));
    size_t size = strlen(s->conf.cache_dir) + sizeof("/index.db");
    ix->store = s;
    ix->dir = str_dup(str_from(dir));
    ix->path = xcalloc(1, size);
    (void)snprintf(ix->path, size, "%s/index.db", s->conf.cache_dir);
    map_init(&ix->touched);
    list_init(&ix->waiting);
    list_init(&ix->batch);
    index_db_init(&ix->sync.db, ix->path, ix->dir, s->env);
    index_db_init(&ix->feed.db, ix->path, ix->dir, s->env);
    timer_init(&ix->shrink, s->env->loop, on_shrink, ix);
    timer_init(&ix->timer, s->env->loop, on_index_timer, ix);
    timer_start(&ix->timer, START_DELAY_MS);
    return ix;
}

static void index_free_if_idle(struct index *ix)
{
    assert(ix->on_free);
    if (ix->sync.is_busy || ix->feed.is_busy)
        return;
    loop_fn done = ix->on_free;
    void *ctx = ix->on_free_ctx;
    assert(list_empty(&ix->waiting) && list_empty(&ix->batch));
    while (ix->nidle > 0)
        db_delete(ix->idle[--ix->nidle]);
    index_db_close(&ix->sync.db);
    index_db_close(&ix->feed.db);
    pool_free(ix->pool);
    map_done(&ix->touched);
    free(ix->dir);
    free(ix->path);
    free(ix);
    done(ctx);
}

void index_free(struct index *ix, loop_fn done, void *ctx)
{
    if (!ix) {
        done(ctx);
        return;
    }
    assert(!ix->on_free);
    ix->on_free = done;
    ix->on_free_ctx = ctx;
    atomic_store(&ix->stop, true);
    timer_stop(&ix->timer);
    timer_stop(&ix->shrink);
    index_free_if_idle(ix);
}
