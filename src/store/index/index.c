#include "store/index/index.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/event/listing.h"
#include "store/index/index_impl.h"

enum {
    TOUCH_DELAY_MS = 500,  /* from a write to full text */
    START_DELAY_MS = 2000, /* a short-lived process should not start to index */
    TOUCHED_MAX = 10000,   /* with more touched logs, the whole directory is swept */
    LAST_MAX = 1000,       /* a process that stops does not wait for more */
};

static struct index *index_of(const struct store_op *op)
{
    struct files *f = op->store->impl;
    return f->index;
}

static bool is_search(const struct store_op *op)
{
    return op->work == scan_search;
}

/* ---- sync ---- */

/* The rows say nothing about the directory, or there is a change that `touched` does not name. */
static bool is_sweep_due(const struct sync_job *j, const struct index *ix)
{
    return j->must_sweep || !j->state.swept_ms || j->state.birth != j->db.birth ||
           index_has_foreign_change(&j->state, ix);
}

/* The process before brought everything into the index, and the directory is as it left it. The
 * sweep of the feed still looks at all logs, in the background. */
static void use_mark(struct sync_job *j, const struct index *ix)
{
    const struct index_mark *m = &j->mark;
    if (j->state.swept_ms || !m->is_found || m->birth != j->db.birth ||
        m->dir_mtime_ns != index_dir_mtime_ns(ix->dir))
        return;
    j->state = (struct sweep_state){.dir_mtime_ns = m->dir_mtime_ns,
                                    .swept_ms = 1,
                                    .total = m->total,
                                    .changes = atomic_load(&ix->own->ended),
                                    .birth = m->birth};
}

/* A small directory is swept here, a large one by a job of its own. */
static int sync_rows(struct sync_job *j, struct index *ix)
{
    static const atomic_bool NEVER;
    struct index_sync s = {
        .db = &j->db, .store = ix->store, .stop = j->is_last ? &NEVER : &ix->stop};
    int r = -E2BIG;
    if (j->state.total <= INDEX_SMALL_DIR)
        r = index_sweep_dir(&s, ix, INDEX_SMALL_DIR, &j->state);
    if (r == -E2BIG) {
        j->needs_sweep = is_sweep_due(j, ix);
        atomic_fetch_add(&ix->writers, j->nids > 0);
        r = index_catch_up(&s, j->ids, j->nids);
        atomic_fetch_sub(&ix->writers, j->nids > 0);
    }
    j->has_written = s.has_written;
    return r;
}

/* A page along a shelf costs a few reads, and none when this connection, which has just written,
 * still holds them. Everything else would keep the next sync waiting. */
static bool is_quick(const struct store_op *op)
{
    const struct store_query *q = &op->in.query;
    return !is_search(op) && !q->search.n && !q->with_hidden && !(q->viewer && q->viewer->also) &&
           !listing_selects(q);
}

static void list_quickly(struct sync_job *j, struct index *ix)
{
    struct index_sync s = {.db = &j->db, .store = ix->store, .stop = &ix->stop};
    LIST_EACH (op, &ix->batch, struct store_op, wait)
        if (is_quick(op) && j->db.sql)
            op->is_listed = index_list_page(&s, op) == 0;
    j->has_written |= s.has_written;
}

/* Reader pool. A failure here is not the end of a call: it scans the logs instead. */
static void sync_work(struct job *job)
{
    struct sync_job *j = CONTAINER_OF(job, struct sync_job, job);
    struct index *ix = CONTAINER_OF(j, struct index, sync);
    j->needs_sweep = false;
    int r = index_db_ready(&j->db);
    if (r >= 0) {
        use_mark(j, ix);
        r = sync_rows(j, ix);
    }
    if (r >= 0 && !j->needs_sweep)
        list_quickly(j, ix);
    index_db_rest(&j->db);
    j->status = r < 0 ? r : 0;
}

/* Not immediately: a turn writes several times, and each slice of the full-text index is a commit.
 */
static void feed_soon(struct index *ix)
{
    if (!timer_active(&ix->timer) && !ix->on_free)
        timer_start(&ix->timer, TOUCH_DELAY_MS);
}

/* The rows of everything that was acknowledged before the batch was formed are there. */
static void answer_batch(struct index *ix, const struct sync_job *j)
{
    struct list_node *n;
    while ((n = list_pop(&ix->batch)) != NULL) {
        struct store_op *op = LIST_ENTRY(n, struct store_op, wait);
        if (op->is_listed)
            op_done(op);
        else if (j->status < 0)
            index_scan_instead(op);
        else if (j->needs_sweep)
            index_await_sweep(ix, op);
        else
            index_query(ix, op, j->db.birth, (struct store_counting){0});
    }
}

static void sync_done(struct job *job)
{
    struct sync_job *j = CONTAINER_OF(job, struct sync_job, job);
    struct index *ix = CONTAINER_OF(j, struct index, sync);
    assert(j->is_busy);
    j->is_busy = false;
    arena_done(&j->arena);
    index_learn(ix, &j->state);
    mark_take(&ix->mark, ix->mark_path); /* the job may have made its directory */
    ix->mark.is_found = false;           /* used */
    if (j->status < 0 || (j->is_last && j->needs_sweep))
        ix->state.swept_ms = 0; /* the touched ids of this job are lost: sweep next time */
    answer_batch(ix, j);
    if (ix->on_free) {
        index_free_if_idle(ix);
        return;
    }
    if (j->status == 0 && j->needs_sweep)
        index_sweep_start(ix);
    else
        index_feed_if_due(ix);
    if (j->has_written) {
        ix->wrote_ms = clock_mono_ms();
        feed_soon(ix);
    }
    if (!list_empty(&ix->waiting))
        index_sync_start(ix);
}

/* What is touched from now on belongs to the next sync. */
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

/* The mark is taken first: from now on the rows may run behind the logs. */
void index_sync_start(struct index *ix)
{
    struct sync_job *j = &ix->sync;
    struct list_node *n;
    assert(!j->is_busy && list_empty(&ix->batch) && (!ix->on_free || j->is_last));
    while ((n = list_pop(&ix->waiting)) != NULL)
        list_push(&ix->batch, n);
    mark_take(&ix->mark, ix->mark_path);
    arena_init(&j->arena);
    take_touched(ix, j);
    j->must_sweep = ix->touched_too_many;
    ix->touched_too_many = false;
    j->state = ix->state;
    j->mark = ix->mark;
    j->is_busy = true;
    index_connect(ix);
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
    ix->used_ms = clock_mono_ms();
    list_push(&ix->waiting, &op->wait);
    if (!ix->sync.is_busy)
        index_sync_start(ix);
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
    int64_t birth; /* of the database that was brought up to date */
    struct store_counting counting;
    bool has_written;
    int status;
};

bool index_takes_part(const struct store_op *op)
{
    return is_search(op) ? op->in.search.takes_part : op->in.query.takes_part;
}

static void query_work(struct job *job)
{
    struct query_job *q = CONTAINER_OF(job, struct query_job, job);
    struct store_op *op = q->op;
    struct index_sync s = {.db = q->db, .store = q->ix->store, .stop = &q->ix->stop};
    q->status = index_db_ready(q->db);
    if (q->status >= 0 && q->db->birth != q->birth)
        q->status = -ESTALE; /* replaced since the sync: its rows may be out of date */
    if (q->status < 0)
        return;
    q->status = is_search(op) ? search_find(&s, op) : index_list_page(&s, op);
    q->has_written = s.has_written;
    *(is_search(op) ? &op->out.hits.counting : &op->out.listing.counting) = q->counting;
    if (q->counting.total > 0)
        op->out.hits.is_partial = true;
    index_db_rest(q->db);
}

void index_scan_instead(struct store_op *op)
{
    err_clear(&op->err);
    op_run(op, op->work);
}

static void query_done(struct job *job)
{
    struct query_job *q = CONTAINER_OF(job, struct query_job, job);
    struct index *ix = q->ix;
    /* After an error the connection may be to a file that is gone. */
    if (q->status == 0 && ix->nidle < INDEX_IDLE_MAX && !list_empty(&ix->open)) {
        ix->idle[ix->nidle++] = q->db;
    } else {
        index_db_close(q->db);
        free(q->db);
    }
    if (q->has_written)
        feed_soon(ix);
    if (q->status < 0)
        index_scan_instead(q->op);
    else
        op_done(q->op);
}

void index_query(struct index *ix, struct store_op *op, int64_t birth,
                 struct store_counting counting)
{
    struct query_job *q = ARENA_NEW(&op->arena, struct query_job);
    *q = (struct query_job){.op = op, .ix = ix, .birth = birth, .counting = counting};
    q->job = (struct job){.work = query_work, .done = query_done};
    index_connect(ix);
    if (ix->nidle > 0) {
        q->db = ix->idle[--ix->nidle];
    } else {
        q->db = xcalloc(1, sizeof(*q->db));
        index_db_init(q->db, ix->path, ix->dir, ix->store->env);
    }
    pool_submit(ix->store->env->readers, &q->job);
}

/* ---- writes ---- */

/* Some time after a write, or after the start. */
static void on_index_timer(void *ctx)
{
    struct index *ix = ctx;
    if (map_len(&ix->touched) > 0 && !ix->sync.is_busy)
        index_sync_start(ix); /* the next timer is for the text */
    else
        index_feed_start(ix);
}

void index_touch(struct index *ix, str id)
{
    if (!ix)
        return;
    mark_take(&ix->mark, ix->mark_path);
    if (map_len(&ix->touched) < TOUCHED_MAX)
        map_put(&ix->touched, id, ix);
    else
        ix->touched_too_many = true;
    feed_soon(ix);
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

static char *cache_path(const struct store *s, const char *name)
{
    size_t size = strlen(s->conf.cache_dir) + strlen(name) + 2;
    char *path = xcalloc(1, size);
    (void)snprintf(path, size, "%s/%s", s->conf.cache_dir, name);
    return path;
}

struct index *index_new(struct store *s, const char *dir)
{
    struct index *ix = xcalloc(1, sizeof(*ix));
    struct files *f = s->impl;
    ix->store = s;
    ix->has_own_group = !s->env->indexes;
    ix->group = s->env->indexes ? s->env->indexes : index_group_new(s->env->loop);
    ix->own = &f->changes;
    ix->dir = str_dup(str_from(dir));
    ix->path = cache_path(s, "index.db");
    ix->mark_path = cache_path(s, "index.state");
    mark_init(&ix->mark);
    map_init(&ix->touched);
    list_init(&ix->waiting);
    list_init(&ix->batch);
    list_init(&ix->sweeping);
    list_init(&ix->too_late);
    list_init(&ix->open);
    list_init(&ix->feed.node);
    index_db_init(&ix->sync.db, ix->path, ix->dir, s->env);
    index_db_init(&ix->sweep.db, ix->path, ix->dir, s->env);
    index_db_init(&ix->feed.db, ix->path, ix->dir, s->env);
    timer_init(&ix->patience, s->env->loop, index_on_patience, ix);
    timer_init(&ix->shrink, s->env->loop, index_on_shrink, ix);
    timer_init(&ix->timer, s->env->loop, on_index_timer, ix);
    timer_start(&ix->timer, START_DELAY_MS);
    return ix;
}

void index_free_if_idle(struct index *ix)
{
    assert(ix->on_free);
    if (index_is_busy(ix))
        return;
    loop_fn done = ix->on_free;
    assert(list_empty(&ix->waiting) && list_empty(&ix->batch) && list_empty(&ix->sweeping) &&
           list_empty(&ix->too_late));
    index_disconnect(ix);
    if (ix->has_own_group)
        index_group_free(ix->group);
    ix->group = NULL;
    ix->on_free = NULL;
    done(ix->on_free_ctx);
}

/* The order matters: the change of another process is looked for before our own last changes (the
 * journal goes after this) make the time of the directory meaningless; `stop` ends sweep and feed
 * early, but not the last sync. */
void index_stop(struct index *ix, loop_fn done, void *ctx)
{
    if (!ix) {
        done(ctx);
        return;
    }
    assert(!ix->on_free);
    ix->on_free = done;
    ix->on_free_ctx = ctx;
    timer_stop(&ix->timer);
    timer_stop(&ix->shrink);
    timer_stop(&ix->patience);
    list_del(&ix->feed.node);
    ix->is_mixed = index_has_foreign_change(&ix->state, ix);
    /* What was written last, so that the next process finds a complete index. */
    ix->sync.is_last = !ix->sync.is_busy && map_len(&ix->touched) > 0 && ix->mark.fd >= 0 &&
                       map_len(&ix->touched) <= LAST_MAX && !ix->touched_too_many;
    atomic_store(&ix->stop, true);
    if (ix->sync.is_last)
        index_sync_start(ix);
    index_free_if_idle(ix);
}

/* Every change of this process is in the index, and there was no other. */
static bool is_complete(const struct index *ix)
{
    return ix->state.swept_ms && map_len(&ix->touched) == 0 && !ix->touched_too_many &&
           !ix->is_mixed && ix->state.total > INDEX_SMALL_DIR;
}

void index_free(struct index *ix)
{
    if (!ix)
        return;
    if (is_complete(ix))
        mark_leave(&ix->mark, index_dir_mtime_ns(ix->dir), ix->state.birth, ix->state.total);
    mark_done(&ix->mark);
    map_done(&ix->touched);
    free(ix->dir);
    free(ix->path);
    free(ix->mark_path);
    free(ix);
}
